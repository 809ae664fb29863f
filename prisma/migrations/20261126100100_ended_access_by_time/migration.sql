-- Runs outside a transaction.
-- After an outage, a reader finds the transactions since then by their time.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "ended_access_ended_at_idx" ON "ended_access" ("ended_at");
