-- Publications of scenarios at a later time, in the name of the key that planned them. `expected_version` must be current
-- then; null for any. A publication that fails has the reason in `failure`.
CREATE TABLE "scheduled_publications" (
    "environment_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "definition" TEXT NOT NULL,
    "publish_at" TIMESTAMPTZ(6) NOT NULL,
    "expected_version" INTEGER,
    "state" TEXT NOT NULL DEFAULT 'planned',
    "version" INTEGER,
    "failure" TEXT,
    "project_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "operator" TEXT,
    "operator_is_claimed" BOOLEAN NOT NULL DEFAULT false,
    "reason" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(6),

    CONSTRAINT "scheduled_publications_pkey" PRIMARY KEY ("environment_id", "id"),
    CONSTRAINT "scheduled_publications_state_check" CHECK ("state" IN ('planned', 'published', 'failed', 'cancelled')),
    CONSTRAINT "scheduled_publications_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "scheduled_publications_planned_idx" ON "scheduled_publications" ("publish_at") WHERE "state" = 'planned';
