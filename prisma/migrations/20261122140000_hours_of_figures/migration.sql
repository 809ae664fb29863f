-- Hours that are too old to be told are looked for every few minutes, among figures that are kept for ever.
CREATE INDEX "insight_totals_bucket_idx" ON "insight_totals" USING BRIN ("bucket");
