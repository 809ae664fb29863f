-- Secrets that another one replaced and that sign beside it until they expire. Encrypted as the current ones are.
CREATE TABLE "replaced_secrets" (
    "environment_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "id" UUID NOT NULL,
    "secret" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "replaced_secrets_pkey" PRIMARY KEY ("environment_id", "kind", "name", "id"),
    CONSTRAINT "replaced_secrets_environment_id_kind_name_fkey" FOREIGN KEY ("environment_id", "kind", "name") REFERENCES "auth_providers" ("environment_id", "kind", "name") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "replaced_secrets_kind_check" CHECK ("kind" = 'custom')
);
