-- The entry of the action that an action of support undoes.
ALTER TABLE "audit_log" ADD COLUMN "undoes" UUID;
