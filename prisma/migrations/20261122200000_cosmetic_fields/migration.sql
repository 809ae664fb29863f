-- What of a webhook's answer was ignored, as JSON like the attempts.
ALTER TABLE "login_log" ADD COLUMN "notes" TEXT NOT NULL DEFAULT '[]';

-- A page of an index has no room for a nickname of 1,024 characters. Those of usual length stay in the index that lists
-- are made of; the few longer ones have one of their beginnings, which finds players that are looked at then.
DROP INDEX "players_environment_id_fold_name_idx";
CREATE INDEX "players_environment_id_fold_name_idx" ON "players" ("environment_id", "fold_name"("nickname") text_pattern_ops)
    INCLUDE ("nickname", "id", "status") WHERE octet_length("nickname") <= 512;
CREATE INDEX "players_long_nickname_idx" ON "players" ("environment_id", "fold_name"(left("nickname", 128)) text_pattern_ops)
    WHERE octet_length("nickname") > 512;
