-- Drafts of scenarios that designers share. `base_version` is the version that a draft began with, 0 for none. It is
-- approved while `approved_revision` is its revision. `authors` is JSON: the people who have changed the text since the
-- last approval. `sha256` is that of the text without the white space around it.
CREATE TABLE "scenario_drafts" (
    "id" UUID NOT NULL,
    "environment_id" UUID NOT NULL,
    "scenario_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "definition" TEXT NOT NULL,
    "sha256" TEXT NOT NULL,
    "base_version" INTEGER NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "authors" TEXT NOT NULL,
    "changed_by" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "approved_revision" INTEGER,
    "approved_by" TEXT,
    "approved_at" TIMESTAMPTZ(6),

    CONSTRAINT "scenario_drafts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "scenario_drafts_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "scenario_drafts_environment_id_scenario_id_name_key" ON "scenario_drafts" ("environment_id", "scenario_id", "name");

-- What designers say about a draft.
CREATE TABLE "draft_comments" (
    "id" UUID NOT NULL,
    "draft_id" UUID NOT NULL,
    "revision" INTEGER NOT NULL,
    "path" TEXT,
    "text" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "resolved_by" TEXT,
    "resolved_at" TIMESTAMPTZ(6),

    CONSTRAINT "draft_comments_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "draft_comments_draft_id_fkey" FOREIGN KEY ("draft_id") REFERENCES "scenario_drafts" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "draft_comments_draft_id_idx" ON "draft_comments" ("draft_id");

-- Who has a draft open, and when that was last known.
CREATE TABLE "draft_editors" (
    "draft_id" UUID NOT NULL,
    "person" TEXT NOT NULL,
    "seen_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "draft_editors_pkey" PRIMARY KEY ("draft_id", "person"),
    CONSTRAINT "draft_editors_draft_id_fkey" FOREIGN KEY ("draft_id") REFERENCES "scenario_drafts" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- What an environment demands of publications.
CREATE TABLE "publish_policies" (
    "environment_id" UUID NOT NULL,
    "requires_approval" BOOLEAN NOT NULL,

    CONSTRAINT "publish_policies_pkey" PRIMARY KEY ("environment_id"),
    CONSTRAINT "publish_policies_environment_id_fkey" FOREIGN KEY ("environment_id") REFERENCES "environments" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
