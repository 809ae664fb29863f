-- What a key is for, in the words of whoever made it.
ALTER TABLE "sdk_keys" ADD COLUMN "label" TEXT;
ALTER TABLE "platform_keys" ADD COLUMN "label" TEXT;

-- The person behind a platform key: as a header of the call claimed, or as an operator token says.
ALTER TABLE "audit_log" ADD COLUMN "operator" TEXT, ADD COLUMN "operator_is_claimed" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_operator_check" CHECK ("operator" IS NOT NULL OR NOT "operator_is_claimed");
CREATE INDEX "audit_log_project_id_operator_id_idx" ON "audit_log" ("project_id", "operator", "id");
