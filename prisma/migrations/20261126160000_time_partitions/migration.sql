-- How a table becomes partitioned by time while the service runs. Migrations call these functions, for one table each, in
-- three steps: `bound_table`, `validate_bound` and `partition_table`. No row is copied: the table becomes the first
-- partition, `<table>_first`, and the new parent has its name, so that earlier versions notice nothing.

-- The lowest UUID of version 7 of a moment.
CREATE FUNCTION "first_id_at"("moment" TIMESTAMPTZ) RETURNS UUID LANGUAGE sql STABLE AS $$
    SELECT rpad(lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- Bounds the table to the month after the next one, until which its rows go to the first partition. Existing rows are
-- not read. The key is the column `id`, a UUID of version 7, or a column of type TIMESTAMPTZ.
CREATE FUNCTION "bound_table"("name" TEXT, "key" TEXT, "latest" TIMESTAMPTZ DEFAULT now()) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    bound TIMESTAMPTZ := (date_trunc('month', greatest(now(), latest) AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC';
BEGIN
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (%I < %L) NOT VALID', name, name || '_first_check', key,
        CASE key WHEN 'id' THEN first_id_at(bound)::text ELSE bound::text END);
END $$;

-- Reads all rows, with a lock that neither reads nor writes wait for. An id that is not of version 7 gets one of its time.
CREATE FUNCTION "validate_bound"("name" TEXT, "key" TEXT) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    bound UUID;
    checks TEXT;
BEGIN
    IF key = 'id' THEN
        SELECT substring(pg_get_constraintdef(oid) FROM '''([0-9a-f-]{36})''')::uuid INTO bound FROM pg_constraint
        WHERE conrelid = name::regclass AND conname = name || '_first_check';
        EXECUTE format($sql$
            UPDATE %I SET id = overlay(gen_random_uuid()::text PLACING
                left(first_id_at(least(created_at, now()))::text, 14) || '7' FROM 1 FOR 15)::uuid
            WHERE id >= %L
        $sql$, name, bound);
    END IF;
    SELECT string_agg(format('VALIDATE CONSTRAINT %I', conname), ', ') INTO checks FROM pg_constraint
    WHERE conrelid = name::regclass AND contype = 'c' AND NOT convalidated;
    IF checks IS NOT NULL THEN EXECUTE format('ALTER TABLE %I %s', name, checks); END IF;
END $$;

-- Makes the parent, with the table as its first partition, and a partition for rows that no other one takes. The service
-- makes those of later months or weeks (src/db/partitions.ts). Takes the table for itself, for some milliseconds.
CREATE FUNCTION "partition_table"("name" TEXT, "key" TEXT) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    earlier TEXT := name || '_first';
    others TEXT := name || '_default';
    bound TEXT;
    item RECORD;
BEGIN
    EXECUTE format('ALTER TABLE %I RENAME TO %I', name, earlier);
    SELECT substring(pg_get_constraintdef(oid) FROM '''([^'']+)''') INTO bound FROM pg_constraint
    WHERE conrelid = earlier::regclass AND conname = name || '_first_check';

    -- With its rights and its indexes. A unique index that lacks the key is in each partition alone.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (%I)', name, earlier, key);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', name, name || '_first_check');
    FOR item IN
        SELECT CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE r.grantee::regrole::text END AS role, r.privilege_type AS privilege
        FROM pg_class t, aclexplode(t.relacl) r WHERE t.oid = earlier::regclass AND r.grantee <> t.relowner
    LOOP
        EXECUTE format('GRANT %s ON %I TO %s', item.privilege, name, item.role);
    END LOOP;
    FOR item IN
        SELECT c.relname AS index, k.conname AS "constraint", pg_get_constraintdef(k.oid) AS definition,
            CASE WHEN i.indisunique THEN 'UNIQUE INDEX' ELSE 'INDEX' END AS kind,
            substring(pg_get_indexdef(i.indexrelid) FROM ' USING .*') AS method,
            NOT i.indisunique OR EXISTS (
                SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) AND a.attname = key
            ) AS "fits"
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'p'
        WHERE i.indrelid = earlier::regclass
    LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', item.index, replace(item.index, name, earlier));
        IF NOT item.fits THEN
            CONTINUE;
        ELSIF item."constraint" IS NOT NULL THEN
            EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', name, item."constraint", item.definition);
        ELSE
            EXECUTE format('CREATE %s %I ON %I %s', item.kind, item.index, name, item.method);
        END IF;
    END LOOP;

    -- A copy of the table before it has a parent: it gets the same indexes.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', others, earlier);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', others, name || '_first_check');
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', name, others);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', name, earlier, bound);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', earlier, name || '_first_check');
END $$;
