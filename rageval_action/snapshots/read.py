"""Loads a snapshot folder: memory-mapped, checked before anything is computed, every problem named."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.core.model.types import Notice
from rageval_action.core.wording.lists import listed
from rageval_action.errors import SnapshotError, written
from rageval_action.snapshots import manifest as files
from rageval_action.snapshots.arrays import Measured, measure, open_matrix
from rageval_action.snapshots.chunk_lines import read_chunks
from rageval_action.snapshots.problems import Problems
from rageval_action.snapshots.queries import read_queries
from rageval_action.snapshots.remote import fetch
from rageval_action.snapshots.row_checks import check_vectors, text_notices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rageval_action.core.model.snapshot import FloatMatrix, Manifest
    from rageval_action.core.model.types import Chunk

_THREAD_FROM_BYTES = 1 << 22
"""Below this, hashing beside decoding saves less than a thread costs."""


def read_snapshot(path: Path | str, *, verify_checksums: bool = True) -> Snapshot:
    """Load and check a snapshot.

    The vectors stay on disk (memory-mapped); one pass over them measures norms and finds rows that are not finite.

    Args:
        path: the folder.
        verify_checksums: compare every local file with the manifest's SHA-256. Remote shards are always compared.

    Raises:
        SnapshotError: with the code of the first problem, its file and line or row, and up to 20 problems in all:
            `snapshot.not-found`, `.lfs-pointer`, `.bad-manifest`, `.bad-path`, `.empty`, `.truncated`, `.bad-array`,
            `.object-array`, `.dimension-mismatch`, `.count-mismatch`, `.not-finite`, `.zero-vector`, `.bad-chunk`,
            `.duplicate-id`, `.bad-queries`, `.checksum-mismatch`, `.unreadable`.
    """
    try:
        return _read(Path(path), verify_checksums=verify_checksums)
    except OSError as error:
        message = f"the file cannot be read: {error.strerror or 'the system gave no reason'}."
        raise SnapshotError("snapshot.unreadable", message, where=str(error.filename or path)) from error


def _read(folder: Path, *, verify_checksums: bool) -> Snapshot:
    manifest = files.read_manifest(folder)
    problems = Problems()
    paths = _find(folder, manifest, problems)
    problems.raise_if_any()
    hashing = _Hashing(paths, manifest, verify=verify_checksums)
    opened = _open_shards(paths, manifest, problems)
    shards = tuple(opened.values())
    chunks = read_chunks(paths[files.CHUNKS], problems)
    _check_counts(folder, manifest, chunks, shards, problems)
    measured = measure(shards) if shards else _NOTHING
    check_vectors(chunks, measured, lambda row: _place(row, opened), problems)
    queries = _queries(paths, manifest, problems)
    hashing.add_to(problems)
    problems.raise_if_any()
    return Snapshot(
        path=written(str(folder)),
        manifest=manifest,
        chunks=chunks,
        shards=shards,
        query_vectors=queries,
        norms=(measured.smallest, measured.largest),
        empty_rows=measured.zero_rows,
        notices=(
            *text_notices(chunks, str(paths[files.CHUNKS])),
            *_vector_notices(manifest, chunks, measured, written(str(folder))),
        ),
    )


_NOTHING = Measured(smallest=0.0, largest=0.0, zero_rows=(), bad_rows=())


class _Hashing:
    """Compares checksums, in a thread of its own when the files are large: hashing leaves the interpreter free."""

    def __init__(self, paths: Mapping[str, Path], manifest: Manifest, *, verify: bool) -> None:
        self._found = Problems()
        self._thread: threading.Thread | None = None
        local = {name: path for name, path in paths.items() if verify and not files.is_remote(name)}
        arguments = (local, manifest.files, self._found)
        if sum(path.stat().st_size for path in local.values()) >= _THREAD_FROM_BYTES:
            self._thread = threading.Thread(target=files.compare_files, args=arguments, daemon=True)
            self._thread.start()
        else:
            files.compare_files(*arguments)

    def add_to(self, problems: Problems) -> None:
        """Wait for the hashes and add what was found."""
        if self._thread:
            self._thread.join()
        problems.extend(self._found)


def _find(folder: Path, manifest: Manifest, problems: Problems) -> dict[str, Path]:
    """Name -> local path of every file of the snapshot; what is missing or badly named becomes a problem."""
    names = dict.fromkeys((files.CHUNKS, *manifest.files, *manifest.shards))
    if (folder / files.QUERIES).exists():
        names.setdefault(files.QUERIES)
    where = str(folder / files.MANIFEST)
    found: dict[str, Path] = {}
    for name in names:
        if name not in manifest.files:
            text = f'"{name}" has no size and SHA-256 in `files`. Rebuild the snapshot.'
            problems.add("snapshot.bad-manifest", where, text)
        try:
            if files.is_remote(name):
                found[name] = fetch(name, manifest.files.get(name), where)
            else:
                found[name] = files.locate(folder, name)
        except SnapshotError as error:
            problems.add_error(error)
    return found


def _open_shards(paths: Mapping[str, Path], manifest: Manifest, problems: Problems) -> dict[str, FloatMatrix]:
    """Place -> mapped shard; those that do not fit the manifest become problems and are left out."""
    opened: dict[str, FloatMatrix] = {}
    for name in manifest.shards:
        where = str(paths[name])
        try:
            matrix = open_matrix(paths[name], where)
        except SnapshotError as error:
            problems.add_error(error)
            continue
        if matrix.dtype.str not in ("<f4", "<f2") or matrix.dtype.name != manifest.dtype:
            text = f"the numbers are {matrix.dtype.name} ({matrix.dtype.str}), the manifest says {manifest.dtype}."
            problems.add("snapshot.bad-array", where, text)
        elif matrix.shape[1] != manifest.dimension:
            text = (
                f"vectors have dimension {matrix.shape[1]}, the manifest says {manifest.dimension}. "
                "Rebuild the snapshot with one model."
            )
            problems.add("snapshot.dimension-mismatch", where, text)
        else:
            opened[where] = cast("FloatMatrix", matrix)
    return opened


def _check_counts(
    folder: Path,
    manifest: Manifest,
    chunks: Sequence[Chunk],
    shards: Sequence[FloatMatrix],
    problems: Problems,
) -> None:
    """Compare counts, once the files they are counted in could be read."""
    if len(problems):
        return
    where = str(folder / files.MANIFEST)
    rows = sum(map(len, shards))
    if shards and rows != len(chunks):
        text = f"{rows:,} vectors stand beside {len(chunks):,} chunks. Rebuild the snapshot: row i is line i."
        problems.add("snapshot.count-mismatch", where, text)
    for name, said, is_so in (
        ("chunks", manifest.chunks, len(chunks)),
        ("documents", manifest.documents, len({chunk.doc for chunk in chunks})),
    ):
        if said != is_so:
            text = f"the manifest says {said:,} {name}, the snapshot has {is_so:,}."
            problems.add("snapshot.count-mismatch", where, text)


def _place(row: int, shards: Mapping[str, FloatMatrix]) -> str:
    """`file row N` of a row counted over all shards; rows are numbered from 0, as in numpy."""
    for where, shard in shards.items():
        if row < len(shard):
            return f"{where} row {row}"
        row -= len(shard)
    return f"row {row}"


def _queries(
    paths: Mapping[str, Path], manifest: Manifest, problems: Problems
) -> dict[str, NDArray[np.float32]]:
    if files.QUERIES not in paths:
        return {}
    try:
        return read_queries(paths[files.QUERIES], manifest.dimension)
    except SnapshotError as error:
        problems.add_error(error)
        return {}


def _vector_notices(
    manifest: Manifest, chunks: Sequence[Chunk], measured: Measured, where: str
) -> tuple[Notice, ...]:
    """Zero vectors, and norms that do not fit what the manifest says."""
    said: list[tuple[str, str]] = []
    if measured.zero_rows:
        named = listed([f'{row} ("{chunks[row].id}")' for row in measured.zero_rows], 5)
        count = len(measured.zero_rows)
        said.append(("snapshot.zero-vector", f"{count} vectors are zero and cannot be found: rows {named}."))
    unit = measured.is_unit
    norms = f"norms go from {measured.smallest:.6g} to {measured.largest:.6g}"
    if manifest.normalised and not unit:
        text = f"The manifest says that vectors are normalised, but {norms}; they are searched as they are."
        said.append(("snapshot.normalised-mismatch", text))
    if manifest.metric == "ip" and manifest.shards and not unit:
        text = f"An inner product is not a cosine here: {norms}, and long vectors win."
        said.append(("snapshot.inner-product-unnormalised", text))
    return tuple(Notice(code=code, text=text, where=where) for code, text in said)
