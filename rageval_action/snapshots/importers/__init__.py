"""Other stores' folders and exports as snapshots.

Every importer reads rows (id, text, metadata) and one vector a row out of a store that it does not trust, without
unpickling and, where a native library reads the file, in a child process under limits. `table.py` turns rows into
chunks; `cache.py` keeps the snapshot by content. To extend: a module with `read(place) -> Table` and `load`, one line
in `SOURCES` and one in `IMPORTERS`.
"""
