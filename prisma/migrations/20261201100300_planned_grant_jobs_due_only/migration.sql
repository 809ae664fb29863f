-- Runs outside a transaction.
DROP INDEX CONCURRENTLY IF EXISTS "grant_jobs_due_idx";
