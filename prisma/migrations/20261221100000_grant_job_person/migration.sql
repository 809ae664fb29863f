-- The person of a sign-in who speaks for a job, whatever their name is: a hash of their issuer and their id there. Null
-- where no issuer vouched.
ALTER TABLE "grant_jobs" ADD COLUMN "operator_person" TEXT;
