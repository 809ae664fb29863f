-- The claims that the webhook gave a login, as JSON text. Each refresh copies them to the next token of its login.
ALTER TABLE "refresh_tokens" ADD COLUMN "claims" TEXT;
