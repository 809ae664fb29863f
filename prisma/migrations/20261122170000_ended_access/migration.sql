-- The players whose access ended lately: by a ban, a deletion, or the end of a login. Instances read it each second to
-- close what these players have open, so that the cost grows with what ends, not with who listens. `xid` is the
-- transaction: an instance reads what had not been committed at its last look, however long a transaction takes.
CREATE TABLE "ended_access" (
    "xid" BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text)::bigint,
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "ended_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ended_access_pkey" PRIMARY KEY ("xid", "environment_id", "player_id")
);

-- Triggers, so that a change by a person in psql counts, too.
CREATE FUNCTION "note_ended_access"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ended_access (environment_id, player_id)
    VALUES (NEW.environment_id, (to_jsonb(NEW) ->> TG_ARGV[0])::uuid) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER "players_note_ended_access" AFTER UPDATE OF "status" ON "players" FOR EACH ROW
    WHEN (NEW."status" <> 'active' AND NEW."status" <> OLD."status") EXECUTE FUNCTION "note_ended_access"('id');
CREATE TRIGGER "refresh_tokens_note_ended_access" AFTER UPDATE OF "revoked_at" ON "refresh_tokens" FOR EACH ROW
    WHEN (NEW."revoked_at" IS NOT NULL AND OLD."revoked_at" IS NULL) EXECUTE FUNCTION "note_ended_access"('player_id');
