-- What counts towards the limits of xp, as JSON text. Null for passes without rules of xp.
ALTER TABLE "passes" ADD COLUMN "xp_counts" TEXT;
