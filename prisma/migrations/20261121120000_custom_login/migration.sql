-- Refresh tokens. Only a token's SHA-256 is stored; one whose use has been answered keeps what its child is made from,
-- together with the token itself, which only its holder has.
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
    CONSTRAINT "refresh_tokens_pkey" PRIMARY KEY ("environment_id", "hash"),
    CONSTRAINT "refresh_tokens_environment_id_player_id_fkey" FOREIGN KEY ("environment_id", "player_id") REFERENCES "players" ("environment_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "refresh_tokens_hash_check" CHECK (char_length("hash") = 43),
    CONSTRAINT "refresh_tokens_rotated_check" CHECK (("rotated_at" IS NULL) = ("child_nonce" IS NULL))
);
CREATE INDEX "refresh_tokens_environment_id_player_id_family_id_idx" ON "refresh_tokens" ("environment_id", "player_id", "family_id");
CREATE INDEX "refresh_tokens_expires_at_idx" ON "refresh_tokens" USING BRIN ("expires_at");

-- Each custom login and link that asked a webhook. Nothing of customData, of the answer beyond its subject, or of a
-- secret stands here. No foreign key: it outlives what it tells of, and is kept 30 days.
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
    CONSTRAINT "login_log_pkey" PRIMARY KEY ("environment_id", "id"),
    CONSTRAINT "login_log_operation_check" CHECK ("operation" IN ('login', 'link')),
    CONSTRAINT "login_log_milliseconds_check" CHECK ("milliseconds" >= 0)
);
CREATE INDEX "login_log_environment_id_player_id_id_idx" ON "login_log" ("environment_id", "player_id", "id");
CREATE INDEX "login_log_environment_id_provider_subject_id_idx" ON "login_log" ("environment_id", "provider", "subject", "id");
CREATE INDEX "login_log_created_at_idx" ON "login_log" USING BRIN ("created_at");

-- What operators changed: who, what, before and after. Never a secret.
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
    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("project_id", "id")
);
