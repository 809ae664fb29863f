-- What else an environment decides: whether a link that meets another player gives a ticket to it, whether a player that
-- deletes itself keeps its identities bound, and whether clients change the profile.
ALTER TABLE "account_policies" ADD COLUMN "link_tickets" BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN "identities_at_deletion" TEXT NOT NULL DEFAULT 'keep',
    ADD COLUMN "client_profile" TEXT NOT NULL DEFAULT 'auto',
    ADD CONSTRAINT "account_policies_identities_at_deletion_check" CHECK ("identities_at_deletion" IN ('keep', 'free')) NOT VALID,
    ADD CONSTRAINT "account_policies_client_profile_check" CHECK ("client_profile" IN ('auto', 'allow', 'refuse')) NOT VALID;
