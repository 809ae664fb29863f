-- Boosts that players have for themselves, from `starts_at` up to `ends_at`.
CREATE TABLE "player_boosts" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "percent" INTEGER NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "reference" TEXT NOT NULL,

    CONSTRAINT "player_boosts_pkey" PRIMARY KEY ("environment_id", "player_id", "id"),
    CONSTRAINT "player_boosts_percent_check" CHECK ("percent" BETWEEN 1 AND 1000),
    CONSTRAINT "player_boosts_ends_at_check" CHECK ("ends_at" > "starts_at"),
    CONSTRAINT "player_boosts_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
) WITH (fillfactor = 80);
-- For the removal of boosts that have ended.
CREATE INDEX "player_boosts_ends_at_idx" ON "player_boosts" ("ends_at");

CREATE TRIGGER "player_boosts_renew_version" AFTER INSERT OR UPDATE ON "player_boosts" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
-- Without boosts that ended long ago: they give nothing, so that memory may keep them. Their removal would take the locks
-- of many players in no order.
CREATE TRIGGER "player_boosts_removal_renews_version" AFTER DELETE ON "player_boosts" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on' AND OLD."ends_at" > now() - interval '1 hour')
    EXECUTE FUNCTION "renew_player_version"('player_id');
