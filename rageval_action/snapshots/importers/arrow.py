"""LanceDB folders, Parquet files and Hugging Face datasets, each through the child process."""

from __future__ import annotations

from pathlib import Path

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.importers.cache import through_cache
from rageval_action.snapshots.importers.place import Place, content_key
from rageval_action.snapshots.importers.table import Table
from rageval_action.snapshots.importers.worker import read_in_child


def load_lancedb(place: str) -> Snapshot:
    """`lancedb:./db?table=docs`: the newest version of a table."""
    at = Place("lancedb", place, ("table",))
    return through_cache(at, read_lancedb, content_key(at))


def load_parquet(place: str) -> Snapshot:
    """`parquet:chunks.parquet?id=…&text=…&vector=…`."""
    at = Place("parquet", place)
    return through_cache(at, read_parquet, content_key(at))


def load_hf(place: str) -> Snapshot:
    """`hf:folder?vector=embeddings`: what `datasets.Dataset.save_to_disk` wrote."""
    at = Place("hf", place)
    return through_cache(at, read_hf, content_key(at))


def read_lancedb(place: Place) -> Table:
    """One table of a LanceDB folder."""
    return read_in_child("lancedb", place.folder(), place.options, place.where)


def read_parquet(place: Place) -> Table:
    """A Parquet file."""
    return read_in_child("parquet", place.file(), place.options, place.where)


def read_hf(place: Place) -> Table:
    """A dataset folder; one with several splits holds a folder for each."""
    splits = Path(place.where) / "dataset_dict.json"
    if splits.is_file():
        names = ", ".join(sorted(part.parent.name for part in splits.parent.glob("*/state.json")))
        hint = f"Name the folder of one, e.g. hf:{place.where}/train."
        text = f"it holds the splits {names or '(none)'}."
        raise SnapshotError("snapshot.which-split", text, hint=hint, where=place.where)
    return read_in_child("hf", place.folder("state.json"), place.options, place.where)
