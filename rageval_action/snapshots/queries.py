"""`queries.npz`: cached query vectors, one array of keys and one matrix. Nothing in it is ever unpickled."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rageval_action.core.model import lfs_pointer
from rageval_action.core.model.hashing import query_key
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.arrays import array_in
from rageval_action.snapshots.problems import refuse_pointer
from rageval_action.zip_reader import ZipError, ZipLimits, open_zip

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rageval_action.core.model.snapshot import BuildSettings

T = TypeVar("T")

_KEYS, _VECTORS = "keys.npy", "vectors.npy"
_KEY_BYTES = 64
LIMITS = ZipLimits(member=1 << 32, ratio=100, free=100 << 10)


def keyed(values: Mapping[str, T], settings: BuildSettings) -> dict[str, T]:
    """What belongs to query texts, such as vectors, under the keys by which the encoder looks for them."""
    made_by = {"model": settings.model, "revision": settings.revision, "prefix": settings.query_prefix}
    return {query_key(**made_by, text=text): value for text, value in values.items()}


def check_query_vectors(
    vectors: NDArray[np.generic], queries: int, dimension: int, where: str = "--query-embeddings"
) -> None:
    """Refuse vectors that are not those of so many queries in a space of so many dimensions.

    Raises:
        SnapshotError: `snapshot.count-mismatch`, `snapshot.dimension-mismatch` or `snapshot.not-finite`.
    """
    if len(vectors) != queries:
        message = (
            f"{len(vectors):,} query vectors stand beside {queries:,} queries; row i must belong to query i."
        )
        raise SnapshotError("snapshot.count-mismatch", message, where=where)
    if vectors.shape[1] != dimension:
        message = f"query vectors have dimension {vectors.shape[1]}, the chunks {dimension}."
        hint = "They come from two models: embed the queries with the model of the snapshot."
        raise SnapshotError("snapshot.dimension-mismatch", message, hint=hint, where=where)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        message = f"the query vector in row {bad[0]} holds NaN or infinity ({len(bad)} such rows)."
        raise SnapshotError("snapshot.not-finite", message, where=f"{where} row {bad[0]}")


def write_queries(target: Path | BinaryIO, vectors: Mapping[str, NDArray[np.float32]]) -> None:
    """Write key -> vector; the bytes depend on the contents alone, not on the order of the mapping."""
    keys = sorted(vectors)
    np.savez(
        target,
        keys=np.array(keys, dtype=f"S{_KEY_BYTES}"),
        vectors=np.array([vectors[key] for key in keys], dtype=np.float32),
    )


def read_queries(path: Path, dimension: int) -> dict[str, NDArray[np.float32]]:
    """Key -> vector of shape (dimension,).

    Raises:
        SnapshotError: `snapshot.lfs-pointer`, `snapshot.bad-queries`, `snapshot.object-array`, `snapshot.truncated`,
            `snapshot.dimension-mismatch`, `snapshot.count-mismatch` or `snapshot.not-finite`.
    """
    where = str(path)
    with path.open("rb") as stream:
        refuse_pointer(stream.read(lfs_pointer.MOST_BYTES), "the query vectors", where)
    try:
        with path.open("rb") as file, open_zip(file, LIMITS) as archive:
            keys, vectors = (array_in(archive.read(name), f"{where}/{name}") for name in (_KEYS, _VECTORS))
    except (ZipError, OSError) as error:
        message = f"this is not an archive of query vectors: {error}."
        hint = "Rebuild the snapshot with --queries."
        raise SnapshotError("snapshot.bad-queries", message, hint=hint, where=where) from error
    _check(keys, vectors, dimension, where)
    return dict(zip((key.decode("ascii", "replace") for key in keys.tolist()), vectors, strict=True))


def _check(keys: NDArray[np.generic], vectors: NDArray[np.generic], dimension: int, where: str) -> None:
    if keys.ndim != 1 or keys.dtype.kind != "S" or vectors.ndim != 2 or vectors.dtype != np.float32:
        message = "`keys` must be an array of byte strings and `vectors` a float32 matrix."
        raise SnapshotError("snapshot.bad-queries", message, where=where)
    check_query_vectors(vectors, len(keys), dimension, where)
