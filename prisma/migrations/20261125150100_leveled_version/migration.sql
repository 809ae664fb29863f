-- The version by whose levels `current_level` of all passes is stored: an edit is stored a few seconds after it. What was
-- edited before now is stored then, too.
ALTER TABLE "scenarios" ADD COLUMN "leveled_version" INTEGER NOT NULL DEFAULT 1;
