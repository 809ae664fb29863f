-- Notes of operators about players. The id is that of the audit entry of its addition, so that both are in one order.
CREATE TABLE "player_notes" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "text" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "operator" TEXT,
    "operator_is_claimed" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "player_notes_pkey" PRIMARY KEY ("environment_id", "player_id", "id"),
    CONSTRAINT "player_notes_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);
