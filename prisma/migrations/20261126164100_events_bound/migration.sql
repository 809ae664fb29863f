-- The first of three steps: see 20261126160000_time_partitions.
SELECT "bound_table"('events', 'occurred_at', (SELECT max("reached_at") FROM "streams"));
