-- A job may start later: it is planned until then, and its players are frozen then.
ALTER TABLE "grant_jobs" ADD COLUMN "starts_at" TIMESTAMPTZ(6),
    DROP CONSTRAINT "grant_jobs_state_check",
    ADD CONSTRAINT "grant_jobs_state_check" CHECK (
        "state" IN ('planned', 'collecting', 'awaiting approval', 'running', 'paused', 'done', 'cancelled', 'failed')
        AND ("state" <> 'planned' OR "starts_at" IS NOT NULL)
    ) NOT VALID;
