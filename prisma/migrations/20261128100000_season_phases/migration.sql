-- The phases of a season that the service tells as events, each once. `told_at` is when it was told or passed over.
CREATE TABLE "season_phases" (
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "phase" TEXT NOT NULL,
    "starts_at" TIMESTAMPTZ(6) NOT NULL,
    "told_at" TIMESTAMPTZ(6),

    CONSTRAINT "season_phases_pkey" PRIMARY KEY ("environment_id", "scenario_id", "node_id", "phase"),
    CONSTRAINT "season_phases_phase_check" CHECK ("phase" IN ('announced', 'running', 'ending', 'ended', 'closed')),
    CONSTRAINT "season_phases_environment_id_scenario_id_fkey" FOREIGN KEY ("environment_id", "scenario_id")
        REFERENCES "scenarios" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "season_phases_untold_idx" ON "season_phases" ("starts_at") WHERE "told_at" IS NULL;

-- The version whose phases are in `season_phases`: null for scenarios from before, another one when an earlier release
-- has published since.
ALTER TABLE "scenarios" ADD COLUMN "scheduled_version" INTEGER;
ALTER TABLE "scenarios" ALTER COLUMN "scheduled_version" SET DEFAULT 0;
