-- Issuers of ID tokens, and guests.
ALTER TABLE "auth_providers"
    DROP CONSTRAINT "auth_providers_kind_check",
    DROP CONSTRAINT "auth_providers_name_check",
    ADD CONSTRAINT "auth_providers_kind_check" CHECK ("kind" IN ('custom', 'google', 'apple', 'oidc', 'device')),
    ADD CONSTRAINT "auth_providers_name_check" CHECK (
        "kind" NOT IN ('custom', 'oidc')
        OR ("name" ~ '^[a-z0-9][a-z0-9_-]{0,31}$' AND "name" NOT IN ('google', 'apple', 'device'))
    );
