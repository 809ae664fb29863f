-- Runs outside a transaction.
-- `passes_by_level_idx` stays for instances of version 0.1.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "passes_by_current_level_idx" ON "passes" ("environment_id", "scenario_id", "node_id", (coalesce("current_level", "level")), "player_id");
CREATE INDEX CONCURRENTLY IF NOT EXISTS "scenarios_unleveled_idx" ON "scenarios" ("published_at") WHERE "leveled_version" <> "version";
