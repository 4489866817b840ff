"""A FAISS index with a JSON lines file of its chunks beside it: `faiss:index.faiss?chunks=chunks.jsonl`.

The index is read by faiss (`faiss_index.py`); ours is only the join with the file of chunks.
"""

from __future__ import annotations

import msgspec

from rageval_action.core.model.types import Notice
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.given_chunks import read_given_chunks
from rageval_action.snapshots.importers.location import StoreLocation
from rageval_action.snapshots.importers.reader_process import read_in_child
from rageval_action.snapshots.importers.table import Table, row_of


def read(location: StoreLocation) -> Table:
    """Join vectors and chunks: by the index's ids where the chunks' ids are those numbers, else by line.

    Raises:
        SnapshotError: `snapshot.id-mismatch`, `snapshot.count-mismatch`, and as `reader_process.read_in_child`.
    """
    table = read_in_child("faiss", location.file(), {}, location.where)
    given = read_given_chunks(location.chunks_file())
    by_id = {chunk.id: chunk for chunk in given.chunks}
    if all(row.id in by_id for row in table.rows):
        chosen, how = [by_id[row.id] for row in table.rows], "by id"
    else:
        lines = [int(row.id) for row in table.rows]
        if sorted(lines) != list(range(len(given.chunks))):
            text = (
                f"the index holds {len(lines)} vectors whose ids are neither those of the {len(given.chunks)} chunks "
                "nor their line numbers from 0."
            )
            raise SnapshotError("snapshot.id-mismatch", text, where=location.where)
        chosen, how = [given.chunks[line] for line in lines], "by line"
    rows = [row_of(chunk) for chunk in chosen]
    joined = Notice(
        code="snapshot.joined", text=f"vectors and chunks were joined {how}", where=location.where
    )
    return msgspec.structs.replace(table, rows=rows, notices=(*given.notices, joined))
