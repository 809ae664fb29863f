-- Whether an imported player has not logged in yet: its first login creates it for listeners.
ALTER TABLE "players" ADD COLUMN "awaits_login" BOOLEAN NOT NULL DEFAULT false;
