-- Where xp came from (null: a client), what was sent where a limit held a part of it back, and the server's reference.
ALTER TABLE "xp_ledger"
  ADD COLUMN "origin" TEXT,
  ADD COLUMN "asked" BIGINT,
  ADD COLUMN "limited_by" TEXT,
  ADD COLUMN "reference" TEXT,
  DROP CONSTRAINT "xp_ledger_amount_check",
  -- Earlier rows passed a stricter check, so that they need not be read.
  ADD CONSTRAINT "xp_ledger_amount_check" CHECK (
    "amount" > 0 OR ("amount" = 0 AND "limited_by" IS NOT NULL) OR ("amount" < 0 AND "source" = 'support:reset')
  ) NOT VALID;
