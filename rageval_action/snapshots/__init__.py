"""Index snapshots: building, reading, verifying, importing.

May import: `core`, `errors`, `config`. To extend: an importer in its own file and one line in `SOURCES`.
"""
