-- The last day (UTC) on which the player earned xp, claimed or bought on the pass: a day counts each player once.
ALTER TABLE "passes" ADD COLUMN "active_on" DATE;

-- What dashboards count. Every transaction appends its changes, which locks nobody; a job folds them into the totals.
CREATE TABLE "insight_changes" (
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "measure" TEXT NOT NULL,
    "bucket" TIMESTAMPTZ(6) NOT NULL,
    "level" INTEGER NOT NULL,
    "detail" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "amount" DECIMAL(38,0) NOT NULL
);
-- Rows live for a second: they are cleared away by their number, however small a part of the table they are.
ALTER TABLE "insight_changes" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

CREATE TABLE "insight_totals" (
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "measure" TEXT NOT NULL,
    "bucket" TIMESTAMPTZ(6) NOT NULL,
    "level" INTEGER NOT NULL,
    "detail" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "amount" DECIMAL(38,0) NOT NULL,

    CONSTRAINT "insight_totals_pkey" PRIMARY KEY ("environment_id", "scenario_id", "node_id", "measure", "bucket", "level", "detail")
) WITH (fillfactor = 80);

-- What was played before there were totals. When a level was reached is not known any more: the day of the last xp
-- stands for it.
UPDATE "passes" p SET "active_on" = x."day" FROM (
    SELECT "environment_id", "player_id", "scenario_id", "node_id", (max("created_at") AT TIME ZONE 'UTC')::date AS "day"
    FROM "xp_ledger" WHERE "amount" > 0 GROUP BY 1, 2, 3, 4
) x
WHERE (p."environment_id", p."player_id", p."scenario_id", p."node_id") = (x."environment_id", x."player_id", x."scenario_id", x."node_id");

INSERT INTO "insight_totals"
WITH "pass" AS (
    SELECT *, coalesce("active_on", (now() AT TIME ZONE 'UTC')::date)::timestamp AT TIME ZONE 'UTC' AS "day" FROM "passes"
), "counted" AS (
    SELECT "environment_id", "scenario_id", "node_id", 'standing' AS "measure", "day" AS "bucket", "level",
        CASE WHEN "premium_owned" THEN 'premium' ELSE 'free' END AS "detail", 0::numeric AS "amount" FROM "pass"
    UNION ALL SELECT "environment_id", "scenario_id", "node_id", 'premium', "day", "level", '', 0 FROM "pass" WHERE "premium_owned"
    UNION ALL SELECT "environment_id", "scenario_id", "node_id", 'completed', "day", 0, '', 0 FROM "pass" WHERE "completed"
    UNION ALL SELECT "environment_id", "scenario_id", "node_id", 'joined', min("day"), 0, '', 0 FROM (
        SELECT "environment_id", "player_id", "scenario_id", "node_id", "day" FROM "pass"
        UNION ALL SELECT "environment_id", "player_id", "scenario_id", "node_id", date_trunc('day', "created_at", 'UTC') FROM "xp_ledger"
    ) "seen" GROUP BY "environment_id", "player_id", "scenario_id", "node_id"
    UNION ALL SELECT DISTINCT ON ("environment_id", "player_id", "scenario_id", "node_id", date_trunc('day', "created_at", 'UTC'))
        "environment_id", "scenario_id", "node_id", 'active', date_trunc('day', "created_at", 'UTC'), 0, '', 0
        FROM "xp_ledger" WHERE "amount" > 0
    UNION ALL SELECT "environment_id", "scenario_id", "node_id", 'claimed', date_trunc('day', "claimed_at", 'UTC'), "level", "track", 0
        FROM "tier_claims"
    UNION ALL SELECT "environment_id", "scenario_id", "node_id", 'xp', date_trunc('hour', "created_at", 'UTC'), 0, "source", "amount"
        FROM "xp_ledger"
)
SELECT "environment_id", "scenario_id", "node_id", "measure", "bucket", "level", "detail", count(*), sum("amount")
FROM "counted" GROUP BY 1, 2, 3, 4, 5, 6, 7;

-- What dashboards read: the totals and what is not yet folded into them, up to the last commit.
CREATE VIEW "insight" AS SELECT * FROM "insight_totals" UNION ALL SELECT * FROM "insight_changes";
