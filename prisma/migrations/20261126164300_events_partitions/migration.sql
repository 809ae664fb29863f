SELECT "partition_table"('events', 'occurred_at');
