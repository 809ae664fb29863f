-- What a stored answer is about: a JSON list of names. An undo forgets the answers of what it undid.
ALTER TABLE "idempotency_keys" ADD COLUMN "about" TEXT;
