-- What an environment decides about the accounts of its players. An environment without a row has the defaults.
CREATE TABLE "account_policies" (
    "environment_id" uuid NOT NULL,
    "max_sessions" integer,
    "when_full" text NOT NULL DEFAULT 'end_oldest',
    "deletion_days" integer NOT NULL DEFAULT 14,
    CONSTRAINT "account_policies_pkey" PRIMARY KEY ("environment_id"),
    CONSTRAINT "account_policies_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "account_policies_max_sessions_check" CHECK ("max_sessions" >= 1),
    CONSTRAINT "account_policies_when_full_check" CHECK ("when_full" IN ('end_oldest', 'refuse')),
    CONSTRAINT "account_policies_deletion_days_check" CHECK ("deletion_days" BETWEEN 0 AND 90)
);
