SELECT "partition_table"('xp_ledger', 'id');
