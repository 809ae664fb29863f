SELECT "validate_bound"('wallet_ledger', 'id');
