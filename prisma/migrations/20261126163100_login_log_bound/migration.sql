-- The first of three steps: see 20261126160000_time_partitions.
SELECT "bound_table"('login_log', 'id');
