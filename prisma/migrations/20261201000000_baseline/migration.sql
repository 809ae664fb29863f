-- The whole schema of version 0.2.0. Every later migration changes it: see "Migrations" in CONTRIBUTING.md.
--
-- Every table of player data leads its key with the environment, then the player: one player's rows lie together,
-- and the same schema distributes by environment and player.
-- Verbatim JSON is text: jsonb would rewrite numbers, drop duplicate keys and refuse \u0000.
-- Rows that change with every call leave room on their page (fillfactor) and carry no index beyond their key, so that
-- an update stays on its page and touches no index.

-- Which versions may run on this database. A version with a lower number than this must not: it does not start, and is
-- not ready while it runs. `version` is the first one with the number, for messages.
CREATE TABLE "compatibility" (
    "number" INTEGER NOT NULL,
    "version" TEXT NOT NULL,
    CONSTRAINT "compatibility_pkey" PRIMARY KEY ("number")
);
INSERT INTO "compatibility" ("number", "version") VALUES (1, '0.2.0');

-- Projects, environments and their keys ---------------------------------------------------------------------------------

CREATE TABLE "projects" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "projects_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "projects_name_check" CHECK (char_length("name") BETWEEN 1 AND 128)
);

-- The clock of an environment for tests: at the real time `clock_set_at` the game's time was `clock_at`, and it runs
-- `clock_rate` times as fast. All are null where the game's time is the real one, as it always is in production.
CREATE TABLE "environments" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "clock_at" TIMESTAMPTZ(3),
    "clock_set_at" TIMESTAMPTZ(3),
    "clock_rate" INTEGER,
    CONSTRAINT "environments_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "environments_name_check" CHECK ("name" ~ '^[a-z0-9][a-z0-9_-]{0,31}$'),
    CONSTRAINT "environments_clock_check" CHECK (
        num_nulls("clock_at", "clock_set_at", "clock_rate") = 3
        OR num_nulls("clock_at", "clock_set_at", "clock_rate") = 0 AND "clock_rate" BETWEEN 1 AND 10000
            AND "name" !~ '^(prod|production|live)($|[-_0-9])'
    ),
    CONSTRAINT "environments_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "environments_project_id_name_key" ON "environments" ("project_id", "name");

-- Keys are stored as their SHA-256. `created_by` and `revoked_by` are null when nobody was written down, as for keys of
-- the command line. `label` says what a key is for, in the words of whoever made it.
CREATE TABLE "sdk_keys" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(6),
    "created_by" TEXT,
    "revoked_by" TEXT,
    "label" TEXT,
    CONSTRAINT "sdk_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "sdk_keys_hash_check" CHECK (octet_length("hash") = 32),
    CONSTRAINT "sdk_keys_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "sdk_keys_hash_key" ON "sdk_keys" ("hash");
CREATE INDEX "sdk_keys_environment_id_idx" ON "sdk_keys" ("environment_id");

-- Keys of a game's own servers. Each opens one environment.
CREATE TABLE "server_keys" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(6),
    "created_by" TEXT,
    "revoked_by" TEXT,
    "label" TEXT,
    CONSTRAINT "server_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "server_keys_hash_check" CHECK (octet_length("hash") = 32),
    CONSTRAINT "server_keys_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "server_keys_hash_key" ON "server_keys" ("hash");
CREATE INDEX "server_keys_environment_id_idx" ON "server_keys" ("environment_id");

CREATE TABLE "platform_keys" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(6),
    "created_by" TEXT,
    "revoked_by" TEXT,
    "label" TEXT,
    CONSTRAINT "platform_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "platform_keys_hash_check" CHECK (octet_length("hash") = 32),
    CONSTRAINT "platform_keys_role_check" CHECK (
        "role" IN ('analyst', 'designer', 'viewer', 'support', 'operator', 'admin')
    ),
    CONSTRAINT "platform_keys_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "platform_keys_hash_key" ON "platform_keys" ("hash");
CREATE INDEX "platform_keys_project_id_idx" ON "platform_keys" ("project_id");

