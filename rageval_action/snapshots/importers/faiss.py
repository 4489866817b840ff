"""A FAISS index with a JSON lines file of its chunks beside it: `faiss:index.faiss?chunks=chunks.jsonl`."""

from __future__ import annotations

from pathlib import Path

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.core.model.types import Notice
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.corpus import read_corpus
from rageval_action.snapshots.importers.cache import through_cache
from rageval_action.snapshots.importers.place import Place, content_key
from rageval_action.snapshots.importers.table import Table, row_of
from rageval_action.snapshots.importers.worker import read_in_child

OPTIONS = ("chunks",)


def load(place: str) -> Snapshot:
    """The snapshot of an index, from the cache where it is known."""
    at = Place("faiss", place, OPTIONS)
    return through_cache(at, read, content_key(at, _chunks_of(at)))


def read(place: Place) -> Table:
    """Join vectors and chunks: by the index's ids where the chunks' ids are those numbers, else by line.

    Raises:
        SnapshotError: `snapshot.id-mismatch`, `snapshot.count-mismatch`, and what `worker.read_in_child` raises.
    """
    table = read_in_child("faiss", place.file(), {}, place.where)
    corpus = read_corpus(_chunks_of(place))
    by_id = {chunk.id: chunk for chunk in corpus.chunks}
    if all(row.id in by_id for row in table.rows):
        chosen, how = [by_id[row.id] for row in table.rows], "by id"
    else:
        lines = [int(row.id) for row in table.rows]
        if sorted(lines) != list(range(len(corpus.chunks))):
            text = (
                f"the index holds {len(lines)} vectors whose ids are neither those of the {len(corpus.chunks)} chunks "
                "nor their line numbers from 0."
            )
            raise SnapshotError("snapshot.id-mismatch", text, where=place.where)
        chosen, how = [corpus.chunks[line] for line in lines], "by line"
    rows = [row_of(chunk) for chunk in chosen]
    told = Notice(code="snapshot.joined", text=f"vectors and chunks were joined {how}", where=place.where)
    return Table(
        rows=rows,
        vectors=table.vectors,
        metric=table.metric,
        lossy=table.lossy,
        notices=(*corpus.notices, told),
    )


def _chunks_of(place: Place) -> Path:
    return Path(place.need("chunks", "a FAISS index holds no texts and no names: give the chunks' file."))
