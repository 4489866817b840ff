"""Opens `.npy` files without trusting them, and measures the vectors in them block by block."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from msgspec import Struct

from rageval_action.core.model import lfs_pointer
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.problems import refuse_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rageval_action.core.model.snapshot import FloatMatrix

BLOCK_BYTES = 1 << 24
"""Vectors are read in blocks of about this size, so that checking a snapshot needs no memory to speak of."""

MAX_DIMENSION = 1 << 16

UNIT_TOLERANCE = 1e-3
"""A vector whose norm is this near to 1 counts as normalised."""


class Header(Struct, frozen=True, kw_only=True):
    """What the head of a `.npy` file declares; `offset` is where the numbers begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    offset: int

    @property
    def end(self) -> int:
        """Size in bytes of a file with this header and all of its numbers."""
        return self.offset + math.prod(self.shape) * self.dtype.itemsize


class Measured(Struct, frozen=True, kw_only=True):
    """Facts about vectors: norms of those that are not zero, rows that are zero, rows that are not finite."""

    smallest: float
    largest: float
    zero_rows: tuple[int, ...]
    bad_rows: tuple[int, ...]

    @property
    def is_unit(self) -> bool:
        """True when every vector that is not zero has norm 1 within `UNIT_TOLERANCE`."""
        return abs(self.smallest - 1) <= UNIT_TOLERANCE and abs(self.largest - 1) <= UNIT_TOLERANCE


def read_header(stream: BinaryIO, where: str) -> Header:
    """Read and judge the head of a `.npy` stream; no number is read and nothing is unpickled.

    Raises:
        SnapshotError: `snapshot.lfs-pointer`, `snapshot.truncated`, `snapshot.bad-array` or `snapshot.object-array`.
    """
    start = stream.read(lfs_pointer.MOST_BYTES)
    stream.seek(-len(start), 1)
    refuse_pointer(start, "the vectors", where)
    if not start:
        raise SnapshotError("snapshot.truncated", "the file is empty.", where=where)
    try:
        version = np.lib.format.read_magic(stream)
        if version > (3, 0):
            text = f"version {version[0]}.{version[1]} of the format is newer than those known (up to 3.0)."
            raise SnapshotError("snapshot.bad-array", text, where=where)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        else:
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    except (ValueError, EOFError, SyntaxError, OverflowError, TypeError) as error:
        raise SnapshotError("snapshot.bad-array", "this is not a readable .npy file.", where=where) from error
    if dtype.hasobject:
        raise SnapshotError(
            "snapshot.object-array",
            "the array holds Python objects, which could run code when loaded.",
            hint="Save a plain array: np.save(file, vectors.astype('float32')).",
            where=where,
        )
    if fortran:
        message = "the array is stored column by column (Fortran order)."
        hint = "Save it as np.save(file, np.ascontiguousarray(vectors))."
        raise SnapshotError("snapshot.bad-array", message, hint=hint, where=where)
    return Header(shape=shape, dtype=dtype, offset=stream.tell())


def array_in(data: bytes, where: str) -> NDArray[np.generic]:
    """The array of a whole `.npy` file in memory.

    Raises:
        SnapshotError: as `read_header`; `snapshot.truncated` when its size is not what its header declares.
    """
    header = read_header(io.BytesIO(data), where)
    if header.end != len(data):
        message = f"the array has {len(data):,} bytes; its header declares {header.end:,}."
        raise SnapshotError("snapshot.truncated", message, where=where)
    return np.frombuffer(data, dtype=header.dtype, offset=header.offset).reshape(header.shape)


def open_matrix(path: Path, where: str) -> NDArray[np.generic]:
    """Memory-map a two-dimensional `.npy` file whose size is exactly what its header declares.

    Raises:
        SnapshotError: as `read_header`; `snapshot.truncated` for a short file, `snapshot.bad-array` for bytes after
            the numbers and for an array that is not rows by dimension.
    """
    with path.open("rb") as stream:
        header = read_header(stream, where)
    size = path.stat().st_size
    if len(header.shape) != 2 or not 1 <= header.shape[1] <= MAX_DIMENSION:
        message = (
            f"the array has shape {header.shape}; vectors are rows by dimension (1 to {MAX_DIMENSION:,})."
        )
        raise SnapshotError("snapshot.bad-array", message, where=where)
    if size < header.end:
        rows = max(0, size - header.offset) // (header.shape[1] * header.dtype.itemsize)
        message = f"the file ends in row {rows}; its header declares {header.shape[0]:,} rows."
        raise SnapshotError("snapshot.truncated", message, hint="Copy it again or rebuild it.", where=where)
    if size > header.end:
        message = f"{size - header.end:,} bytes follow the {header.shape[0]:,} rows that the header declares."
        raise SnapshotError("snapshot.bad-array", message, hint="Rebuild the snapshot.", where=where)
    if not header.shape[0]:
        return np.empty(header.shape, dtype=header.dtype)
    mapped = np.memmap(path, dtype=header.dtype, mode="r", offset=header.offset, shape=header.shape)
    return mapped.view(np.ndarray)


def blocks(shards: Sequence[FloatMatrix], most_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, FloatMatrix]]:
    """First row (over all shards) and a view of at most `most_bytes`, in row order."""
    row = 0
    for shard in shards:
        step = max(1, most_bytes // (shard.shape[1] * 4))
        for start in range(0, len(shard), step):
            yield row + start, shard[start : start + step]
        row += len(shard)


def measure(shards: Sequence[FloatMatrix]) -> Measured:
    """Norms, zero rows and rows with NaN or infinity, in one pass.

    Squares are summed in float32, which is fast; a block in which that is not enough (an overflow, an underflow, a
    NaN) is looked at again in float64.
    """
    smallest, largest = math.inf, 0.0
    zero: list[int] = []
    bad: list[int] = []
    for first, stored in blocks(shards):
        squares = _squares(stored)
        low, high = float(squares.min()), float(squares.max())
        if not (math.isfinite(high) and low > np.finfo(np.float32).tiny):
            squares = _squares(stored.astype(np.float64))
            zero += (first + np.flatnonzero(squares == 0)).tolist()
            bad += (first + np.flatnonzero(~np.isfinite(stored).all(axis=1))).tolist()
            squares = squares[np.isfinite(squares) & (squares > 0)]
            if not len(squares):
                continue
            low, high = float(squares.min()), float(squares.max())
        smallest, largest = min(smallest, low), max(largest, high)
    return Measured(
        smallest=math.sqrt(smallest) if largest else 0.0,
        largest=math.sqrt(largest),
        zero_rows=tuple(zero),
        bad_rows=tuple(bad),
    )


def _squares(block: NDArray[np.floating]) -> NDArray[np.floating]:
    """Squared norm of each row."""
    if block.dtype == np.float16:
        block = block.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        summed: NDArray[np.floating] = np.einsum("ij,ij->i", block, block)
    return summed
