-- Runs outside a transaction.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "scenarios_unscheduled_idx" ON "scenarios" ("environment_id", "id")
    WHERE "scheduled_version" IS DISTINCT FROM "version";
