-- What a boost is made of, as JSON: references with milliseconds. An undo takes at most what is left of one reference.
ALTER TABLE "player_boosts" ADD COLUMN "parts" TEXT;
