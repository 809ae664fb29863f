-- What has happened to a player at the end of a season, each once: `ended` is the crossing of `onSeasonEnd`, `carried` what
-- it took along to the next season.
CREATE TABLE "season_steps" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "taken_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "season_steps_pkey" PRIMARY KEY ("environment_id", "player_id", "scenario_id", "node_id", "step")
);

CREATE TRIGGER "season_steps_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "season_steps" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