-- How people of a project sign in to the console: the studio's OpenID Connect issuer. `groups` is JSON: the tokens of a
-- group are made with a platform key that nobody holds; they end with it. `client_secret` is sealed.
CREATE TABLE "single_sign_ons" (
    "project_id" UUID NOT NULL,
    "title" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "client_secret" TEXT,
    "console_url" TEXT NOT NULL,
    "scopes" TEXT[] NOT NULL,
    "groups_claim" TEXT NOT NULL,
    "groups" TEXT NOT NULL,
    "session_hours" INTEGER NOT NULL,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "single_sign_ons_pkey" PRIMARY KEY ("project_id"),
    CONSTRAINT "single_sign_ons_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- The limits of a role in an environment. Null: no limit.
CREATE TABLE "role_limits" (
    "environment_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "reads_only" BOOLEAN NOT NULL DEFAULT false,
    "max_credit" BIGINT,
    "max_xp" BIGINT,
    "max_gifts_per_day" INTEGER,
    "max_job_players" INTEGER,
    CONSTRAINT "role_limits_pkey" PRIMARY KEY ("environment_id", "role"),
    CONSTRAINT "role_limits_role_check" CHECK ("role" IN ('designer', 'support', 'operator')),
    CONSTRAINT "role_limits_max_check" CHECK (
        "max_credit" >= 0 AND "max_xp" >= 0 AND "max_gifts_per_day" >= 0 AND "max_job_players" >= 0
    ),
    CONSTRAINT "role_limits_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- The gifts that a person has given on a day, with a key, by their idempotency keys. `operator` is empty where nobody
-- vouches for the person.
CREATE TABLE "gift_counts" (
    "environment_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "operator" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "gifts" TEXT[] NOT NULL,
    CONSTRAINT "gift_counts_pkey" PRIMARY KEY ("environment_id", "key_id", "operator"),
    CONSTRAINT "gift_counts_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- What operators changed: who, what, before and after. Never a secret. `operator` is the person behind a platform key: as
-- a header of the call claimed, or as an operator token says. `undoes` is the entry that an action of support undoes.
CREATE TABLE "audit_log" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "environment_id" UUID,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "before" TEXT,
    "after" TEXT,
    "reason" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 1,
    "minute" TIMESTAMPTZ(6),
    "operator" TEXT,
    "operator_is_claimed" BOOLEAN NOT NULL DEFAULT false,
    "undoes" UUID,
    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("project_id", "id"),
    CONSTRAINT "audit_log_attempts_check" CHECK ("attempts" = 1 OR ("attempts" > 1 AND "minute" IS NOT NULL)),
    CONSTRAINT "audit_log_operator_check" CHECK ("operator" IS NOT NULL OR NOT "operator_is_claimed")
);
-- What was refused is one row for each actor, action, target and minute, with how often it was tried.
CREATE UNIQUE INDEX "audit_log_denied_key" ON "audit_log" ("project_id", "minute", "actor", "action", "target") WHERE "minute" IS NOT NULL;
-- By each of the log's filters, in the order of its pages.
CREATE INDEX "audit_log_project_id_target_id_idx" ON "audit_log" ("project_id", "target", "id");
CREATE INDEX "audit_log_project_id_actor_id_idx" ON "audit_log" ("project_id", "actor", "id");
CREATE INDEX "audit_log_project_id_action_id_idx" ON "audit_log" ("project_id", "action", "id");
CREATE INDEX "audit_log_project_id_environment_id_id_idx" ON "audit_log" ("project_id", "environment_id", "id");
CREATE INDEX "audit_log_project_id_operator_id_idx" ON "audit_log" ("project_id", "operator", "id");
-- Not unique: the lock of the player lets one undo through, and partitions by time could not have a unique index.
CREATE INDEX "audit_log_project_id_undoes_idx" ON "audit_log" ("project_id", "undoes")
    WHERE "undoes" IS NOT NULL;

-- Views that a team shares: filters of a page of the console with a name.
CREATE TABLE "shared_views" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "page" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "query" TEXT NOT NULL,
    "shared_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "shared_views_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "shared_views_page_check" CHECK ("page" IN ('players', 'live', 'audit_log')),
    CONSTRAINT "shared_views_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "shared_views_project_id_page_name_key" ON "shared_views" ("project_id", "page", "name");

-- Webhooks that are told what needs a person. The last columns say where each stands.
CREATE TABLE "alert_webhooks" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "format" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "secret" TEXT,
    "link" TEXT,
    "kinds" TEXT[],
    "enabled" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "told" TEXT NOT NULL DEFAULT '[]',
    "pending" TEXT,
    "looked_at" TIMESTAMPTZ(6),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "failure" TEXT,
    "failing_since" TIMESTAMPTZ(6),
    "next_attempt_at" TIMESTAMPTZ(6),
    "sent_at" TIMESTAMPTZ(6),
    CONSTRAINT "alert_webhooks_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "alert_webhooks_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "alert_webhooks_environment_id_name_key" ON "alert_webhooks" ("environment_id", "name");

-- Players ---------------------------------------------------------------------------------------------------------------

-- The player's row is the lock of everything the player owns: whoever changes any of it holds this row first.
-- A ban may have a kind, an end and a public reason. They count only while the status is `banned`; one without them is of
-- everything and has no end. An imported player awaits its first login, which creates it for listeners.
CREATE TABLE "players" (
    "environment_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'active',
    "nickname" TEXT,
    "avatar_url" TEXT,
    "region" TEXT,
    "language" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ban_kind" TEXT,
    "ban_until" TIMESTAMPTZ(6),
    "ban_reason" TEXT,
    "awaits_login" BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT "players_pkey" PRIMARY KEY ("environment_id", "id"),
    CONSTRAINT "players_status_check" CHECK ("status" IN ('active', 'banned', 'deleted')),
    CONSTRAINT "players_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
-- The few who may not play, in the order of the lists.
CREATE INDEX "players_inactive_idx" ON "players" ("environment_id", "status", "id") WHERE "status" <> 'active';
-- Lists of players by where they are, each in the order of its pages.
CREATE INDEX "players_environment_id_region_id_idx" ON "players" ("environment_id", "region", "id");
CREATE INDEX "players_environment_id_language_id_idx" ON "players" ("environment_id", "language", "id");

-- A player's version changes with everything that the player owns. Instances remember rows of players who are playing, and
-- the statement that writes compares the version: if it is the remembered one, the rows are, too. It is random, so that a
-- restored or failed-over database cannot show the same version with other rows.
-- The row is narrow and apart from the profile, as every call writes it.
CREATE TABLE "player_versions" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "version" BIGINT NOT NULL DEFAULT hashtextextended((gen_random_uuid())::text, (0)::bigint),
    CONSTRAINT "player_versions_pkey" PRIMARY KEY ("environment_id", "player_id"),
    CONSTRAINT "player_versions_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
) WITH (fillfactor = 50);

-- Limits of contract 8. The count of keys per player is checked under the player's lock.
CREATE TABLE "player_storage" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "player_storage_pkey" PRIMARY KEY ("environment_id", "player_id", "key"),
    CONSTRAINT "player_storage_key_check" CHECK (char_length("key") BETWEEN 1 AND 128),
    CONSTRAINT "player_storage_value_check" CHECK (octet_length("value") <= 65536),
    CONSTRAINT "player_storage_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);

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
    CONSTRAINT "player_notes_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- Answers by the idempotency keys of calls. `about` says what an answer is about, as a JSON list of names: an undo forgets
-- the answers of what it undid.
CREATE TABLE "idempotency_keys" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "operation" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "request" TEXT NOT NULL,
    "response" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "about" TEXT,
    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("environment_id", "player_id", "operation", "key"),
    CONSTRAINT "idempotency_keys_key_check" CHECK (char_length("key") BETWEEN 1 AND 255)
);
-- Rows arrive in time order and leave by age: a block range index costs next to nothing to keep.
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys" USING BRIN ("created_at");

-- Logins ----------------------------------------------------------------------------------------------------------------

-- What an environment decides about the accounts of its players. An environment without a row has the defaults.
CREATE TABLE "account_policies" (
    "environment_id" UUID NOT NULL,
    "max_sessions" INTEGER,
    "when_full" TEXT NOT NULL DEFAULT 'end_oldest',
    "deletion_days" INTEGER NOT NULL DEFAULT 14,
    "link_tickets" BOOLEAN NOT NULL DEFAULT false,
    "identities_at_deletion" TEXT NOT NULL DEFAULT 'keep',
    "client_profile" TEXT NOT NULL DEFAULT 'auto',
    CONSTRAINT "account_policies_pkey" PRIMARY KEY ("environment_id"),
    CONSTRAINT "account_policies_max_sessions_check" CHECK ("max_sessions" >= 1),
    CONSTRAINT "account_policies_when_full_check" CHECK ("when_full" IN ('end_oldest', 'refuse')),
    CONSTRAINT "account_policies_deletion_days_check" CHECK ("deletion_days" BETWEEN 0 AND 90),
    CONSTRAINT "account_policies_identities_at_deletion_check" CHECK ("identities_at_deletion" IN ('keep', 'free')),
    CONSTRAINT "account_policies_client_profile_check" CHECK ("client_profile" IN ('auto', 'allow', 'refuse')),
    CONSTRAINT "account_policies_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- The private key of a provider's client certificate is in `client_key`, sealed as the secret. The certificate itself is
-- in `settings`.
CREATE TABLE "auth_providers" (
    "environment_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT false,
    "url" TEXT,
    "secret" TEXT,
    "settings" TEXT,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "client_key" TEXT,
    CONSTRAINT "auth_providers_pkey" PRIMARY KEY ("environment_id", "kind", "name"),
    CONSTRAINT "auth_providers_kind_check" CHECK ("kind" IN ('custom', 'google', 'apple', 'oidc', 'device')),
    CONSTRAINT "auth_providers_name_check" CHECK (
        "kind" NOT IN ('custom', 'oidc')
        OR ("name" ~ '^[a-z0-9][a-z0-9_-]{0,31}$' AND "name" NOT IN ('google', 'apple', 'device'))
    ),
    CONSTRAINT "auth_providers_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- Secrets that another one replaced and that sign beside it until they expire. Encrypted as the current ones are.
CREATE TABLE "replaced_secrets" (
    "environment_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "id" UUID NOT NULL,
    "secret" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    CONSTRAINT "replaced_secrets_pkey" PRIMARY KEY ("environment_id", "kind", "name", "id"),
    CONSTRAINT "replaced_secrets_kind_check" CHECK ("kind" = 'custom'),
    CONSTRAINT "replaced_secrets_environment_id_kind_name_fkey" FOREIGN KEY ("environment_id", "kind", "name")
        REFERENCES "auth_providers" ("environment_id", "kind", "name") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "identities" (
    "environment_id" UUID NOT NULL,
    "provider" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "player_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "identities_pkey" PRIMARY KEY ("environment_id", "provider", "subject"),
    CONSTRAINT "identities_subject_check" CHECK (char_length("subject") BETWEEN 1 AND 255),
    CONSTRAINT "identities_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "identities_environment_id_player_id_idx" ON "identities" ("environment_id", "player_id");
-- Players by what their studio calls them, whichever provider said so.
CREATE INDEX "identities_environment_id_subject_idx" ON "identities" ("environment_id", "subject");

-- The players who had an identity before, for as long as idempotency keys live: a game server's call by this identity that
-- took effect for one of them must not take effect again for the player who has it now. The identity is a hash, so that
-- nothing of a deleted player stays.
CREATE TABLE "former_identities" (
    "environment_id" UUID NOT NULL,
    "identity" BYTEA NOT NULL,
    "player_id" UUID NOT NULL,
    "freed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "former_identities_pkey" PRIMARY KEY ("environment_id", "identity", "player_id")
);
CREATE INDEX "former_identities_freed_at_idx" ON "former_identities" USING BRIN ("freed_at");

-- Refresh tokens. Only a token's SHA-256 is stored; one whose use has been answered keeps what its child is made from,
-- together with the token itself, which only its holder has. `claims` are those that the webhook gave the login, as JSON.
-- Each token of a login has its claims and its device, since old tokens are removed.
CREATE TABLE "refresh_tokens" (
    "environment_id" UUID NOT NULL,
    "hash" TEXT NOT NULL,
    "player_id" UUID NOT NULL,
    "family_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    "rotated_at" TIMESTAMPTZ(6),
    "child_nonce" TEXT,
    "revoked_at" TIMESTAMPTZ(6),
    "claims" TEXT,
    "device_name" TEXT,
    CONSTRAINT "refresh_tokens_pkey" PRIMARY KEY ("environment_id", "hash"),
    CONSTRAINT "refresh_tokens_hash_check" CHECK (char_length("hash") = 43),
    CONSTRAINT "refresh_tokens_rotated_check" CHECK (("rotated_at" IS NULL) = ("child_nonce" IS NULL)),
    CONSTRAINT "refresh_tokens_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "refresh_tokens_environment_id_player_id_family_id_idx" ON "refresh_tokens" ("environment_id", "player_id", "family_id");
CREATE INDEX "refresh_tokens_expires_at_idx" ON "refresh_tokens" USING BRIN ("expires_at");

-- The players whose access ended lately: by a ban, a deletion, or the end of a login. Instances read it each second to
-- close what these players have open, so that the cost grows with what ends, not with who listens. `xid` is the
-- transaction: an instance reads what had not been committed at its last look, however long a transaction takes.
-- `family_id` is the login that ended; the nil UUID where it was not a login alone, but the player.
CREATE TABLE "ended_access" (
    "xid" BIGINT NOT NULL DEFAULT ((pg_current_xact_id())::text)::bigint,
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "ended_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "family_id" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    CONSTRAINT "ended_access_pkey" PRIMARY KEY ("xid", "environment_id", "player_id", "family_id")
);
-- After an outage, a reader finds the transactions since then by their time.
CREATE INDEX "ended_access_ended_at_idx" ON "ended_access" ("ended_at");

-- When a player logged in last, apart from the profile: each login writes this narrow row, and not the player's, whose
-- many indexes would all be written with it.
CREATE TABLE "last_logins" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "logged_in_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "last_logins_pkey" PRIMARY KEY ("environment_id", "player_id"),
    CONSTRAINT "last_logins_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
) WITH (fillfactor = 80);
CREATE INDEX "last_logins_environment_id_logged_in_at_player_id_idx" ON "last_logins" ("environment_id", "logged_in_at", "player_id");

-- Players who have asked for their deletion. A login before its time removes the row.
CREATE TABLE "planned_deletions" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "delete_at" TIMESTAMPTZ(6) NOT NULL,
    CONSTRAINT "planned_deletions_pkey" PRIMARY KEY ("environment_id", "player_id"),
    CONSTRAINT "planned_deletions_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "planned_deletions_delete_at_idx" ON "planned_deletions" ("delete_at");

-- Each nonce of an ID token works once.
CREATE TABLE "used_nonces" (
    "environment_id" UUID NOT NULL,
    "hash" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    CONSTRAINT "used_nonces_pkey" PRIMARY KEY ("environment_id", "hash"),
    CONSTRAINT "used_nonces_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "used_nonces_expires_at_idx" ON "used_nonces" USING brin ("expires_at");

-- Each custom login and link that asked a webhook. Nothing of customData, of the answer beyond its subject, or of a
-- secret stands here. `notes` is what of the answer was ignored, as JSON like the attempts. No foreign key: it outlives
-- what it tells of, and is kept 30 days.
CREATE TABLE "login_log" (
    "environment_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "operation" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "subject" TEXT,
    "player_id" UUID,
    "outcome" TEXT NOT NULL,
    "milliseconds" INTEGER NOT NULL,
    "attempts" TEXT NOT NULL,
    "notes" TEXT NOT NULL DEFAULT '[]',
    CONSTRAINT "login_log_pkey" PRIMARY KEY ("environment_id", "id"),
    CONSTRAINT "login_log_milliseconds_check" CHECK ("milliseconds" >= 0),
    CONSTRAINT "login_log_operation_check" CHECK ("operation" IN ('login', 'link'))
) PARTITION BY RANGE ("id");
CREATE INDEX "login_log_environment_id_provider_subject_id_idx" ON "login_log" ("environment_id", "provider", "subject", "id");
CREATE INDEX "login_log_environment_id_player_id_id_idx" ON "login_log" ("environment_id", "player_id", "id");
CREATE INDEX "login_log_created_at_idx" ON "login_log" USING BRIN ("created_at");

-- Scenarios -------------------------------------------------------------------------------------------------------------

-- An edit of the current version is counted and stored a few seconds after it: `counted_version` is the version by whose
-- levels dashboards count players, `leveled_version` the one by whose levels `current_level` of all passes is stored.
-- `revision` changes with every version. It is random: a version is a number that a restored database gives again, to
-- another edit. As JSON: `leads_to` has the passes with the scenario of their next season, `follows` the scenarios with
-- the passes that lead to this one, `boosts` those that have not ended, and `clock` that of the environment. Each change
-- of these writes a new revision.
CREATE TABLE "scenarios" (
    "environment_id" UUID NOT NULL,
    "id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "published_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "counted_version" INTEGER NOT NULL DEFAULT 1,
    "revision" BIGINT NOT NULL DEFAULT hashtextextended((gen_random_uuid())::text, (0)::bigint),
    "leveled_version" INTEGER NOT NULL DEFAULT 1,
    "leads_to" TEXT,
    "follows" TEXT,
    "boosts" TEXT,
    "clock" TEXT,
    CONSTRAINT "scenarios_pkey" PRIMARY KEY ("environment_id", "id"),
    CONSTRAINT "scenarios_version_check" CHECK ("version" >= 1),
    CONSTRAINT "scenarios_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "scenarios_uncounted_idx" ON "scenarios" ("published_at") WHERE "counted_version" <> "version";
CREATE INDEX "scenarios_unleveled_idx" ON "scenarios" ("published_at") WHERE "leveled_version" <> "version";

CREATE TABLE "scenario_versions" (
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "definition" TEXT NOT NULL,
    "published_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "scenario_versions_pkey" PRIMARY KEY ("environment_id", "scenario_id", "version"),
    CONSTRAINT "scenario_versions_version_check" CHECK ("version" >= 1),
    CONSTRAINT "scenario_versions_environment_id_scenario_id_fkey" FOREIGN KEY ("environment_id", "scenario_id")
        REFERENCES "scenarios" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- Publications of scenarios at a later time, in the name of the key that planned them. `expected_version` must be current
-- then; null for any. A publication that fails has the reason in `failure`.
CREATE TABLE "scheduled_publications" (
    "environment_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "definition" TEXT NOT NULL,
    "publish_at" TIMESTAMPTZ(6) NOT NULL,
    "expected_version" INTEGER,
    "state" TEXT NOT NULL DEFAULT 'planned',
    "version" INTEGER,
    "failure" TEXT,
    "project_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "operator" TEXT,
    "operator_is_claimed" BOOLEAN NOT NULL DEFAULT false,
    "reason" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(6),
    CONSTRAINT "scheduled_publications_pkey" PRIMARY KEY ("environment_id", "id"),
    CONSTRAINT "scheduled_publications_state_check" CHECK ("state" IN ('planned', 'published', 'failed', 'cancelled')),
    CONSTRAINT "scheduled_publications_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "scheduled_publications_planned_idx" ON "scheduled_publications" ("publish_at") WHERE "state" = 'planned';

-- What an environment demands of publications.
CREATE TABLE "publish_policies" (
    "environment_id" UUID NOT NULL,
    "requires_approval" BOOLEAN NOT NULL,
    CONSTRAINT "publish_policies_pkey" PRIMARY KEY ("environment_id"),
    CONSTRAINT "publish_policies_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- Drafts of scenarios that designers share. `base_version` is the version that a draft began with, 0 for none. It is
-- approved while `approved_revision` is its revision. `authors` is JSON: the people who have changed the text since the
-- last approval. `sha256` is that of the text without the white space around it.
CREATE TABLE "scenario_drafts" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "definition" TEXT NOT NULL,
    "sha256" TEXT NOT NULL,
    "base_version" INTEGER NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "authors" TEXT NOT NULL,
    "changed_by" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "approved_revision" INTEGER,
    "approved_by" TEXT,
    "approved_at" TIMESTAMPTZ(6),
    CONSTRAINT "scenario_drafts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "scenario_drafts_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "scenario_drafts_environment_id_scenario_id_name_key" ON "scenario_drafts" ("environment_id", "scenario_id", "name");

-- What designers say about a draft.
CREATE TABLE "draft_comments" (
    "id" UUID NOT NULL,
    "draft_id" UUID NOT NULL,
    "revision" INTEGER NOT NULL,
    "path" TEXT,
    "text" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "resolved_by" TEXT,
    "resolved_at" TIMESTAMPTZ(6),
    CONSTRAINT "draft_comments_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "draft_comments_draft_id_fkey" FOREIGN KEY ("draft_id")
        REFERENCES "scenario_drafts" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "draft_comments_draft_id_idx" ON "draft_comments" ("draft_id");

-- Who has a draft open, and when that was last known.
CREATE TABLE "draft_editors" (
    "draft_id" UUID NOT NULL,
    "person" TEXT NOT NULL,
    "seen_at" TIMESTAMPTZ(6) NOT NULL,
    CONSTRAINT "draft_editors_pkey" PRIMARY KEY ("draft_id", "person"),
    CONSTRAINT "draft_editors_draft_id_fkey" FOREIGN KEY ("draft_id")
        REFERENCES "scenario_drafts" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- The phases of a season that the service tells as events, each once. `told_at` is when it was told or passed over.
CREATE TABLE "season_phases" (
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "phase" TEXT NOT NULL,
    "starts_at" TIMESTAMPTZ(6) NOT NULL,
    "told_at" TIMESTAMPTZ(6),
    CONSTRAINT "season_phases_pkey" PRIMARY KEY ("environment_id", "scenario_id", "node_id", "phase"),
    CONSTRAINT "season_phases_phase_check" CHECK ("phase" IN ('announced', 'running', 'ending', 'ended', 'closed')),
    CONSTRAINT "season_phases_environment_id_scenario_id_fkey" FOREIGN KEY ("environment_id", "scenario_id")
        REFERENCES "scenarios" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "season_phases_untold_idx" ON "season_phases" ("starts_at") WHERE "told_at" IS NULL;

-- Seasons whose earned and unclaimed tiers are granted once claims have closed, at `due_at`. The job has settled the passes
-- up to `after_level` and `after_player`; `holder` is the instance that runs it until `held_until`.
CREATE TABLE "season_settlements" (
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(6) NOT NULL,
    "started_at" TIMESTAMPTZ(6),
    "finished_at" TIMESTAMPTZ(6),
    "after_level" INTEGER,
    "after_player" UUID,
    "holder" UUID,
    "held_until" TIMESTAMPTZ(6),
    "players" BIGINT NOT NULL DEFAULT 0,
    "tiers" BIGINT NOT NULL DEFAULT 0,
    "failed" BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "season_settlements_pkey" PRIMARY KEY ("environment_id", "scenario_id", "node_id"),
    CONSTRAINT "season_settlements_environment_id_scenario_id_fkey" FOREIGN KEY ("environment_id", "scenario_id")
        REFERENCES "scenarios" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "season_settlements_due_idx" ON "season_settlements" ("due_at") WHERE "finished_at" IS NULL;

-- What has happened to a player at the end of a season, each once: `ended` is the crossing of `onSeasonEnd`, `carried` what
-- it took along to the next season.
CREATE TABLE "season_steps" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "taken_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "season_steps_pkey" PRIMARY KEY ("environment_id", "player_id", "scenario_id", "node_id", "step")
);

-- More xp for a time, from `starts_at` up to `ended_at` or `ends_at`. Without scenarios or sources it is for all of them.
-- `request_sha256` is the hash of the request with the idempotency key that made it.
CREATE TABLE "boosts" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "percent" INTEGER NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "scenarios" TEXT[] NOT NULL,
    "sources" TEXT[] NOT NULL,
    "audience" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),
    "idempotency_key" TEXT,
    "request_sha256" TEXT,
    CONSTRAINT "boosts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "boosts_percent_check" CHECK ("percent" BETWEEN 1 AND 1000),
    CONSTRAINT "boosts_ends_at_check" CHECK ("ends_at" > "starts_at"),
    CONSTRAINT "boosts_audience_check" CHECK ("audience" IN ('everybody', 'premium')),
    CONSTRAINT "boosts_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "boosts_environment_id_id_key" ON "boosts" ("environment_id", "id");
CREATE UNIQUE INDEX "boosts_environment_id_idempotency_key_key" ON "boosts" ("environment_id", "idempotency_key");

-- The game --------------------------------------------------------------------------------------------------------------

-- `cause` says why a run was cancelled.
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
    "cause" TEXT,
    CONSTRAINT "runs_pkey" PRIMARY KEY ("environment_id", "player_id", "id"),
    CONSTRAINT "runs_status_check" CHECK ("status" IN ('active', 'completed', 'cancelled')),
    CONSTRAINT "runs_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
) WITH (fillfactor = 80);
-- One active run per player and scenario, whatever races.
CREATE UNIQUE INDEX "runs_one_active_key" ON "runs" ("environment_id", "player_id", "scenario_id") WHERE "status" = 'active';

-- `current_level` is the level for the xp by the current version, where it is not `level`, the highest level that was
-- crossed: an edit moves it up or down. Lists of players are filtered and sorted by it. It has an index, and `xp` cannot
-- have one: each grant would then write all indexes.
-- `active_on` is the last day (UTC) on which the player earned xp, claimed or bought on the pass: a day counts each player
-- once. As JSON: `xp_counts` is what counts towards the limits of xp, and `beyond` what the pass keeps for xp above its top
-- level. Both are null for passes without such rules.
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
    "active_on" DATE,
    "current_level" INTEGER,
    "xp_counts" TEXT,
    "beyond" TEXT,
    CONSTRAINT "passes_pkey" PRIMARY KEY ("environment_id", "player_id", "scenario_id", "node_id"),
    CONSTRAINT "passes_xp_check" CHECK ("xp" >= 0),
    CONSTRAINT "passes_level_check" CHECK ("level" >= 0),
    CONSTRAINT "passes_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
) WITH (fillfactor = 70);
-- Lists of players who have premium, and of players by their level, each in the order of its pages.
CREATE INDEX "passes_premium_idx" ON "passes" ("environment_id", "scenario_id", "node_id", "player_id") WHERE "premium_owned";
CREATE INDEX "passes_by_current_level_idx" ON "passes" ("environment_id", "scenario_id", "node_id", (coalesce("current_level", "level")), "player_id");

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
    CONSTRAINT "tier_claims_track_check" CHECK ("track" IN ('free', 'premium', 'bonus'))
);

-- What gave a player its premium, where an undo may take it: an empty reference once that premium is gone.
CREATE TABLE "premium_gifts" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "reference" TEXT NOT NULL,
    CONSTRAINT "premium_gifts_pkey" PRIMARY KEY ("environment_id", "player_id", "scenario_id", "node_id")
);

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

-- Where xp came from (null: a client), what was sent where a limit held a part of it back, and the server's reference.
-- A reset takes a pass's xp back: all xp stays the sum of its ledger. `bonus` is the part of `amount` that an owner of
-- premium got on top; null for none.
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
    "origin" TEXT,
    "asked" BIGINT,
    "limited_by" TEXT,
    "reference" TEXT,
    "bonus" BIGINT,
    CONSTRAINT "xp_ledger_pkey" PRIMARY KEY ("environment_id", "player_id", "id"),
    CONSTRAINT "xp_ledger_amount_check" CHECK (
    "amount" > 0 OR ("amount" = 0 AND "limited_by" IS NOT NULL) OR ("amount" < 0 AND "source" = 'support:reset')
  )
) PARTITION BY RANGE ("id");
-- The xp of a day is read without the rest of the ledger, which is written in the order of time.
CREATE INDEX "xp_ledger_created_at_idx" ON "xp_ledger" USING BRIN ("created_at");

CREATE TABLE "wallets" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "currency" TEXT NOT NULL,
    "balance" BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "wallets_pkey" PRIMARY KEY ("environment_id", "player_id", "currency"),
    CONSTRAINT "wallets_balance_check" CHECK ("balance" >= 0),
    CONSTRAINT "wallets_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
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
) PARTITION BY RANGE ("id");

-- What admins said about the currencies of an environment. Those of its scenarios need no row here.
CREATE TABLE "currencies" (
    "environment_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "is_added" BOOLEAN NOT NULL DEFAULT false,
    "credit_limit" BIGINT,
    CONSTRAINT "currencies_pkey" PRIMARY KEY ("environment_id", "name"),
    CONSTRAINT "currencies_credit_limit_check" CHECK ("credit_limit" >= 0),
    CONSTRAINT "currencies_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE TABLE "inventory" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "item_id" TEXT NOT NULL,
    "amount" BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "inventory_pkey" PRIMARY KEY ("environment_id", "player_id", "item_id"),
    CONSTRAINT "inventory_amount_check" CHECK ("amount" >= 0),
    CONSTRAINT "inventory_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
) WITH (fillfactor = 80);

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
    CONSTRAINT "inbox_messages_kind_check" CHECK ("kind" IN ('message', 'season_end')),
    CONSTRAINT "inbox_messages_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
) WITH (fillfactor = 80);
-- Expired messages are removed by it.
CREATE INDEX "inbox_messages_expires_at_idx" ON "inbox_messages" ("expires_at");

-- Boosts that players have for themselves, from `starts_at` up to `ends_at`. `parts` says what a boost is made of, as JSON:
-- references with milliseconds. An undo takes at most what is left of one reference.
CREATE TABLE "player_boosts" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "percent" INTEGER NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "reference" TEXT NOT NULL,
    "parts" TEXT NOT NULL,
    CONSTRAINT "player_boosts_pkey" PRIMARY KEY ("environment_id", "player_id", "id"),
    CONSTRAINT "player_boosts_percent_check" CHECK ("percent" BETWEEN 1 AND 1000),
    CONSTRAINT "player_boosts_ends_at_check" CHECK ("ends_at" > "starts_at"),
    CONSTRAINT "player_boosts_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id")
        REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE
) WITH (fillfactor = 80);
-- For the removal of boosts that have ended.
CREATE INDEX "player_boosts_ends_at_idx" ON "player_boosts" ("ends_at");

-- Grants to many players ------------------------------------------------------------------------------------------------

-- Filters of players with a name. `filter` is JSON.
CREATE TABLE "segments" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "filter" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "segments_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "segments_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "segments_environment_id_name_key" ON "segments" ("environment_id", "name");

-- Lists of players, for grant jobs. Their rows never change. `total` is the sum of the amounts; null without amounts.
CREATE TABLE "player_lists" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "players" INTEGER NOT NULL,
    "total" DECIMAL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    CONSTRAINT "player_lists_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "player_lists_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE TABLE "player_list_rows" (
    "list_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "amount" BIGINT,
    CONSTRAINT "player_list_rows_pkey" PRIMARY KEY ("list_id", "player_id"),
    CONSTRAINT "player_list_rows_list_id_fkey" FOREIGN KEY ("list_id")
        REFERENCES "player_lists" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- Above which size a grant job needs the approval of a second person. Null: never.
CREATE TABLE "grant_policies" (
    "environment_id" UUID NOT NULL,
    "approval_above_players" INTEGER,
    "approval_above_amount" BIGINT,
    CONSTRAINT "grant_policies_pkey" PRIMARY KEY ("environment_id"),
    CONSTRAINT "grant_policies_approval_above_players_check" CHECK ("approval_above_players" >= 0),
    CONSTRAINT "grant_policies_approval_above_amount_check" CHECK ("approval_above_amount" >= 0),
    CONSTRAINT "grant_policies_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- A job that starts later is planned until then, and its players are frozen then. They are collected up to `after_player`,
-- or have been given theirs up to it; `holder` is the instance that runs it until `held_until`. `target`, `gift` and
-- `message` are JSON. `amount` is the sum of the amounts of its players, where they differ. `operator_person` is the person
-- of a sign-in who speaks for the job, whatever their name is: a hash of their issuer and their id there. Null where no
-- issuer vouched.
CREATE TABLE "grant_jobs" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'collecting',
    "note" TEXT,
    "target" TEXT NOT NULL,
    "list_id" UUID,
    "undo_of" UUID,
    "gift" TEXT NOT NULL,
    "message" TEXT,
    "most" INTEGER NOT NULL,
    "reason" TEXT NOT NULL,
    "project_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "operator" TEXT,
    "operator_is_claimed" BOOLEAN NOT NULL DEFAULT false,
    "approved_at" TIMESTAMPTZ(6),
    "approved_by_key" UUID,
    "approved_by" TEXT,
    "players" INTEGER NOT NULL DEFAULT 0,
    "granted" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "amount" DECIMAL NOT NULL DEFAULT 0,
    "after_player" UUID,
    "holder" UUID,
    "held_until" TIMESTAMPTZ(6),
    "told_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(6),
    "finished_at" TIMESTAMPTZ(6),
    "idempotency_key" TEXT NOT NULL,
    "request_sha256" TEXT NOT NULL,
    "starts_at" TIMESTAMPTZ(6),
    "operator_person" TEXT,
    CONSTRAINT "grant_jobs_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "grant_jobs_state_check" CHECK (
        "state" IN ('planned', 'collecting', 'awaiting approval', 'running', 'paused', 'done', 'cancelled', 'failed')
        AND ("state" <> 'planned' OR "starts_at" IS NOT NULL)
    ),
    CONSTRAINT "grant_jobs_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "grant_jobs_undo_of_fkey" FOREIGN KEY ("undo_of")
        REFERENCES "grant_jobs" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "grant_jobs_environment_id_id_key" ON "grant_jobs" ("environment_id", "id");
CREATE UNIQUE INDEX "grant_jobs_environment_id_idempotency_key_key" ON "grant_jobs" ("environment_id", "idempotency_key");
-- A job is undone once. An undo that was cancelled or has failed may be made again.
CREATE UNIQUE INDEX "grant_jobs_one_undo_key" ON "grant_jobs" ("undo_of") WHERE "state" NOT IN ('cancelled', 'failed');
-- Those that an instance looks for each second.
CREATE INDEX "grant_jobs_open_idx" ON "grant_jobs" ("environment_id", "id")
    WHERE "state" IN ('planned', 'collecting', 'running') OR "holder" IS NOT NULL;

-- The players of a grant job, frozen when they were collected. The outcome is written with what the player gets, in one
-- transaction. `given` is JSON: the rewards. It changes no indexed column, so that it stays on its page.
CREATE TABLE "grant_job_players" (
    "environment_id" UUID NOT NULL,
    "player_id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "amount" BIGINT,
    "outcome" TEXT,
    "cause" TEXT,
    "given" TEXT,
    "message_id" UUID,
    "acted_at" TIMESTAMPTZ(6),
    CONSTRAINT "grant_job_players_pkey" PRIMARY KEY ("environment_id", "player_id", "job_id"),
    CONSTRAINT "grant_job_players_job_id_fkey" FOREIGN KEY ("job_id")
        REFERENCES "grant_jobs" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX "grant_job_players_job_id_player_id_key" ON "grant_job_players" ("job_id", "player_id");

-- The stream of events --------------------------------------------------------------------------------------------------

-- The end of an environment's stream. `reached_at` is when it reached its position: a restored database, or a standby that
-- lagged when it was promoted, is told by it. `numbered_at` is when events were last numbered.
CREATE TABLE "streams" (
    "environment_id" UUID NOT NULL,
    "position" BIGINT NOT NULL DEFAULT 0,
    "reached_at" TIMESTAMPTZ(6),
    "numbered_at" TIMESTAMPTZ(6),
    CONSTRAINT "streams_pkey" PRIMARY KEY ("environment_id"),
    CONSTRAINT "streams_position_check" CHECK ("position" >= 0),
    CONSTRAINT "streams_environment_id_fkey" FOREIGN KEY ("environment_id")
        REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
) WITH (fillfactor = 10);

-- Crossings by clients are told from those of nodes that the service runs. An event of a season is no player's.
CREATE TABLE "events" (
    "environment_id" UUID NOT NULL,
    "position" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "handle" TEXT,
    "player_id" UUID,
    "scenario_id" TEXT,
    "node_id" TEXT,
    "run_id" UUID,
    "data" TEXT NOT NULL,
    "occurred_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "by_client" BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT "events_position_check" CHECK ("position" >= 1)
) PARTITION BY RANGE ("occurred_at");
-- A player's own history, without a look at everybody else's.
CREATE INDEX "events_environment_id_player_id_position_idx" ON "events" ("environment_id", "player_id", "position");

-- Committed events that have no position yet. Calls insert them with their other rows, and a moment later they move to
-- `events`. A player's events have rising ids, since each call holds the player while it inserts them. `xid` is the
-- transaction that wrote the event: transactions that ended before an earlier look need not be looked at again.
-- Its rows live for milliseconds, so it is vacuumed by their number, however many it holds.
CREATE SEQUENCE "unnumbered_events_id_seq";
CREATE TABLE "unnumbered_events" (
    "environment_id" UUID NOT NULL,
    "xid" BIGINT NOT NULL DEFAULT ((pg_current_xact_id())::text)::bigint,
    "id" BIGINT NOT NULL DEFAULT nextval('unnumbered_events_id_seq'),
    "type" TEXT NOT NULL,
    "handle" TEXT,
    "player_id" UUID,
    "scenario_id" TEXT,
    "node_id" TEXT,
    "run_id" UUID,
    "by_client" BOOLEAN NOT NULL DEFAULT false,
    "data" TEXT NOT NULL,
    "happened_at" TIMESTAMPTZ(6) NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT "unnumbered_events_pkey" PRIMARY KEY ("environment_id", "xid", "id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
ALTER SEQUENCE "unnumbered_events_id_seq" OWNED BY "unnumbered_events"."id";

-- Figures ---------------------------------------------------------------------------------------------------------------

-- What dashboards count. Every transaction appends its changes, which locks nobody; a job folds them into the totals.
-- Rows live for a second: they are cleared away by their number, however small a part of the table they are.
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
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

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
-- Hours that are too old to be told are looked for every few minutes, among figures that are kept for ever.
CREATE INDEX "insight_totals_bucket_idx" ON "insight_totals" USING BRIN ("bucket");

-- What dashboards read: the totals and what is not yet folded into them, up to the last commit.
CREATE VIEW "insight" AS SELECT * FROM "insight_totals" UNION ALL SELECT * FROM "insight_changes";

-- Calls of players by minute. Each instance adds what it counted, every few seconds.
CREATE TABLE "call_minutes" (
    "environment_id" UUID NOT NULL,
    "minute" TIMESTAMPTZ(6) NOT NULL,
    "calls" BIGINT NOT NULL,
    CONSTRAINT "call_minutes_pkey" PRIMARY KEY ("environment_id", "minute")
);
CREATE INDEX "call_minutes_minute_idx" ON "call_minutes" USING BRIN ("minute");

-- Partitions ------------------------------------------------------------------------------------------------------------

-- Tables that grow with each call are partitioned by time. The first partition takes the rows up to the month after the
-- next one, and another one those that no partition takes. The service makes the partitions of later months or weeks, and
-- drops old ones (src/db/partitions.ts). A unique index must have the column of the time, so the position of an event is
-- unique in each partition alone.
DO $$
DECLARE
    bound TIMESTAMPTZ := (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC';
    -- The lowest UUID of version 7 of that moment.
    bound_id UUID := rpad(lpad(to_hex((extract(epoch FROM bound) * 1000)::bigint), 12, '0'), 32, '0')::uuid;
    name TEXT;
    part TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['xp_ledger', 'wallet_ledger', 'login_log', 'events'] LOOP
        FOREACH part IN ARRAY ARRAY[name || '_first', name || '_default'] LOOP
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part, name);
            IF name = 'events' THEN
                EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I PRIMARY KEY (environment_id, position)', part, part || '_pkey');
            END IF;
        END LOOP;
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', name, name || '_default');
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', name, name || '_first',
            CASE name WHEN 'events' THEN bound::text ELSE bound_id::text END
        );
    END LOOP;
END
$$;

-- Names of players ------------------------------------------------------------------------------------------------------

-- Nicknames are found in any letter case of any script. Postgres 17 and later have a collation of their own for that in
-- every database; before that most have ICU's; without either it is as the database was made.
DO $$
DECLARE
    collation_name TEXT;
BEGIN
    SELECT c.collname INTO collation_name FROM pg_collation c
    WHERE c.collnamespace = 'pg_catalog'::regnamespace AND c.collname IN ('pg_c_utf8', 'und-x-icu')
        AND c.collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()))
    ORDER BY c.collname <> 'pg_c_utf8' LIMIT 1;
    -- A Greek sigma is written in another way at the end of a word; a beginning of the word must find it nevertheless.
    EXECUTE format(
        'CREATE FUNCTION "fold_name"("name" TEXT) RETURNS TEXT LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
         AS $f$ SELECT translate(lower(normalize("name", NFC)%s), %L, %L) $f$',
        CASE WHEN collation_name IS NULL THEN '' ELSE format(' COLLATE pg_catalog.%I', collation_name) END, 'ς', 'σ'
    );
END
$$;
-- All that a search by nickname asks about stands in the index, so that many names are looked through without a look at
-- their players. The nickname itself is there because Postgres asks for it before it trusts an index on what is made of it.
-- A page of an index has no room for a nickname of 1,024 characters. Those of usual length stay in the index that lists
-- are made of; the few longer ones have one of their beginnings, which finds players that are looked at then.
CREATE INDEX "players_environment_id_fold_name_idx" ON "players" ("environment_id", "fold_name"("nickname") text_pattern_ops)
    INCLUDE ("nickname", "id", "status") WHERE octet_length("nickname") <= 512;
CREATE INDEX "players_long_nickname_idx" ON "players" ("environment_id", "fold_name"(left("nickname", 128)) text_pattern_ops)
    WHERE octet_length("nickname") > 512;

-- Nicknames are found by any part where the server has pg_trgm and unaccent, and this role may create them. Called again
-- when they were created later. It answers whether nicknames can be found so.
CREATE FUNCTION "enable_nickname_search"() RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
    trgm_schema TEXT;
    unaccent_schema TEXT;
    extension_name TEXT;
BEGIN
    FOREACH extension_name IN ARRAY ARRAY['pg_trgm', 'unaccent'] LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = extension_name);
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_available_extensions WHERE name = extension_name) THEN
            RETURN false;
        END IF;
        BEGIN
            EXECUTE format('CREATE EXTENSION %I', extension_name);
        EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
            RETURN false;
        END;
    END LOOP;
    SELECT n.nspname INTO trgm_schema FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
    SELECT n.nspname INTO unaccent_schema FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'unaccent';
    -- Every name stands with its schema: Postgres builds indexes with a search path of its own. It is PL/pgSQL, since SQL
    -- that calls what is not immutable would be started anew for each row.
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION "search_name"("name" TEXT) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
         AS $f$ BEGIN RETURN %1$I.unaccent(%2$L::pg_catalog.regdictionary, %3$I.fold_name("name")); END $f$',
        unaccent_schema, format('%I.unaccent', unaccent_schema), current_schema()
    );
    -- What is pending would be merged within some login, which then takes long.
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS "players_search_name_idx" ON "players" USING gin ("search_name"("nickname") %I.gin_trgm_ops) WITH (fastupdate = off)',
        trgm_schema
    );
    RETURN true;
