SELECT "validate_bound"('xp_ledger', 'id');
