-- The limits of a role in an environment. Null: no limit.
CREATE TABLE "role_limits" (
    "environment_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "reads_only" BOOLEAN NOT NULL DEFAULT FALSE,
    "max_credit" BIGINT,
    "max_xp" BIGINT,
    "max_gifts_per_day" INTEGER,
    "max_job_players" INTEGER,

    CONSTRAINT "role_limits_pkey" PRIMARY KEY ("environment_id", "role"),
    CONSTRAINT "role_limits_role_check" CHECK ("role" IN ('designer', 'support', 'operator')),
    CONSTRAINT "role_limits_max_check" CHECK (
        "max_credit" >= 0 AND "max_xp" >= 0 AND "max_gifts_per_day" >= 0 AND "max_job_players" >= 0
    ),
    CONSTRAINT "role_limits_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- The gifts that a person has given on a day, with a key, by their idempotency keys. `operator` is empty where nobody vouches for the person.
CREATE TABLE "gift_counts" (
    "environment_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "operator" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "gifts" TEXT[] NOT NULL,

    CONSTRAINT "gift_counts_pkey" PRIMARY KEY ("environment_id", "key_id", "operator"),
    CONSTRAINT "gift_counts_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
