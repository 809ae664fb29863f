ALTER TABLE "grant_jobs" VALIDATE CONSTRAINT "grant_jobs_state_check";
