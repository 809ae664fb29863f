-- Why a run was cancelled. Nobody wrote it down for earlier ones.
ALTER TABLE "runs" ADD COLUMN "cause" TEXT;
