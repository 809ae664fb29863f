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
    CONSTRAINT "server_keys_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "server_keys_hash_check" CHECK (octet_length("hash") = 32)
);
CREATE UNIQUE INDEX "server_keys_hash_key" ON "server_keys" ("hash");
CREATE INDEX "server_keys_environment_id_idx" ON "server_keys" ("environment_id");
