-- Every table of player data leads its key with the environment, then the player: one player's rows lie together,
-- and the same schema distributes by environment and player.
-- Verbatim JSON is text: jsonb would rewrite numbers, drop duplicate keys and refuse \u0000.
-- Rows that change with every call leave room on their page (fillfactor) and carry no index beyond their key, so that
-- an update stays on its page and touches no index.

CREATE TABLE "projects" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "projects_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "projects_name_check" CHECK (char_length("name") BETWEEN 1 AND 128)
);

CREATE TABLE "environments" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "environments_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "environments_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "environments_name_check" CHECK ("name" ~ '^[a-z0-9][a-z0-9_-]{0,31}$')
);
CREATE UNIQUE INDEX "environments_project_id_name_key" ON "environments" ("project_id", "name");

CREATE TABLE "sdk_keys" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(6),
    CONSTRAINT "sdk_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "sdk_keys_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "sdk_keys_hash_check" CHECK (octet_length("hash") = 32)
);
CREATE UNIQUE INDEX "sdk_keys_hash_key" ON "sdk_keys" ("hash");
CREATE INDEX "sdk_keys_environment_id_idx" ON "sdk_keys" ("environment_id");

CREATE TABLE "platform_keys" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(6),
    CONSTRAINT "platform_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "platform_keys_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "platform_keys_role_check" CHECK ("role" IN ('viewer', 'operator', 'admin')),
    CONSTRAINT "platform_keys_hash_check" CHECK (octet_length("hash") = 32)
);
CREATE UNIQUE INDEX "platform_keys_hash_key" ON "platform_keys" ("hash");
CREATE INDEX "platform_keys_project_id_idx" ON "platform_keys" ("project_id");

-- The player's row is the lock of everything the player owns: whoever changes any of it holds this row first.
CREATE TABLE "players" (
    "environment_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'active',
    "nickname" TEXT,
    "avatar_url" TEXT,
    "region" TEXT,
    "language" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "players_pkey" PRIMARY KEY ("environment_id", "id"),
    CONSTRAINT "players_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "players_status_check" CHECK ("status" IN ('active', 'banned', 'deleted'))
);

CREATE TABLE "identities" (
    "environment_id" UUID NOT NULL,
    "provider" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "player_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "identities_pkey" PRIMARY KEY ("environment_id", "provider", "subject"),
    CONSTRAINT "identities_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "identities_subject_check" CHECK (char_length("subject") BETWEEN 1 AND 255)
);
CREATE INDEX "identities_environment_id_player_id_idx" ON "identities" ("environment_id", "player_id");

-- Limits of contract 8. The count of keys per player is checked under the player's lock.
CREATE TABLE "player_storage" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "player_storage_pkey" PRIMARY KEY ("environment_id", "player_id", "key"),
    CONSTRAINT "player_storage_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "player_storage_key_check" CHECK (char_length("key") BETWEEN 1 AND 128),
    CONSTRAINT "player_storage_value_check" CHECK (octet_length("value") <= 65536)
);

CREATE TABLE "auth_providers" (
    "environment_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT false,
    "url" TEXT,
    "secret" TEXT,
    "settings" TEXT,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "auth_providers_pkey" PRIMARY KEY ("environment_id", "kind", "name"),
    CONSTRAINT "auth_providers_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "auth_providers_kind_check" CHECK ("kind" IN ('custom', 'google', 'apple')),
    CONSTRAINT "auth_providers_name_check" CHECK ("kind" <> 'custom' OR ("name" ~ '^[a-z0-9][a-z0-9_-]{0,31}$' AND "name" NOT IN ('google', 'apple', 'device')))
);

CREATE TABLE "scenarios" (
    "environment_id" UUID NOT NULL,
    "id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "published_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "scenarios_pkey" PRIMARY KEY ("environment_id", "id"),
    CONSTRAINT "scenarios_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "scenarios_version_check" CHECK ("version" >= 1)
);

CREATE TABLE "scenario_versions" (
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "definition" TEXT NOT NULL,
    "published_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "scenario_versions_pkey" PRIMARY KEY ("environment_id", "scenario_id", "version"),
    CONSTRAINT "scenario_versions_environment_id_scenario_id_fkey" FOREIGN KEY ("environment_id", "scenario_id") REFERENCES "scenarios" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "scenario_versions_version_check" CHECK ("version" >= 1)
);

