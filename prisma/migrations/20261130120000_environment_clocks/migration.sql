-- The clock of an environment for tests: at the real time `clock_set_at` the game's time was `clock_at`, and it runs
-- `clock_rate` times as fast. All are null where the game's time is the real one, as it always is in production.
ALTER TABLE "environments" ADD COLUMN "clock_at" TIMESTAMPTZ(3),
    ADD COLUMN "clock_set_at" TIMESTAMPTZ(3),
    ADD COLUMN "clock_rate" INTEGER,
    ADD CONSTRAINT "environments_clock_check" CHECK (
        num_nulls("clock_at", "clock_set_at", "clock_rate") = 3
        OR num_nulls("clock_at", "clock_set_at", "clock_rate") = 0 AND "clock_rate" BETWEEN 1 AND 10000
            AND "name" !~ '^(prod|production|live)($|[-_0-9])'
    ) NOT VALID;
