-- Messages in the inboxes of players. A claim or a read changes no indexed column, so it stays on its page.
CREATE TABLE "inbox_messages" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "text" TEXT,
    "image" TEXT,
    "rewards" TEXT NOT NULL DEFAULT '[]',
    "reference" TEXT NOT NULL,
    "scenario_id" TEXT,
    "node_id" TEXT,
    "sent_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    "read_at" TIMESTAMPTZ(6),
    "claimed_at" TIMESTAMPTZ(6),

    CONSTRAINT "inbox_messages_pkey" PRIMARY KEY ("environment_id", "player_id", "id"),
    CONSTRAINT "inbox_messages_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "inbox_messages_kind_check" CHECK ("kind" IN ('message', 'season_end'))
) WITH (fillfactor = 80);

-- Expired messages are removed by it.
CREATE INDEX "inbox_messages_expires_at_idx" ON "inbox_messages" ("expires_at");

CREATE TRIGGER "inbox_messages_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "inbox_messages" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
