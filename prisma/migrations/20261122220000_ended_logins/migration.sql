-- Which login ended, so that its access tokens end with it. The nil UUID where it was not a login alone, but the player.
ALTER TABLE "ended_access" ADD COLUMN "family_id" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
ALTER TABLE "ended_access" DROP CONSTRAINT "ended_access_pkey";
ALTER TABLE "ended_access" ADD CONSTRAINT "ended_access_pkey" PRIMARY KEY ("xid", "environment_id", "player_id", "family_id");

CREATE OR REPLACE FUNCTION "note_ended_access"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ended_access (environment_id, player_id, family_id)
    VALUES (
        NEW.environment_id,
        (to_jsonb(NEW) ->> TG_ARGV[0])::uuid,
        coalesce((to_jsonb(NEW) ->> 'family_id')::uuid, '00000000-0000-0000-0000-000000000000')
    ) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

-- Access tokens of logins that ended within the last day can still be good.
INSERT INTO "ended_access" ("environment_id", "player_id", "family_id", "ended_at")
SELECT "environment_id", "player_id", "family_id", max("revoked_at") FROM "refresh_tokens"
WHERE "revoked_at" > now() - INTERVAL '25 hours' GROUP BY 1, 2, 3
ON CONFLICT DO NOTHING;
