SELECT "validate_bound"('login_log', 'id');
