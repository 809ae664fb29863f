-- Above which size a grant job needs the approval of a second person. Null: never.
CREATE TABLE "grant_policies" (
    "environment_id" UUID NOT NULL,
    "approval_above_players" INTEGER,
    "approval_above_amount" BIGINT,

    CONSTRAINT "grant_policies_pkey" PRIMARY KEY ("environment_id"),
    CONSTRAINT "grant_policies_approval_above_players_check" CHECK ("approval_above_players" >= 0),
    CONSTRAINT "grant_policies_approval_above_amount_check" CHECK ("approval_above_amount" >= 0),
    CONSTRAINT "grant_policies_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- Grants to many players. Its players are collected up to `after_player`, or have been given theirs up to it; `holder` is
-- the instance that runs it until `held_until`. `target`, `gift` and `message` are JSON. `amount` is the sum of the
-- amounts of its players, where they differ.
CREATE TABLE "grant_jobs" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'collecting',
    "note" TEXT,
    "target" TEXT NOT NULL,
    "list_id" UUID,
    "undo_of" UUID,
    "gift" TEXT NOT NULL,
    "message" TEXT,
    "most" INTEGER NOT NULL,
    "reason" TEXT NOT NULL,
    "project_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "operator" TEXT,
    "operator_is_claimed" BOOLEAN NOT NULL DEFAULT false,
    "approved_at" TIMESTAMPTZ(6),
    "approved_by_key" UUID,
    "approved_by" TEXT,
    "players" INTEGER NOT NULL DEFAULT 0,
    "granted" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "amount" DECIMAL NOT NULL DEFAULT 0,
    "after_player" UUID,
    "holder" UUID,
    "held_until" TIMESTAMPTZ(6),
    "told_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(6),
    "finished_at" TIMESTAMPTZ(6),
    "idempotency_key" TEXT NOT NULL,
    "request_sha256" TEXT NOT NULL,

    CONSTRAINT "grant_jobs_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "grant_jobs_state_check" CHECK ("state" IN ('collecting', 'awaiting approval', 'running', 'paused', 'done', 'cancelled', 'failed')),
    CONSTRAINT "grant_jobs_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "grant_jobs_undo_of_fkey" FOREIGN KEY ("undo_of") REFERENCES "grant_jobs" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "grant_jobs_environment_id_id_key" ON "grant_jobs" ("environment_id", "id");
CREATE UNIQUE INDEX "grant_jobs_environment_id_idempotency_key_key" ON "grant_jobs" ("environment_id", "idempotency_key");
-- A job is undone once. An undo that was cancelled or has failed may be made again.
CREATE UNIQUE INDEX "grant_jobs_one_undo_key" ON "grant_jobs" ("undo_of") WHERE "state" NOT IN ('cancelled', 'failed');
CREATE INDEX "grant_jobs_due_idx" ON "grant_jobs" ("environment_id", "id")
    WHERE "state" IN ('collecting', 'running') OR "holder" IS NOT NULL;

-- The players of a grant job, frozen when they were collected. The outcome is written with what the player gets, in one
-- transaction. `given` is JSON: the rewards. It changes no indexed column, so that it stays on its page.
CREATE TABLE "grant_job_players" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "amount" BIGINT,
    "outcome" TEXT,
    "cause" TEXT,
    "given" TEXT,
    "message_id" UUID,
    "acted_at" TIMESTAMPTZ(6),

    CONSTRAINT "grant_job_players_pkey" PRIMARY KEY ("environment_id", "player_id", "job_id"),
    CONSTRAINT "grant_job_players_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "grant_jobs" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX "grant_job_players_job_id_player_id_key" ON "grant_job_players" ("job_id", "player_id");
