-- Crossings by clients are told from those of nodes that the service runs. Earlier ones are not: nothing says whose they
-- were.
ALTER TABLE "events" ADD COLUMN "by_client" BOOLEAN NOT NULL DEFAULT false;
