-- What was refused is one row for each actor, action, target and minute, with how often it was tried.
ALTER TABLE "audit_log" ADD COLUMN "attempts" INTEGER NOT NULL DEFAULT 1, ADD COLUMN "minute" TIMESTAMPTZ(6);
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_attempts_check" CHECK ("attempts" = 1 OR ("attempts" > 1 AND "minute" IS NOT NULL));
CREATE UNIQUE INDEX "audit_log_denied_key" ON "audit_log" ("project_id", "minute", "actor", "action", "target") WHERE "minute" IS NOT NULL;

-- The audit log by each of its filters, in the order of its pages.
CREATE INDEX "audit_log_project_id_target_id_idx" ON "audit_log" ("project_id", "target", "id");
CREATE INDEX "audit_log_project_id_actor_id_idx" ON "audit_log" ("project_id", "actor", "id");
CREATE INDEX "audit_log_project_id_action_id_idx" ON "audit_log" ("project_id", "action", "id");

-- Who made a key and who revoked it; null when nobody was written down, as for keys of the command line.
ALTER TABLE "sdk_keys" ADD COLUMN "created_by" TEXT, ADD COLUMN "revoked_by" TEXT;
ALTER TABLE "platform_keys" ADD COLUMN "created_by" TEXT, ADD COLUMN "revoked_by" TEXT;
UPDATE "sdk_keys" k SET "created_by" = a."actor" FROM "audit_log" a WHERE a."action" = 'sdk_key.create' AND a."target" = k."id"::text;
UPDATE "sdk_keys" k SET "revoked_by" = a."actor" FROM "audit_log" a WHERE a."action" = 'sdk_key.revoke' AND a."target" = k."id"::text;
UPDATE "platform_keys" k SET "created_by" = a."actor" FROM "audit_log" a WHERE a."action" = 'platform_key.create' AND a."target" = k."id"::text;
UPDATE "platform_keys" k SET "revoked_by" = a."actor" FROM "audit_log" a WHERE a."action" = 'platform_key.revoke' AND a."target" = k."id"::text;

-- Nicknames are found in any letter case of any script. Postgres 17 and later have a collation of their own for that in
-- every database; before that most have ICU's; without either it is as the database was made.
DO $$
DECLARE
    collation_name TEXT;
BEGIN
    SELECT c.collname INTO collation_name FROM pg_collation c
    WHERE c.collnamespace = 'pg_catalog'::regnamespace AND c.collname IN ('pg_c_utf8', 'und-x-icu')
        AND c.collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()))
    ORDER BY c.collname <> 'pg_c_utf8' LIMIT 1;
    -- A Greek sigma is written in another way at the end of a word; a beginning of the word must find it nevertheless.
    EXECUTE format(
        'CREATE FUNCTION "fold_name"("name" TEXT) RETURNS TEXT LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
         AS $f$ SELECT translate(lower(normalize("name", NFC)%s), %L, %L) $f$',
        CASE WHEN collation_name IS NULL THEN '' ELSE format(' COLLATE pg_catalog.%I', collation_name) END, 'ς', 'σ'
    );
END
$$;
CREATE INDEX "players_environment_id_fold_name_idx" ON "players" ("environment_id", "fold_name"("nickname") text_pattern_ops);
DROP INDEX "players_environment_id_lower_nickname_idx";
