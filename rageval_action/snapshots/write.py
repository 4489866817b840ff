"""Writes a snapshot folder: in one piece or not at all, never over another, the same bytes for the same contents."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import msgspec
import numpy as np
from msgspec import Struct

from rageval_action.core.model.snapshot import BuildSettings, FileEntry, Manifest
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.arrays import BLOCK_BYTES, MAX_DIMENSION, measure, open_matrix
from rageval_action.snapshots.fingerprint import fingerprint
from rageval_action.snapshots.manifest import CHUNKS, MANIFEST, QUERIES, encode_manifest, sha256_of
from rageval_action.snapshots.problems import Problems
from rageval_action.snapshots.queries import write_queries
from rageval_action.snapshots.row_checks import check_vectors, name_repeats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rageval_action.core.model.snapshot import FloatMatrix
    from rageval_action.core.model.types import Chunk

SHARD_BYTES = 1 << 30
"""A shard is at most about this large unless the caller says otherwise."""


class Contents(Struct, frozen=True, kw_only=True):
    """What a snapshot holds.

    Attributes:
        chunks: in row order, ids unique.
        vectors: float blocks of shape (rows, dimension) that together have one row a chunk, in the same order; a
            matrix is cut into blocks; nothing at all makes a snapshot for lexical retrieval only.
        query_vectors: `core.model.hashing.query_key` -> vector of shape (dimension,).
    """

    chunks: Sequence[Chunk]
    vectors: NDArray[np.floating] | Iterable[NDArray[np.floating]] = ()
    query_vectors: Mapping[str, NDArray[np.float32]] = {}


def write_snapshot(
    out: Path,
    contents: Contents,
    settings: BuildSettings,
    *,
    dtype: Literal["float32", "float16"] = "float32",
    shard_rows: int = 0,
) -> Manifest:
    """Write a snapshot into the new or empty folder `out` and return its manifest.

    All files are written into a folder beside `out` that takes its name at the very end; a run that is killed leaves
    `out` as it was.

    Args:
        out: new or empty folder.
        contents: chunks, vectors, cached query vectors.
        settings: what goes into the manifest as it is.
        dtype: of the vectors on disk.
        shard_rows: rows of one embeddings file; 0 = as many as fit into `SHARD_BYTES`.

    Raises:
        SnapshotError: `snapshot.exists`, `snapshot.empty`, `snapshot.duplicate-id`, `snapshot.dimension-mismatch`,
            `snapshot.count-mismatch`, `snapshot.not-finite`, `snapshot.zero-vector` or `snapshot.unwritable`.
    """
    check_target(out)
    _check_chunks(contents.chunks)
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        manifest = _write_files(partial, contents, settings, dtype, shard_rows)
        partial.replace(out)
    except OSError as error:
        message = f"the snapshot cannot be written: {error.strerror or 'the system gave no reason'}."
        raise SnapshotError("snapshot.unwritable", message, where=str(out)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return manifest


def check_target(out: Path) -> None:
    """Refuse a target that holds anything.

    Raises:
        SnapshotError: `snapshot.exists`.
    """
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        message = "there is something here already, and a snapshot is never written over it."
        hint = "Choose a new or empty folder."
        raise SnapshotError("snapshot.exists", message, hint=hint, where=str(out))


def _check_chunks(chunks: Sequence[Chunk]) -> None:
    if not chunks:
        raise SnapshotError("snapshot.empty", "there are no chunks to write.")
    problems = Problems()
    for row, chunk in enumerate(chunks):
        if not chunk.id or not chunk.doc:
            problems.add("snapshot.bad-chunk", f"chunk {row + 1}", "`id` or `doc` is empty.")
    name_repeats([chunk.id for chunk in chunks], range(1, len(chunks) + 1), CHUNKS, problems)
    problems.raise_if_any()


def _write_files(
    folder: Path, contents: Contents, settings: BuildSettings, dtype: str, shard_rows: int
) -> Manifest:
    chunks = contents.chunks
    entries = {CHUNKS: _write_chunks(folder / CHUNKS, chunks)}
    shards = _write_vectors(folder, contents, dtype, shard_rows, entries)
    measured = measure(shards)
    problems = Problems()
    check_vectors(chunks, measured, lambda row: f"vectors row {row}", problems)
    problems.raise_if_any()
    if contents.query_vectors:
        write_queries(folder / QUERIES, contents.query_vectors)
        entries[QUERIES] = _entry(folder / QUERIES)
    manifest = Manifest(
        chunks=len(chunks),
        documents=len({chunk.doc for chunk in chunks}),
        dimension=shards[0].shape[1] if shards else 0,
        dtype=cast('Literal["float32", "float16", ""]', dtype if shards else ""),
        normalised=bool(shards) and measured.is_unit,
        shards=tuple(name for name in entries if name.startswith("embeddings")),
        files=dict(sorted(entries.items())),
        **msgspec.structs.asdict(settings),
    )
    manifest = msgspec.structs.replace(manifest, fingerprint=fingerprint(manifest, chunks, shards))
    (folder / MANIFEST).write_bytes(encode_manifest(manifest))
    return manifest


def _entry(path: Path) -> FileEntry:
    return FileEntry(sha256=sha256_of(path), bytes=path.stat().st_size)


def _write_chunks(path: Path, chunks: Sequence[Chunk]) -> FileEntry:
    encoder = msgspec.json.Encoder(order="deterministic")
    digest = hashlib.sha256()
    with path.open("wb") as stream:
        for start in range(0, len(chunks), 4096):
            data = encoder.encode_lines(chunks[start : start + 4096])
            digest.update(data)
            stream.write(data)
    return FileEntry(sha256=digest.hexdigest(), bytes=path.stat().st_size)


class _Shards:
    """Takes rows in any portions and lays them into files of a fixed number of rows."""

    def __init__(self, folder: Path, rows: int, dimension: int, dtype: str, shard_rows: int) -> None:
        self._folder = folder
        self._dtype = np.dtype(dtype)
        self._dimension = dimension
        most = shard_rows or max(1, SHARD_BYTES // (dimension * self._dtype.itemsize))
        self._lengths = [min(most, rows - start) for start in range(0, rows, most)]
        self._stream: BinaryIO | None = None
        self._left = 0
        self.paths: list[Path] = []
        self.rows = 0

    def add(self, block: NDArray[np.floating]) -> None:
        """Append rows; raises when they do not fit."""
        if block.ndim != 2 or block.shape[1] != self._dimension:
            message = f"a block of vectors has shape {block.shape}, expected (rows, {self._dimension})."
            raise SnapshotError("snapshot.dimension-mismatch", message)
        self.rows += len(block)
        while len(block):
            if not self._left and not self._open():
                return
            piece, block = block[: self._left], block[self._left :]
            assert self._stream is not None  # noqa: S101 - `_open` has set it
            with np.errstate(over="ignore"):
                self._stream.write(np.ascontiguousarray(piece, dtype=self._dtype).tobytes())
            self._left -= len(piece)

    def _open(self) -> bool:
        """Begin the next file; False when all rows that were promised are there."""
        self.close()
        at = len(self.paths)
        if at == len(self._lengths):
            return False
        name = "embeddings.npy" if len(self._lengths) == 1 else f"embeddings-{at + 1:05d}.npy"
        self.paths.append(self._folder / name)
        self._stream = self.paths[-1].open("wb")
        self._left = self._lengths[at]
        head = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._left, self._dimension),
        }
        np.lib.format.write_array_header_1_0(self._stream, head)
        return True

    def close(self) -> None:
        """Close the file at hand."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _write_vectors(
    folder: Path, contents: Contents, dtype: str, shard_rows: int, entries: dict[str, FileEntry]
) -> tuple[FloatMatrix, ...]:
    """Write the vectors, note the files in `entries` and map what was written."""
    rows = len(contents.chunks)
    shards: _Shards | None = None
    for block in _blocks(contents.vectors):
        if shards is None:
            if block.ndim != 2 or not 1 <= block.shape[1] <= MAX_DIMENSION:
                message = (
                    f"vectors have shape {block.shape}; they are rows by dimension (1 to {MAX_DIMENSION:,})."
                )
                raise SnapshotError("snapshot.dimension-mismatch", message)
            shards = _Shards(folder, rows, block.shape[1], dtype, shard_rows)
        shards.add(block)
    if shards is None:
        return ()
    shards.close()
    if shards.rows != rows:
        message = f"{shards.rows:,} vectors stand beside {rows:,} chunks; row i must belong to line i."
        raise SnapshotError("snapshot.count-mismatch", message)
    for path in shards.paths:
        entries[path.name] = _entry(path)
    return tuple(cast("FloatMatrix", open_matrix(path, path.name)) for path in shards.paths)


def _blocks(vectors: NDArray[np.floating] | Iterable[NDArray[np.floating]]) -> Iterable[NDArray[np.floating]]:
    if not isinstance(vectors, np.ndarray):
        return vectors
    if vectors.ndim != 2:
        return [vectors]
    step = max(1, BLOCK_BYTES // max(1, vectors.shape[1] * 8))
    return (vectors[start : start + step] for start in range(0, len(vectors), step))
