-- All that a search by nickname asks about stands in the index, so that many names are looked through without a look at
-- their players. The nickname itself is there because Postgres asks for it before it trusts an index on what is made of it.
DROP INDEX "players_environment_id_fold_name_idx";
CREATE INDEX "players_environment_id_fold_name_idx" ON "players" ("environment_id", "fold_name"("nickname") text_pattern_ops)
    INCLUDE ("nickname", "id", "status");

-- The few who may not play, in the order of the lists.
CREATE INDEX "players_inactive_idx" ON "players" ("environment_id", "status", "id") WHERE "status" <> 'active';
