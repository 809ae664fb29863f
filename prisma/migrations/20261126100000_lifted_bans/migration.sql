-- A ban that is lifted is told, too: game servers refuse the tokens of a banned player only until then.
CREATE OR REPLACE TRIGGER "players_note_ended_access" AFTER UPDATE OF "status" ON "players" FOR EACH ROW
    WHEN (NEW."status" <> OLD."status") EXECUTE FUNCTION "note_ended_access"('id');
