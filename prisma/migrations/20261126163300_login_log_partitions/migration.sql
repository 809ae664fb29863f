SELECT "partition_table"('login_log', 'id');

-- Earlier versions remove old entries by their place in a table, and a place exists in each partition: after a rollback,
-- they would remove recent entries, too. Their housekeeping is told by its connection.
CREATE FUNCTION "keep_recent_entry"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END $$;
CREATE TRIGGER "login_log_keep_recent" BEFORE DELETE ON "login_log" FOR EACH ROW
    WHEN (OLD."created_at" > now() - interval '30 days' AND current_setting('application_name') = 'tierway service')
    EXECUTE FUNCTION "keep_recent_entry"();
