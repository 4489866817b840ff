"""LanceDB folders, Parquet files and Hugging Face datasets, each through the child process."""

from __future__ import annotations

from rageval_action.core.snapshot import Snapshot
from rageval_action.snapshots.importers.cache import through_cache
from rageval_action.snapshots.importers.place import Place, content_key, files_of
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
    folder = place.folder()
    files_of(folder)
    return read_in_child("lancedb", folder, place.options, place.where)


def read_parquet(place: Place) -> Table:
    """A Parquet file."""
    return read_in_child("parquet", place.file(), place.options, place.where)


def read_hf(place: Place) -> Table:
    """A dataset folder."""
    folder = place.folder("state.json")
    files_of(folder)
    return read_in_child("hf", folder, place.options, place.where)
