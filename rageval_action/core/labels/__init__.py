"""What a query is judged by: linking, evidence, access, transfer between corpora."""
