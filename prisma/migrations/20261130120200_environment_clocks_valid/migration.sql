ALTER TABLE "environments" VALIDATE CONSTRAINT "environments_clock_check";
