-- Runs outside a transaction.
-- Planned jobs are looked for each second, too, so they are in an index as those that are due.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "grant_jobs_open_idx" ON "grant_jobs" ("environment_id", "id")
    WHERE "state" IN ('planned', 'collecting', 'running') OR "holder" IS NOT NULL;
