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
    CONSTRAINT "boosts_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "boosts_environment_id_id_key" ON "boosts" ("environment_id", "id");
CREATE UNIQUE INDEX "boosts_environment_id_idempotency_key_key" ON "boosts" ("environment_id", "idempotency_key");
