-- A player's version changes with everything that the player owns. Instances remember rows of players who are playing, and
-- the statement that writes compares the version: if it is the remembered one, the rows are, too. It is random, so that a
-- restored or failed-over database cannot show the same version with other rows.
-- The row is narrow and apart from the profile, as every call writes it.
CREATE TABLE "player_versions" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "version" BIGINT NOT NULL DEFAULT hashtextextended((gen_random_uuid())::text, (0)::bigint),
    CONSTRAINT "player_versions_pkey" PRIMARY KEY ("environment_id", "player_id"),
    CONSTRAINT "player_versions_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
) WITH (fillfactor = 50);
INSERT INTO "player_versions" ("environment_id", "player_id") SELECT "environment_id", "id" FROM "players";

-- A player has its version from the statement that makes it.
CREATE FUNCTION "give_player_versions"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO player_versions (environment_id, player_id) SELECT environment_id, id FROM made;
    RETURN NULL;
END $$;
CREATE TRIGGER "players_give_versions" AFTER INSERT ON "players" REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION "give_player_versions"();

-- The service's connections for groups say that they write versions themselves. A change by any other session, such as a
-- person in psql, gives the player a new version here, so that it counts at once on every instance.
-- An instance of version 0.1 takes no lock on this table, so its writes could overwrite others. They are refused with the
-- code of a server in read-only mode, so that the instance answers `unavailable`.
CREATE FUNCTION "renew_player_version"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed jsonb := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
BEGIN
    IF current_setting('application_name') = 'tierway' THEN
        RAISE EXCEPTION 'this instance is older than the database: stop it' USING ERRCODE = 'read_only_sql_transaction';
    END IF;
    UPDATE player_versions SET version = DEFAULT
    WHERE environment_id = (changed ->> 'environment_id')::uuid AND player_id = (changed ->> TG_ARGV[0])::uuid;
    RETURN NULL;
END $$;
CREATE TRIGGER "players_renew_version" AFTER UPDATE OF "status" ON "players" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('id');
CREATE TRIGGER "runs_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "runs" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "passes_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "passes" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "tier_claims_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "tier_claims" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "wallets_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "wallets" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "inventory_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "inventory" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');

-- The same for a scenario. Its version is a number that a restored database gives again, to another edit.
ALTER TABLE "scenarios" ADD COLUMN "revision" BIGINT NOT NULL DEFAULT hashtextextended((gen_random_uuid())::text, (0)::bigint);
CREATE FUNCTION "renew_scenario_revision"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := hashtextextended((gen_random_uuid())::text, (0)::bigint);
    RETURN NEW;
END $$;
CREATE TRIGGER "scenarios_renew_revision" BEFORE UPDATE OF "version" ON "scenarios" FOR EACH ROW EXECUTE FUNCTION "renew_scenario_revision"();
