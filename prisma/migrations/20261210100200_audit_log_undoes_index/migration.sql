-- Runs outside a transaction.
-- Not unique: the lock of the player lets one undo through, and partitions by time could not have a unique index.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "audit_log_project_id_undoes_idx" ON "audit_log" ("project_id", "undoes")
    WHERE "undoes" IS NOT NULL;
