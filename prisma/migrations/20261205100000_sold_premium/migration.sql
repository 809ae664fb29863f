-- Premium that was bought before purchases were counted: by day, and by hour for the time whose hours are kept.
INSERT INTO "insight_totals" (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
SELECT p.environment_id, p.scenario_id, p.node_id, 'sold',
  date_trunc(CASE WHEN w.created_at < now() - interval '14 days' THEN 'day' ELSE 'hour' END, w.created_at, 'UTC'),
  0, w.currency, count(*), -sum(w.amount)
FROM wallet_ledger w
JOIN passes p ON p.environment_id = w.environment_id AND p.player_id = w.player_id
  AND p.scenario_id || '/' || p.node_id = w.reference
WHERE w.reason = 'premium_purchase' AND w.amount < 0
GROUP BY 1, 2, 3, 5, 7;
