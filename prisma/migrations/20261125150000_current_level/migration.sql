-- The level for the xp by the current version, where it is not `level`, the highest level that was crossed: an edit moves
-- it up or down. Lists of players are filtered and sorted by it. It has an index, and `xp` cannot have one: each grant
-- would then write all indexes.
ALTER TABLE "passes" ADD COLUMN "current_level" INTEGER;