CREATE TABLE "runs" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'active',
    "active" TEXT NOT NULL DEFAULT '[]',
    "plan" TEXT,
    "started_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "completed_at" TIMESTAMPTZ(6),
    CONSTRAINT "runs_pkey" PRIMARY KEY ("environment_id", "player_id", "id"),
    CONSTRAINT "runs_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "runs_status_check" CHECK ("status" IN ('active', 'completed', 'cancelled'))
) WITH (fillfactor = 80);
-- One active run per player and scenario, whatever races.
CREATE UNIQUE INDEX "runs_one_active_key" ON "runs" ("environment_id", "player_id", "scenario_id") WHERE "status" = 'active';

CREATE TABLE "passes" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "xp" BIGINT NOT NULL DEFAULT 0,
    "level" INTEGER NOT NULL DEFAULT 0,
    "premium_owned" BOOLEAN NOT NULL DEFAULT false,
    "max_level_crossed" BOOLEAN NOT NULL DEFAULT false,
    "completed" BOOLEAN NOT NULL DEFAULT false,
    "completed_nodes" TEXT NOT NULL DEFAULT '[]',
    CONSTRAINT "passes_pkey" PRIMARY KEY ("environment_id", "player_id", "scenario_id", "node_id"),
    CONSTRAINT "passes_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "passes_xp_check" CHECK ("xp" >= 0),
    CONSTRAINT "passes_level_check" CHECK ("level" >= 0)
) WITH (fillfactor = 70);

CREATE TABLE "tier_claims" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "level" INTEGER NOT NULL,
    "track" TEXT NOT NULL,
    "granted" TEXT NOT NULL,
    "run_id" UUID NOT NULL,
    "claimed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "tier_claims_pkey" PRIMARY KEY ("environment_id", "player_id", "scenario_id", "node_id", "level", "track"),
    CONSTRAINT "tier_claims_level_check" CHECK ("level" >= 0),
    CONSTRAINT "tier_claims_track_check" CHECK ("track" IN ('free', 'premium'))
);

CREATE TABLE "xp_ledger" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "run_id" UUID NOT NULL,
    "amount" BIGINT NOT NULL,
    "source" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "xp_ledger_pkey" PRIMARY KEY ("environment_id", "player_id", "id"),
    CONSTRAINT "xp_ledger_amount_check" CHECK ("amount" > 0)
);

CREATE TABLE "wallets" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "currency" TEXT NOT NULL,
    "balance" BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "wallets_pkey" PRIMARY KEY ("environment_id", "player_id", "currency"),
    CONSTRAINT "wallets_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "wallets_balance_check" CHECK ("balance" >= 0)
) WITH (fillfactor = 80);

CREATE TABLE "wallet_ledger" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "currency" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "balance" BIGINT NOT NULL,
    "reason" TEXT NOT NULL,
    "reference" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "wallet_ledger_pkey" PRIMARY KEY ("environment_id", "player_id", "id"),
    CONSTRAINT "wallet_ledger_amount_check" CHECK ("amount" <> 0),
    CONSTRAINT "wallet_ledger_balance_check" CHECK ("balance" >= 0)
);

CREATE TABLE "inventory" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "item_id" TEXT NOT NULL,
    "amount" BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "inventory_pkey" PRIMARY KEY ("environment_id", "player_id", "item_id"),
    CONSTRAINT "inventory_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "inventory_amount_check" CHECK ("amount" >= 0)
) WITH (fillfactor = 80);

CREATE TABLE "idempotency_keys" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "operation" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "request" TEXT NOT NULL,
    "response" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("environment_id", "player_id", "operation", "key"),
    CONSTRAINT "idempotency_keys_key_check" CHECK (char_length("key") BETWEEN 1 AND 255)
);
-- Rows arrive in time order and leave by age: a block range index costs next to nothing to keep.
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys" USING BRIN ("created_at");

CREATE TABLE "streams" (
    "environment_id" UUID NOT NULL,
    "position" BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "streams_pkey" PRIMARY KEY ("environment_id"),
    CONSTRAINT "streams_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "streams_position_check" CHECK ("position" >= 0)
) WITH (fillfactor = 10);

CREATE TABLE "events" (
    "environment_id" UUID NOT NULL,
    "position" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "handle" TEXT,
    "player_id" UUID NOT NULL,
    "scenario_id" TEXT,
    "node_id" TEXT,
    "run_id" UUID,
    "data" TEXT NOT NULL,
    "occurred_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "events_pkey" PRIMARY KEY ("environment_id", "position"),
    CONSTRAINT "events_position_check" CHECK ("position" >= 1)
);
