-- Committed events that have no position yet. Calls insert them with their other rows, and a moment later they move to
-- `events`. A player's events have rising ids, since each call holds the player while it inserts them. `xid` is the
-- transaction that wrote the event: transactions that ended before an earlier look need not be looked at again.
CREATE SEQUENCE "unnumbered_events_id_seq";
CREATE TABLE "unnumbered_events" (
    "environment_id" UUID NOT NULL,
    "xid" BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    "id" BIGINT NOT NULL DEFAULT nextval('unnumbered_events_id_seq'),
    "type" TEXT NOT NULL,
    "handle" TEXT,
    "player_id" UUID NOT NULL,
    "scenario_id" TEXT,
    "node_id" TEXT,
    "run_id" UUID,
    "by_client" BOOLEAN NOT NULL DEFAULT false,
    "data" TEXT NOT NULL,
    "happened_at" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "unnumbered_events_pkey" PRIMARY KEY ("environment_id", "xid", "id")
);
ALTER SEQUENCE "unnumbered_events_id_seq" OWNED BY "unnumbered_events"."id";

-- Its rows live for milliseconds, so it is vacuumed by their number, however many it holds.
ALTER TABLE "unnumbered_events" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
