"""Two records, query by query: pairing, rows, factors, changed queries."""
