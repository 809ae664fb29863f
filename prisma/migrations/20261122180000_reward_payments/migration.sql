-- What reward nodes have paid a player, where that counts: `scope` is empty for a node that pays once in all, and the run
-- for one that pays once in each run.
CREATE TABLE "reward_payments" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "run_id" UUID NOT NULL,
    "paid_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reward_payments_pkey" PRIMARY KEY ("environment_id", "player_id", "scenario_id", "node_id", "scope")
);

-- What was paid before, as far as the stream is kept. Nodes that pay each time do not look here.
INSERT INTO "reward_payments" ("environment_id", "player_id", "scenario_id", "node_id", "scope", "run_id", "paid_at")
SELECT DISTINCT ON (environment_id, player_id, scenario_id, node_id)
    environment_id, player_id, scenario_id, node_id, '', run_id, occurred_at
FROM "events"
WHERE handle = 'onComplete' AND run_id IS NOT NULL AND data LIKE '{"granted":[{%'
ORDER BY environment_id, player_id, scenario_id, node_id, position;

CREATE TRIGGER "reward_payments_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "reward_payments" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
