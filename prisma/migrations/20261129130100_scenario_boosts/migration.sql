-- The boosts of a scenario that have not ended, as JSON. Each change of a boost writes it, with a new revision.
ALTER TABLE "scenarios" ADD COLUMN "boosts" TEXT;
