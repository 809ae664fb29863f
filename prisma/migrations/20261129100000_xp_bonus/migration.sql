-- The part of `amount` that an owner of premium got on top; null for none. A release before this one names no column.
ALTER TABLE "xp_ledger" ADD COLUMN "bonus" BIGINT;
