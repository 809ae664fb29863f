-- When a stream reached a position, and when it had reached the one before: a restored database, or a standby that lagged
-- when it was promoted, is told by them. Earlier versions of the service move `position` alone.
ALTER TABLE "streams"
    ADD COLUMN "reached_position" BIGINT,
    ADD COLUMN "reached_at" TIMESTAMPTZ(6),
    ADD COLUMN "reached_before" TIMESTAMPTZ(6);
