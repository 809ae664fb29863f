-- Seasons whose earned and unclaimed tiers are granted once claims have closed, at `due_at`. The job has settled the passes
-- up to `after_level` and `after_player`; `holder` is the instance that runs it until `held_until`.
CREATE TABLE "season_settlements" (
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(6) NOT NULL,
    "started_at" TIMESTAMPTZ(6),
    "finished_at" TIMESTAMPTZ(6),
    "after_level" INTEGER,
    "after_player" UUID,
    "holder" UUID,
    "held_until" TIMESTAMPTZ(6),
    "players" BIGINT NOT NULL DEFAULT 0,
    "tiers" BIGINT NOT NULL DEFAULT 0,
    "failed" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "season_settlements_pkey" PRIMARY KEY ("environment_id", "scenario_id", "node_id"),
    CONSTRAINT "season_settlements_environment_id_scenario_id_fkey" FOREIGN KEY ("environment_id", "scenario_id")
        REFERENCES "scenarios" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "season_settlements_due_idx" ON "season_settlements" ("due_at") WHERE "finished_at" IS NULL;
