-- The clock of the scenario's environment, as JSON. Each change of the clock writes it, with a new revision.
ALTER TABLE "scenarios" ADD COLUMN "clock" TEXT;