END
$$;
SELECT "enable_nickname_search"();

-- Versions of players and scenarios -------------------------------------------------------------------------------------

-- A player has its version from the statement that makes it.
CREATE FUNCTION "give_player_versions"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO player_versions (environment_id, player_id) SELECT environment_id, id FROM made;
    RETURN NULL;
END $$;
CREATE TRIGGER "players_give_versions" AFTER INSERT ON "players" REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION "give_player_versions"();

-- The service's connections for groups say that they write versions themselves. A change by any other session, such as a
-- person in psql, gives the player a new version here, so that it counts at once on every instance.
CREATE FUNCTION "renew_player_version"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed jsonb := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
BEGIN
    UPDATE player_versions SET version = DEFAULT
    WHERE environment_id = (changed ->> 'environment_id')::uuid AND player_id = (changed ->> TG_ARGV[0])::uuid;
    RETURN NULL;
END $$;
CREATE TRIGGER "players_renew_version" AFTER UPDATE OF "status", "ban_kind", "ban_until", "ban_reason" ON "players" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('id');
CREATE TRIGGER "runs_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "runs" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "passes_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "passes" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "tier_claims_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "tier_claims" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "reward_payments_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "reward_payments" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "season_steps_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "season_steps" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "wallets_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "wallets" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "inventory_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "inventory" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "inbox_messages_renew_version" AFTER INSERT OR UPDATE OR DELETE ON "inbox_messages" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
CREATE TRIGGER "player_boosts_renew_version" AFTER INSERT OR UPDATE ON "player_boosts" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION "renew_player_version"('player_id');
-- Without boosts that ended long ago: they give nothing, so that memory may keep them. Their removal would take the locks
-- of many players in no order.
CREATE TRIGGER "player_boosts_removal_renews_version" AFTER DELETE ON "player_boosts" FOR EACH ROW
    WHEN (current_setting('tierway.keeps_versions', true) IS DISTINCT FROM 'on' AND OLD."ends_at" > now() - interval '1 hour')
    EXECUTE FUNCTION "renew_player_version"('player_id');

