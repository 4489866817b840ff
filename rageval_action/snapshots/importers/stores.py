"""Opens another store as a snapshot, which is written once by content and kept; or writes it into a folder."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.snapshot import Manifest, Snapshot
from rageval_action.core.model.types import Notice
from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.snapshots.cache_folder import cache_folder
from rageval_action.snapshots.importers.location import StoreLocation, content_key, refuse_pointers
from rageval_action.snapshots.importers.table import Table, to_snapshot
from rageval_action.snapshots.interface import IMPORTERS
from rageval_action.snapshots.manifest import MANIFEST
from rageval_action.snapshots.queries import check_query_vectors, keyed
from rageval_action.snapshots.read import read_snapshot
from rageval_action.snapshots.write import write_snapshot

VERSION = "2"
"""Part of every key: raise it when an importer reads the same store differently."""

NOTICES = "import-notices.json"


def open_store(scheme: str, rest: str) -> Snapshot:
    """The snapshot of the store at `scheme:rest`, under the name that the user gave and with the import's notices.

    Raises:
        ConfigError: `config.unknown-option`, `config.missing-option`.
        SnapshotError: the store cannot be read or is not fit to be a snapshot.
    """
    location = StoreLocation(scheme, rest, IMPORTERS[scheme].options)
    kept = _kept(location, "" if IMPORTERS[scheme].server else content_key(location))
    notices = msgspec.json.decode((kept / NOTICES).read_bytes(), type=tuple[Notice, ...])
    snapshot = read_snapshot(kept)
    return msgspec.structs.replace(snapshot, path=str(location), notices=(*notices, *snapshot.notices))


def import_store(
    location: str, out: Path, asked: Mapping[str, NDArray[np.float32]] | None = None
) -> tuple[Manifest, tuple[Notice, ...]]:
    """Write the store at `scheme:place?options` as a snapshot into the new or empty folder `out`.

    `asked` are query texts with their vectors, to be kept beside the chunks, so that no model is needed later.

    Raises:
        ConfigError: `config.unknown-source`, and as `open_store`.
        SnapshotError: as `open_store`.
    """
    scheme, mark, rest = location.partition(":")
    if not mark or scheme not in IMPORTERS:
        hint = f"Write scheme:place with one of: {', '.join(sorted(IMPORTERS))}."
        named = f'"{scheme}:" names no store' if mark else f'"{location}" is no scheme:place'
        raise ConfigError("config.unknown-source", f"{named}.", hint=hint)  # a place may hold a password
    return _write(StoreLocation(scheme, rest, IMPORTERS[scheme].options), out, asked or {})


def _read(location: StoreLocation) -> Table:
    if not IMPORTERS[location.scheme].server:
        chunks = location.get("chunks")
        refuse_pointers(Path(location.where), *([Path(chunks)] if chunks else []))
    module, _, name = IMPORTERS[location.scheme].read.partition(":")
    read: Callable[[StoreLocation], Table]
    read = getattr(importlib.import_module(f"rageval_action.snapshots.importers.{module}"), name)
    return read(location)


def _write(
    location: StoreLocation, out: Path, asked: Mapping[str, NDArray[np.float32]]
) -> tuple[Manifest, tuple[Notice, ...]]:
    table = _read(location)
    contents, settings, notices = to_snapshot(table, location)
    if asked:
        check_query_vectors(np.stack(list(asked.values())), len(asked), table.vectors.shape[1])
        contents = msgspec.structs.replace(contents, query_vectors=keyed(asked, settings))
    try:
        return write_snapshot(out, contents, settings), notices
    except SnapshotError as error:  # of a row, it names the number alone
        where = error.where if str(out) in error.where else f"{location} {error.where}"
        raise SnapshotError(error.code, error.message, hint=error.hint, where=where) from None


def _kept(location: StoreLocation, key: str) -> Path:
    """The cached folder of a store, made now unless it is there; without a key it is named by what was read."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{location.scheme}-{VERSION}-{key[:32]}"
    if key and (kept / MANIFEST).is_file():
        return kept
    with tempfile.TemporaryDirectory(prefix=f"{location.scheme}-", dir=folder) as made:
        snapshot = Path(made) / "snapshot"
        manifest, notices = _write(location, snapshot, {})
        (snapshot / NOTICES).write_bytes(msgspec.json.encode(notices))
        kept = kept if key else folder / f"{location.scheme}-{VERSION}-{manifest.fingerprint[:32]}"
        try:
            snapshot.rename(kept)
        except OSError:  # another process was faster, and its copy is as good
            if not (kept / MANIFEST).is_file():
                raise
    return kept
