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
    CONSTRAINT "alert_webhooks_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "alert_webhooks_environment_id_name_key" ON "alert_webhooks" ("environment_id", "name");
