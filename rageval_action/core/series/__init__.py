"""Many records: history and matrix."""
