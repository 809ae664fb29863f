-- Which versions may run on this database. A version with a lower number than this must not: it does not start, and is
-- not ready while it runs. `version` is the first one with the number, for messages.
CREATE TABLE "compatibility" (
    "number" INTEGER NOT NULL,
    "version" TEXT NOT NULL,

    CONSTRAINT "compatibility_pkey" PRIMARY KEY ("number")
);
INSERT INTO "compatibility" ("number", "version") VALUES (1, '0.1.0');
