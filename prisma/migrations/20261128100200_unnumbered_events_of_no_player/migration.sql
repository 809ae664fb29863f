-- An event of a season is no player's.
ALTER TABLE "unnumbered_events" ALTER COLUMN "player_id" DROP NOT NULL;
