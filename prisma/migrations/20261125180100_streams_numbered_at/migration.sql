-- When events of the stream were last numbered. Earlier versions of the service number their events within each call and
-- leave the column alone. The events that wait by then are of earlier calls, so they get their positions first.
ALTER TABLE "streams" ADD COLUMN "numbered_at" TIMESTAMPTZ(6);

CREATE FUNCTION "number_waiting_events"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    waiting BIGINT;
    last_at TIMESTAMPTZ;
BEGIN
    WITH taken AS (
        DELETE FROM unnumbered_events WHERE environment_id = NEW.environment_id RETURNING *
    ), placed AS (
        SELECT t.*, row_number() OVER w AS place, greatest(OLD.reached_at, max(t.happened_at) OVER w) AS at
        FROM taken t WINDOW w AS (ORDER BY t.id)
    ), written AS (
        INSERT INTO events (environment_id, position, type, handle, player_id, scenario_id, node_id, run_id, by_client,
            data, occurred_at)
        SELECT environment_id, OLD.position + place, type, handle, player_id, scenario_id, node_id, run_id, by_client,
            data, least(at, NEW.reached_at)
        FROM placed
    )
    SELECT count(*), max(least(at, NEW.reached_at)) INTO waiting, last_at FROM placed;
    IF waiting > 0 THEN
        NEW.position := NEW.position + waiting;
        NEW.reached_position := NEW.reached_position + waiting;
        NEW.reached_before := last_at;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER "streams_number_waiting_events" BEFORE UPDATE ON "streams" FOR EACH ROW
    WHEN (NEW.position > OLD.position AND NEW.numbered_at IS NOT DISTINCT FROM OLD.numbered_at)
    EXECUTE FUNCTION "number_waiting_events"();
