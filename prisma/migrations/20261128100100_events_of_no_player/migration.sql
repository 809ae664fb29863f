-- An event of a season is no player's.
ALTER TABLE "events" ALTER COLUMN "player_id" DROP NOT NULL;
