"""A matrix file beside a JSON lines file, row i to line i: `vectors:emb.npy?chunks=chunks.jsonl`.

Ours because numpy unpacks whatever size an .npz claims, and safetensors copies a tensor instead of mapping it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.arrays import array_in, open_matrix
from rageval_action.snapshots.given_chunks import read_given_chunks
from rageval_action.snapshots.importers.location import StoreLocation
from rageval_action.snapshots.importers.table import Table, row_of
from rageval_action.zip_reader import ZipError, ZipLimits, open_zip

LIMITS = ZipLimits(member=64 << 30, free=200)
MAX_HEADER = 100 << 20
KINDS: dict[str, np.dtype[np.floating]] = {
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
"""Types of safetensors that are vectors; bfloat16 is no numpy type and is refused by name."""


def read(location: StoreLocation) -> Table:
    """Chunks by line, vectors by row.

    Raises:
        SnapshotError: `snapshot.bad-array`, `.object-array`, `.truncated`, `.too-large`, `.which-array`, and what
            `given_chunks.read_given_chunks` refuses.
    """
    path = location.file()
    given = read_given_chunks(location.chunks_file())
    readers = {".npz": _npz, ".safetensors": _safetensors}
    reader = readers.get(path.suffix)
    found = reader(path, location.get("array")) if reader else open_matrix(path, str(path))
    if found.dtype.kind != "f" or found.ndim != 2:
        text = f"the array is {found.dtype} of shape {found.shape}, not a matrix of floats."
        raise SnapshotError("snapshot.bad-array", text, where=location.where)
    rows = [row_of(chunk) for chunk in given.chunks]
    return Table(rows=rows, vectors=cast("NDArray[np.floating]", found), notices=given.notices)


def _npz(path: Path, wanted: str) -> NDArray[np.generic]:
    """One array of an archive, read in memory by its own declared and allowed size."""
    where = str(path)
    try:
        with path.open("rb") as file, open_zip(file, LIMITS) as archive:
            names = [name.removesuffix(".npy") for name in archive.names if name.endswith(".npy")]
            chosen = _choose(names, wanted, where)
            data = archive.read(f"{chosen}.npy")
    except ZipError as error:
        code = "snapshot.too-large" if error.kind == "too-large" else "snapshot.bad-array"
        raise SnapshotError(code, f"the .npz archive cannot be read: {error}.", where=where) from error
    return array_in(data, f"{where}:{chosen}")


def _safetensors(path: Path, wanted: str) -> NDArray[np.generic]:
    """One tensor: eight bytes of header length, a JSON header, then the numbers (the format's own description)."""
    where, size = str(path), path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(MAX_HEADER, size - 8):
            text = f"the header declares {length} bytes, the file has {size}."
            raise SnapshotError("snapshot.truncated", text, where=where)
        try:
            header = msgspec.json.decode(stream.read(length), type=dict[str, dict[str, object]])
        except msgspec.DecodeError as error:
            raise SnapshotError("snapshot.bad-array", "the header is not JSON.", where=where) from error
    header.pop("__metadata__", None)
    chosen = _choose(list(header), wanted, where)
    kind, shape, start, end = _tensor(header[chosen], where)
    if 8 + length + end > size or end - start != math.prod(shape) * kind.itemsize:
        text = f'the tensor "{chosen}" of shape {shape} does not lie inside the file.'
        raise SnapshotError("snapshot.truncated", text, where=where)
    return np.memmap(path, dtype=kind, mode="r", offset=8 + length + start, shape=shape)


def _tensor(entry: dict[str, object], where: str) -> tuple[np.dtype[np.floating], tuple[int, int], int, int]:
    kind = str(entry.get("dtype"))
    if kind not in KINDS:
        text = f"tensors of type {kind} are not read; F16, F32 and F64 are."
        raise SnapshotError("snapshot.bad-array", text, where=where)
    try:
        shape = msgspec.convert(entry.get("shape"), tuple[int, int])
        start, end = msgspec.convert(entry.get("data_offsets"), tuple[int, int])
    except msgspec.ValidationError as error:
        raise SnapshotError("snapshot.bad-array", "the tensor is not a matrix.", where=where) from error
    if min(*shape, start, end) < 0:
        raise SnapshotError("snapshot.bad-array", "the header holds negative sizes.", where=where)
    return KINDS[kind], shape, start, end


def _choose(names: list[str], wanted: str, where: str) -> str:
    """The array that was named, or the only one."""
    if not wanted and len(names) == 1:
        return names[0]
    if wanted not in names:
        text = f"it holds the arrays {', '.join(sorted(names)[:20]) or '(none)'}."
        raise SnapshotError("snapshot.which-array", text, hint="Name one with ?array=", where=where)
    return wanted
