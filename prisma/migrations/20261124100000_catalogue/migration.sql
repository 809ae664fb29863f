-- What admins said about the currencies of an environment. Those of its scenarios need no row here.
CREATE TABLE "currencies" (
    "environment_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "is_added" BOOLEAN NOT NULL DEFAULT false,
    "credit_limit" BIGINT,

    CONSTRAINT "currencies_pkey" PRIMARY KEY ("environment_id", "name")
);

ALTER TABLE "currencies" ADD CONSTRAINT "currencies_environment_id_fkey"
    FOREIGN KEY ("environment_id") REFERENCES "environments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "currencies" ADD CONSTRAINT "currencies_credit_limit_check" CHECK ("credit_limit" >= 0);
