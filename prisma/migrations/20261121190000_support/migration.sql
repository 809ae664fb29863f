-- A reset takes a pass's xp back: all xp stays the sum of its ledger.
ALTER TABLE "xp_ledger" DROP CONSTRAINT "xp_ledger_amount_check";
ALTER TABLE "xp_ledger" ADD CONSTRAINT "xp_ledger_amount_check" CHECK ("amount" > 0 OR ("amount" < 0 AND "source" = 'support:reset'));

-- Players by the beginning of their nickname, in any letter case.
CREATE INDEX "players_environment_id_lower_nickname_idx" ON "players" ("environment_id", lower("nickname") text_pattern_ops);

-- Players by what their studio calls them, whichever provider said so.
CREATE INDEX "identities_environment_id_subject_idx" ON "identities" ("environment_id", "subject");
