-- A ban may have a kind, an end and a public reason. They count only while the status is `banned`; one without them, as
-- any ban of before, is of everything and has no end.
ALTER TABLE "players" ADD COLUMN "ban_kind" TEXT, ADD COLUMN "ban_until" TIMESTAMPTZ(6), ADD COLUMN "ban_reason" TEXT;

-- Game servers learn of another end or kind, too.
CREATE OR REPLACE TRIGGER "players_note_ended_access" AFTER UPDATE OF "status", "ban_kind", "ban_until" ON "players" FOR EACH ROW
    WHEN ((NEW."status", NEW."ban_kind", NEW."ban_until") IS DISTINCT FROM (OLD."status", OLD."ban_kind", OLD."ban_until"))
    EXECUTE FUNCTION "note_ended_access"('id');
-- Instances that remember a player read it again.
CREATE OR REPLACE TRIGGER "players_renew_version" AFTER UPDATE OF "status", "ban_kind", "ban_until", "ban_reason" ON "players" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('id');
