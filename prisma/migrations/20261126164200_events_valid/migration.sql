SELECT "validate_bound"('events', 'occurred_at');
