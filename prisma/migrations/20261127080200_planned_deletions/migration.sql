-- Players who have asked for their deletion. A login before its time removes the row.
CREATE TABLE "planned_deletions" (
    "environment_id" uuid NOT NULL,
    "player_id" uuid NOT NULL,
    "delete_at" timestamptz(6) NOT NULL,
    CONSTRAINT "planned_deletions_pkey" PRIMARY KEY ("environment_id", "player_id"),
    CONSTRAINT "planned_deletions_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "planned_deletions_delete_at_idx" ON "planned_deletions" ("delete_at");
