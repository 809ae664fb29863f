-- Each nonce of an ID token works once.
CREATE TABLE "used_nonces" (
    "environment_id" uuid NOT NULL,
    "hash" text NOT NULL,
    "expires_at" timestamptz(6) NOT NULL,
    CONSTRAINT "used_nonces_pkey" PRIMARY KEY ("environment_id", "hash"),
    CONSTRAINT "used_nonces_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "used_nonces_expires_at_idx" ON "used_nonces" USING brin ("expires_at");
