"""A store as a snapshot: written once by content, opened from the cache after that."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.hashing import query_key
from rageval_action.core.model.snapshot import Manifest, Snapshot
from rageval_action.core.model.types import Notice
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.build import check_query_vectors
from rageval_action.snapshots.importers.folders import cache_folder
from rageval_action.snapshots.importers.place import Place
from rageval_action.snapshots.importers.table import Table, to_chunks
from rageval_action.snapshots.manifest import IMPORTED
from rageval_action.snapshots.read import read_snapshot
from rageval_action.snapshots.write import About, Contents, write_snapshot

VERSION = "2"
"""Part of every key: raise it when an importer reads the same store differently."""


def write_table(
    table: Table, place: Place, out: Path, asked: Mapping[str, NDArray[np.float32]] = MappingProxyType({})
) -> tuple[Manifest, tuple[Notice, ...]]:
    """Write a store as a snapshot folder; `asked` are query texts with their vectors.

    Raises:
        SnapshotError: what `to_chunks`, `check_query_vectors` and `write_snapshot` refuse.
    """
    imported = to_chunks(table, place)
    if asked:
        check_query_vectors(np.stack(list(asked.values())), len(asked), imported.vectors.shape[1])
    about = About(metric=imported.metric, model=imported.model, build_id=f"{IMPORTED}{place.scheme}")
    keyed = {
        query_key(model=about.model, revision="", prefix="", text=text): vector
        for text, vector in asked.items()
    }
    contents = Contents(chunks=imported.chunks, vectors=imported.vectors, query_vectors=keyed)
    try:
        manifest = write_snapshot(out, contents, about)
    except SnapshotError as error:  # of a row, it names the number alone
        where = error.where if str(out) in error.where else f"{place.scheme}:{place.where} {error.where}"
        raise SnapshotError(error.code, error.message, hint=error.hint, where=where) from None
    return manifest, imported.notices


def through_cache(place: Place, read: Callable[[Place], Table], key: str = "") -> Snapshot:
    """The snapshot of a store.

    Args:
        place: where the store is.
        read: reads it when the cache does not know it.
        key: names the store's content; empty when only reading it can tell (a server).
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    if key:
        kept = folder / f"{place.scheme}-{VERSION}-{key[:32]}"
        if not (kept / "manifest.json").is_file():
            _fill(kept, place, read)
        return _with_notices(read_snapshot(kept), kept, place)
    made = Path(tempfile.mkdtemp(prefix=f"{place.scheme}-", dir=folder)) / "snapshot"
    manifest, notices = write_table(read(place), place, made)
    kept = folder / f"{place.scheme}-{VERSION}-{manifest.fingerprint.replace(':', '-')[:48]}"
    _keep_notices(made, notices)
    _move(made, kept)
    shutil.rmtree(made.parent, ignore_errors=True)
    return _with_notices(read_snapshot(kept), kept, place)


def _fill(kept: Path, place: Place, read: Callable[[Place], Table]) -> None:
    made = Path(tempfile.mkdtemp(prefix=f"{place.scheme}-", dir=kept.parent)) / "snapshot"
    try:
        _, notices = write_table(read(place), place, made)
        _keep_notices(made, notices)
        _move(made, kept)
    finally:
        shutil.rmtree(made.parent, ignore_errors=True)


def _move(made: Path, kept: Path) -> None:
    """Put it in its place; when another process was faster, its copy is as good."""
    try:
        made.rename(kept)
    except OSError:
        if not (kept / "manifest.json").is_file():
            raise


def _keep_notices(made: Path, notices: tuple[Notice, ...]) -> None:
    (made / "import-notices.json").write_bytes(msgspec.json.encode(notices))


def _with_notices(snapshot: Snapshot, kept: Path, place: Place) -> Snapshot:
    """The snapshot under the name that the user gave, with what the import had to say."""
    notices = msgspec.json.decode((kept / "import-notices.json").read_bytes(), type=tuple[Notice, ...])
    return msgspec.structs.replace(
        snapshot, path=f"{place.scheme}:{place.where}", notices=(*notices, *snapshot.notices)
    )
