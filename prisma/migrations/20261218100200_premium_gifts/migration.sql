-- What gave a player its premium, where an undo may take it: an empty reference once that premium is gone.
CREATE TABLE "premium_gifts" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "reference" TEXT NOT NULL,

    CONSTRAINT "premium_gifts_pkey" PRIMARY KEY ("environment_id", "player_id", "scenario_id", "node_id")
);
