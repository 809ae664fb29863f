-- Lists of players, for grant jobs. Their rows never change. `total` is the sum of the amounts; null without amounts.
CREATE TABLE "player_lists" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "players" INTEGER NOT NULL,
    "total" DECIMAL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "player_lists_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "player_lists_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE TABLE "player_list_rows" (
    "list_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "amount" BIGINT,

    CONSTRAINT "player_list_rows_pkey" PRIMARY KEY ("list_id", "player_id"),
    CONSTRAINT "player_list_rows_list_id_fkey" FOREIGN KEY ("list_id") REFERENCES "player_lists" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
