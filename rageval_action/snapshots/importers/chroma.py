"""A Chroma folder: `chroma:./db?collection=docs`. Chroma writes while it reads, so a copy is read."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.importers.cache import through_cache
from rageval_action.snapshots.importers.place import Place, content_key, files_of
from rageval_action.snapshots.importers.table import Table
from rageval_action.snapshots.importers.worker import read_in_child

OPTIONS = ("collection",)


def load(place: str) -> Snapshot:
    """The snapshot of a collection, from the cache where it is known."""
    at = Place("chroma", place, OPTIONS)
    _folder(at)
    return through_cache(at, read, content_key(at))


def read(place: Place) -> Table:
    """Vectors from the index and from the queue, texts and metadata.

    Raises:
        SnapshotError: `snapshot.link-in-store`, `snapshot.old-format`, `snapshot.which-collection`, what
            `worker.read_in_child` raises.
    """
    folder = _folder(place)
    with tempfile.TemporaryDirectory(prefix="rageval-chroma-") as made:
        copy = Path(made) / "db"
        for path in files_of(folder):
            target = copy / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        return read_in_child("chroma", copy, {"collection": place.get("collection")}, place.where)


def _folder(place: Place) -> Path:
    """The folder of a Chroma that is new enough to be read."""
    if (Path(place.where) / "chroma-embeddings.parquet").is_file():
        raise SnapshotError(
            "snapshot.old-format",
            "Chroma before 0.4 wrote this, in files that only it reads.",
            hint="Move it to a newer version with chroma-migrate.",
            where=place.where,
        )
    return place.folder("chroma.sqlite3")
