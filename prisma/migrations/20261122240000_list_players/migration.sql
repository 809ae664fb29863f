-- When a player logged in last, apart from the profile: each login writes this narrow row, and not the player's, whose
-- many indexes would all be written with it.
CREATE TABLE "last_logins" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "logged_in_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "last_logins_pkey" PRIMARY KEY ("environment_id", "player_id"),
    CONSTRAINT "last_logins_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
) WITH (fillfactor = 80);

-- What is known of the time before: the login log has thirty days; a family of refresh tokens begins with a login; and a
-- player with an identity was made by one. Of deleted players nothing is kept.
INSERT INTO "last_logins" ("environment_id", "player_id", "logged_in_at")
SELECT k."environment_id", k."player_id", max(k."at") FROM (
    SELECT "environment_id", "player_id", "created_at" AS "at" FROM "login_log" WHERE "operation" = 'login' AND "outcome" = 'ok'
    UNION ALL
    SELECT "environment_id", "player_id", min("created_at") FROM "refresh_tokens" GROUP BY "environment_id", "player_id", "family_id"
    UNION ALL
    SELECT p."environment_id", p."id", p."created_at" FROM "players" p WHERE EXISTS (
        SELECT FROM "identities" i WHERE i."environment_id" = p."environment_id" AND i."player_id" = p."id"
    )
) k
JOIN "players" p ON p."environment_id" = k."environment_id" AND p."id" = k."player_id" AND p."status" <> 'deleted'
GROUP BY k."environment_id", k."player_id";
CREATE INDEX "last_logins_environment_id_logged_in_at_player_id_idx" ON "last_logins" ("environment_id", "logged_in_at", "player_id");

-- Lists of players by where they are, by their level, and of those who have premium, each in the order of its pages.
CREATE INDEX "players_environment_id_region_id_idx" ON "players" ("environment_id", "region", "id");
CREATE INDEX "players_environment_id_language_id_idx" ON "players" ("environment_id", "language", "id");
CREATE INDEX "passes_by_level_idx" ON "passes" ("environment_id", "scenario_id", "node_id", "level", "player_id");
CREATE INDEX "passes_premium_idx" ON "passes" ("environment_id", "scenario_id", "node_id", "player_id") WHERE "premium_owned";

-- Nicknames are found by any part where the server has pg_trgm and unaccent, and this role may create them. Called again
-- when they were created later. It answers whether nicknames can be found so.
CREATE FUNCTION "enable_nickname_search"() RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
    trgm_schema TEXT;
    unaccent_schema TEXT;
    extension_name TEXT;
BEGIN
    FOREACH extension_name IN ARRAY ARRAY['pg_trgm', 'unaccent'] LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = extension_name);
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_available_extensions WHERE name = extension_name) THEN
            RETURN false;
        END IF;
        BEGIN
            EXECUTE format('CREATE EXTENSION %I', extension_name);
        EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
            RETURN false;
        END;
    END LOOP;
    SELECT n.nspname INTO trgm_schema FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
    SELECT n.nspname INTO unaccent_schema FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'unaccent';
    -- Every name stands with its schema: Postgres builds indexes with a search path of its own. It is PL/pgSQL, since SQL
    -- that calls what is not immutable would be started anew for each row.
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION "search_name"("name" TEXT) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
         AS $f$ BEGIN RETURN %1$I.unaccent(%2$L::pg_catalog.regdictionary, %3$I.fold_name("name")); END $f$',
        unaccent_schema, format('%I.unaccent', unaccent_schema), current_schema()
    );
    -- What is pending would be merged within some login, which then takes long.
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS "players_search_name_idx" ON "players" USING gin ("search_name"("nickname") %I.gin_trgm_ops) WITH (fastupdate = off)',
        trgm_schema
    );
    RETURN true;
END
$$;
SELECT "enable_nickname_search"();
