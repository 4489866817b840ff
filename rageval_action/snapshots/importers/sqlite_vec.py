"""A sqlite-vec table: `sqlite-vec:db.sqlite?table=vec_chunks&texts=chunks`, read in the child process."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.snapshots.importers.cache import through_cache
from rageval_action.snapshots.importers.place import Place, content_key
from rageval_action.snapshots.importers.table import Table
from rageval_action.snapshots.importers.worker import read_in_child

OPTIONS = ("table", "texts", "key")


def load(place: str) -> Snapshot:
    """The snapshot of a table, from the cache where it is known."""
    at = Place("sqlite-vec", place, OPTIONS)
    return through_cache(at, read, content_key(at, *_beside(at.file())))


def read(place: Place) -> Table:
    """Vectors, and the texts and metadata that lie with them or in an ordinary table.

    What a program wrote last may still lie in a file beside the database; SQLite can join the two only where it may
    write, so copies of them are read.

    Raises:
        SnapshotError: what `sqlite_vec_reader.read` refuses and `worker.read_in_child` raises.
    """
    path = place.file()
    beside = _beside(path)
    if not beside:
        return read_in_child("sqlite-vec", path, place.options, place.where)
    with tempfile.TemporaryDirectory(prefix="rageval-sqlite-") as made:
        for part in (path, *beside):
            shutil.copyfile(part, Path(made) / part.name)
        return read_in_child("sqlite-vec", Path(made) / path.name, place.options, place.where)


def _beside(path: Path) -> list[Path]:
    """The write-ahead log or the rollback journal of a database that was not closed."""
    found = [path.with_name(path.name + ending) for ending in ("-wal", "-journal")]
    return [part for part in found if part.is_file() and part.stat().st_size]