-- The same for a scenario.
CREATE FUNCTION "renew_scenario_revision"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := hashtextextended((gen_random_uuid())::text, (0)::bigint);
    RETURN NEW;
END $$;
CREATE TRIGGER "scenarios_renew_revision" BEFORE UPDATE OF "version" ON "scenarios" FOR EACH ROW EXECUTE FUNCTION "renew_scenario_revision"();

-- What a change of a player leaves behind -------------------------------------------------------------------------------
-- Triggers, so that a change by a person in psql counts, too.

-- Game servers learn of every change of a ban, also that it is lifted: they refuse the tokens of a banned player only
-- until then.
CREATE FUNCTION "note_ended_access"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ended_access (environment_id, player_id, family_id)
    VALUES (
        NEW.environment_id,
        (to_jsonb(NEW) ->> TG_ARGV[0])::uuid,
        coalesce((to_jsonb(NEW) ->> 'family_id')::uuid, '00000000-0000-0000-0000-000000000000')
    ) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER "players_note_ended_access" AFTER UPDATE OF "status", "ban_kind", "ban_until" ON "players" FOR EACH ROW
    WHEN ((NEW."status", NEW."ban_kind", NEW."ban_until") IS DISTINCT FROM (OLD."status", OLD."ban_kind", OLD."ban_until"))
    EXECUTE FUNCTION "note_ended_access"('id');
CREATE TRIGGER "refresh_tokens_note_ended_access" AFTER UPDATE OF "revoked_at" ON "refresh_tokens" FOR EACH ROW
    WHEN (NEW."revoked_at" IS NOT NULL AND OLD."revoked_at" IS NULL) EXECUTE FUNCTION "note_ended_access"('player_id');

CREATE FUNCTION "note_former_identity"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO former_identities (environment_id, identity, player_id)
    VALUES (OLD.environment_id, sha256(convert_to(OLD.provider || ' ' || OLD.subject, 'UTF8')), OLD.player_id)
    ON CONFLICT (environment_id, identity, player_id) DO UPDATE SET freed_at = excluded.freed_at;
    RETURN NULL;
END $$;
CREATE TRIGGER "identities_note_former" AFTER DELETE OR UPDATE OF "player_id" ON "identities" FOR EACH ROW
    EXECUTE FUNCTION "note_former_identity"();
