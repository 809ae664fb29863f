-- The seasons that follow one another, as JSON: `leads_to` has the passes of a scenario, each with the scenario of its next
-- season, and `follows` the scenarios with the passes that lead to this one. A publication writes both.
ALTER TABLE "scenarios" ADD COLUMN "leads_to" TEXT, ADD COLUMN "follows" TEXT;
