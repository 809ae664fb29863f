-- Calls of players by minute. Each instance adds what it counted, every few seconds.
CREATE TABLE "call_minutes" (
    "environment_id" UUID NOT NULL,
    "minute" TIMESTAMPTZ(6) NOT NULL,
    "calls" BIGINT NOT NULL,

    CONSTRAINT "call_minutes_pkey" PRIMARY KEY ("environment_id","minute")
);
CREATE INDEX "call_minutes_minute_idx" ON "call_minutes" USING BRIN ("minute");
