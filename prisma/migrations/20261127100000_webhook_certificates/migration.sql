-- The private key of a provider's client certificate, encrypted. The certificate itself is in `settings`.
ALTER TABLE "auth_providers" ADD COLUMN "client_key" TEXT;
