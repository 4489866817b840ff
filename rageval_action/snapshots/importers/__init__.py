"""Other stores' folders and exports as snapshots.

Every importer reads rows (id, text, metadata) and one vector a row out of a store that it does not trust, without
unpickling and, where a native library reads the file, in a child process under limits (`reader_process.py`).
`table.py` turns rows into chunks; `stores.py` keeps the snapshot by content. To extend: a module with
`read(location) -> Table`, or with `read(path, options, sink)` for the child and a line in `READERS`, and one line in
`IMPORTERS` of `snapshots/interface.py`. Each module says why we read a format ourselves, where we do.
"""
