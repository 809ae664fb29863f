-- Bonus tiers are claimed, too. Earlier rows passed a stricter check, so that they need not be read.
ALTER TABLE "tier_claims"
  DROP CONSTRAINT "tier_claims_track_check",
  ADD CONSTRAINT "tier_claims_track_check" CHECK ("track" IN ('free', 'premium', 'bonus')) NOT VALID;
