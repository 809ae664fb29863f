-- Three more roles of platform keys.
ALTER TABLE "platform_keys" DROP CONSTRAINT "platform_keys_role_check",
    ADD CONSTRAINT "platform_keys_role_check" CHECK (
        "role" IN ('analyst', 'designer', 'viewer', 'support', 'operator', 'admin')
    ) NOT VALID;
