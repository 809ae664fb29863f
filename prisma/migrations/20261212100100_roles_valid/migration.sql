ALTER TABLE "platform_keys" VALIDATE CONSTRAINT "platform_keys_role_check";
