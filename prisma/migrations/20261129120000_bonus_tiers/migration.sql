-- What a pass keeps for xp above its top level, as JSON: the bonus tiers claimed on a day, and xp that is not converted yet.
-- A release before this one names the columns that it writes, so that it leaves this one alone.
ALTER TABLE "passes" ADD COLUMN "beyond" TEXT;
