-- The device of a login, in the words of its client. Each token of the login has it, since old tokens are removed.
ALTER TABLE "refresh_tokens" ADD COLUMN "device_name" text;
