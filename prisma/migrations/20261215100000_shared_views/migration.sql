-- Views that a team shares: filters of a page of the console with a name.
CREATE TABLE "shared_views" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "page" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "query" TEXT NOT NULL,
    "shared_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "shared_views_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "shared_views_page_check" CHECK ("page" IN ('players', 'live', 'audit_log')),
    CONSTRAINT "shared_views_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "shared_views_project_id_page_name_key" ON "shared_views" ("project_id", "page", "name");
