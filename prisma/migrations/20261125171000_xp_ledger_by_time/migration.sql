-- Runs outside a transaction.
-- The xp of a day is read without the rest of the ledger, which is written in the order of time.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "xp_ledger_created_at_idx" ON "xp_ledger" USING BRIN ("created_at");
