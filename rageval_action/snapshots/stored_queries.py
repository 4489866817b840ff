"""Query vectors that a snapshot holds: kept when it is built anew, and added to when more questions are asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import Struct

from rageval_action.core.model.snapshot import FileEntry, Manifest
from rageval_action.core.model.types import Notice
from rageval_action.core.wording.lists import plural
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.manifest import (
    MANIFEST,
    QUERIES,
    compare_files,
    encode_manifest,
    locate,
    read_manifest,
    sha256_of,
)
from rageval_action.snapshots.problems import Problems
from rageval_action.snapshots.queries import keyed, read_queries, write_queries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rageval_action.core.model.snapshot import BuildSettings

Vectors = Mapping[str, "NDArray[np.float32]"]


class StoredQueries(Struct, frozen=True, kw_only=True):
    """The cached query vectors of a snapshot, by `core.model.hashing.query_key`, and its manifest."""

    folder: Path
    manifest: Manifest
    vectors: Vectors


def read_stored(folder: Path) -> StoredQueries:
    """Read the query vectors of a snapshot, checked against its manifest; its chunks stay unread.

    Raises:
        SnapshotError: as `manifest.read_manifest`, `manifest.locate` and `queries.read_queries`;
            `snapshot.checksum-mismatch`.
    """
    manifest = read_manifest(folder)
    if QUERIES not in manifest.files:
        return StoredQueries(folder=folder, manifest=manifest, vectors={})
    path, problems = locate(folder, QUERIES), Problems()
    compare_files({QUERIES: path}, manifest.files, problems)
    problems.raise_if_any()
    return StoredQueries(folder=folder, manifest=manifest, vectors=read_queries(path, manifest.dimension))


def kept(
    stored: StoredQueries | None, settings: BuildSettings, dimension: int
) -> tuple[Vectors, tuple[Notice, ...]]:
    """The vectors that still hold in a snapshot of these settings: same named model, revision and query prefix.

    Returns:
        Key -> vector, and a notice where there are some and none of them holds.
    """
    if stored is None or not stored.vectors:
        return {}, ()
    before, now = _made_by(stored.manifest), _made_by(settings)
    if before == now and settings.model and stored.manifest.dimension == dimension:
        return stored.vectors, ()
    why = f"they were made by {_told(before)}, and this snapshot by {_told(now)}"
    if before == now:
        why = (
            "their dimension is another one"
            if settings.model
            else "no snapshot names its model (--model-name)"
        )
    text = f"{plural(len(stored.vectors), 'query vector')} of {stored.folder} could not be kept: {why}."
    return {}, (Notice(code="snapshot.queries-not-kept", text=text, where=str(stored.folder)),)


def _made_by(settings: BuildSettings) -> tuple[str, str, str]:
    return settings.model, settings.revision, settings.query_prefix


def _told(made_by: tuple[str, str, str]) -> str:
    model, revision, prefix = made_by
    named = " ".join(filter(None, (model or "an unnamed model", revision)))
    return f"{named} with the query prefix {prefix!r}" if prefix else named


def add_vectors(folder: Path, made: Vectors) -> Manifest:
    """Add vectors by query text to a snapshot: `queries.npz` and its entry in the manifest; all else stays.

    Both files are written beside the old ones and renamed one after the other. Between the two renames, and only
    then, a killed process leaves a checksum that does not fit; `rageval snapshot verify` names it.

    Args:
        folder: of a sound snapshot with vectors.
        made: query text -> vector of shape (dimension,), finite.

    Raises:
        SnapshotError: as `read_stored`; `snapshot.unwritable`.
    """
    stored = read_stored(folder)
    vectors = {**stored.vectors, **keyed(made, stored.manifest)}
    queries, manifest = (folder / f".{name}.{os.getpid()}" for name in (QUERIES, MANIFEST))
    try:
        with queries.open("wb") as stream:
            write_queries(stream, vectors)
        entry = FileEntry(sha256=sha256_of(queries), bytes=queries.stat().st_size)
        files = dict(sorted({**stored.manifest.files, QUERIES: entry}.items()))
        changed = msgspec.structs.replace(stored.manifest, files=files)
        manifest.write_bytes(encode_manifest(changed))
        queries.replace(folder / QUERIES)
        manifest.replace(folder / MANIFEST)
    except OSError as error:
        message = f"the query vectors cannot be written: {error.strerror or 'the system gave no reason'}."
        raise SnapshotError("snapshot.unwritable", message, where=str(folder)) from error
    finally:
        queries.unlink(missing_ok=True)
        manifest.unlink(missing_ok=True)
    return changed
