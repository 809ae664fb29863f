-- The players who had an identity before, for as long as idempotency keys live: a game server's call by this identity that
-- took effect for one of them must not take effect again for the player who has it now. The identity is a hash, so that
-- nothing of a deleted player stays.
CREATE TABLE "former_identities" (
    "environment_id" UUID NOT NULL,
    "identity" BYTEA NOT NULL,
    "player_id" UUID NOT NULL,
    "freed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "former_identities_pkey" PRIMARY KEY ("environment_id", "identity", "player_id")
);
CREATE INDEX "former_identities_freed_at_idx" ON "former_identities" USING BRIN ("freed_at");

-- A trigger, so that identities that an earlier version or a person in psql frees count, too.
CREATE FUNCTION "note_former_identity"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO former_identities (environment_id, identity, player_id)
    VALUES (OLD.environment_id, sha256(convert_to(OLD.provider || ' ' || OLD.subject, 'UTF8')), OLD.player_id)
    ON CONFLICT (environment_id, identity, player_id) DO UPDATE SET freed_at = excluded.freed_at;
    RETURN NULL;
END $$;
CREATE TRIGGER "identities_note_former" AFTER DELETE OR UPDATE OF "player_id" ON "identities" FOR EACH ROW
    EXECUTE FUNCTION "note_former_identity"();
