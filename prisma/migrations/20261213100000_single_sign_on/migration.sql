-- How people of a project sign in to the console: the studio's OpenID Connect issuer. `groups` is JSON. The tokens of
-- people are made with the platform key `key_id`, which nobody holds; they end with it. `client_secret` is sealed.
CREATE TABLE "single_sign_ons" (
    "project_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "title" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "client_secret" TEXT,
    "console_url" TEXT NOT NULL,
    "scopes" TEXT[] NOT NULL,
    "groups_claim" TEXT NOT NULL,
    "groups" TEXT NOT NULL,
    "session_hours" INTEGER NOT NULL,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "single_sign_ons_pkey" PRIMARY KEY ("project_id"),
    CONSTRAINT "single_sign_ons_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
