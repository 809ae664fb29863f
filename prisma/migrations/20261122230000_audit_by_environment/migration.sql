CREATE INDEX "audit_log_project_id_environment_id_id_idx" ON "audit_log" ("project_id", "environment_id", "id");
