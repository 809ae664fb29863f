-- The version by whose levels dashboards count players: an edit is counted a few seconds after it. What was edited before
-- now was counted by the levels that players had crossed, and is counted anew.
ALTER TABLE "scenarios" ADD COLUMN "counted_version" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "scenarios" ALTER COLUMN "counted_version" SET DEFAULT 1;
CREATE INDEX "scenarios_uncounted_idx" ON "scenarios" ("published_at") WHERE "counted_version" <> "version";
