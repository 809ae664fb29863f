SELECT "partition_table"('wallet_ledger', 'id');
