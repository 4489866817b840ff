"""Shards behind an fsspec URL: fetched once into a cache on disk, checked, then memory-mapped like local ones."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.cache_folder import cache_folder
from rageval_action.snapshots.manifest import sha256_of

if TYPE_CHECKING:
    from rageval_action.core.model.snapshot import FileEntry

_PIECE = 1 << 20
_SHA256 = re.compile("[0-9a-f]{64}")


def fetch(url: str, entry: FileEntry | None, where: str) -> Path:
    """The local copy of a remote shard.

    The manifest must state size and SHA-256: nothing else ties the bytes to the snapshot, and a URL may name any file.

    Raises:
        SnapshotError: `snapshot.remote-extra-missing` without fsspec, `snapshot.bad-path` for a chained URL or one
            without a checksum, `snapshot.not-found` when it cannot be read, `snapshot.checksum-mismatch` when the
            bytes are others.
    """
    if "::" in url or entry is None:
        message = f'the shard "{url}" has no size and SHA-256 in `files`, or is a chain of file systems.'
        raise SnapshotError("snapshot.bad-path", message, where=where)
    if not _SHA256.fullmatch(entry.sha256):
        raise SnapshotError("snapshot.bad-manifest", f'"{entry.sha256}" is not a SHA-256.', where=where)
    kept = cache_folder() / "shards" / f"{entry.sha256}.npy"
    if kept.is_file() and kept.stat().st_size == entry.bytes and sha256_of(kept) == entry.sha256:
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}.partial")
    try:
        _download(url, partial, entry.bytes)
        if partial.stat().st_size != entry.bytes or sha256_of(partial) != entry.sha256:
            message = "the remote shard is not the one that the manifest describes (size or SHA-256)."
            raise SnapshotError("snapshot.checksum-mismatch", message, where=url)
        partial.replace(kept)
    finally:
        partial.unlink(missing_ok=True)
    return kept


def _download(url: str, to: Path, most_bytes: int) -> None:
    """Copy at most one byte more than `most_bytes`."""
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError as error:
        message = "the snapshot has remote shards, and the library that reads them is not installed."
        hint = 'Install it with: pip install "rag-eval-action[remote]".'
        raise SnapshotError("snapshot.remote-extra-missing", message, hint=hint, where=url) from error
    try:
        with fsspec.open(url, "rb") as stream, to.open("wb") as kept:
            left = most_bytes + 1
            while left > 0 and (piece := stream.read(min(_PIECE, left))):
                kept.write(piece)
                left -= len(piece)
    except Exception as error:  # every file system behind fsspec raises its own kinds
        message = f"the remote shard cannot be read: {type(error).__name__}: {error}."
        raise SnapshotError("snapshot.not-found", message, where=url) from error
