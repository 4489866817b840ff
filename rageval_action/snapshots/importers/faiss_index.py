"""Reads a FAISS index inside the child process: its vectors, its ids, and what it did to them.

Read by faiss, which reads every version since 1.5.3; it asserts on damaged files, hence the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.importers.reader_process import Sink

EXACT = {
    "IndexFlat",
    "IndexFlatIP",
    "IndexFlatL2",
    "IndexHNSWFlat",
    "IndexNSGFlat",
    "IndexIVFFlat",
    "IndexIVFFlatDedup",
}
"""Indexes that keep the vectors as they came; every other one keeps an approximation."""

METRICS = {0: "ip", 1: "l2"}
STEP = 65536


def read(path: Path, options: dict[str, str], sink: Sink) -> None:
    """Write every vector; the row's id is the number that the index knows it by."""
    del options
    import faiss

    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic[:3] == b"IBx" or magic[:3] == b"IBF":
        raise SnapshotError("snapshot.binary-index", "this index holds binary codes, not vectors.")
    if magic[:1] != b"I":
        raise SnapshotError("snapshot.not-faiss", "this is not a FAISS index.")
    owner = faiss.read_index(str(path))  # the parts below live only as long as the whole
    index: Any = faiss.downcast_index(owner)
    if index.metric_type not in METRICS:
        raise SnapshotError("snapshot.bad-metric", f"FAISS metric {index.metric_type} is not one of ours.")
    ids, index, changes = _unwrap(faiss, index)
    if type(index).__name__ not in EXACT:
        changes.append(type(index).__name__)
    sink.metric, sink.lossy = METRICS[index.metric_type], " over ".join(changes)
    keys = _keys(faiss, index)
    ids = ids if ids is not None else keys
    for start in range(0, len(ids), STEP):
        block = keys[start : start + STEP]
        for name in ids[start : start + STEP]:
            sink.row(str(int(name)))
        sink.vectors(_vectors(index, block))


def _unwrap(faiss: Any, index: Any) -> tuple[NDArray[np.int64] | None, Any, list[str]]:
    """The innermost index, the ids of the outermost map, and what changes vectors on the way."""
    ids: NDArray[np.int64] | None = None
    changes: list[str] = []
    while True:
        kind = type(index).__name__
        if kind in {"IndexIDMap", "IndexIDMap2"}:
            ids = faiss.vector_to_array(index.id_map) if ids is None else ids
            index = faiss.downcast_index(index.index)
        elif kind == "IndexPreTransform":
            changes += [
                type(faiss.downcast_VectorTransform(index.chain.at(at))).__name__
                for at in range(index.chain.size())
            ]
            index = faiss.downcast_index(index.index)
        elif kind.startswith("IndexRefine"):
            index = faiss.downcast_index(index.refine_index)
        else:
            return ids, index, changes


def _keys(faiss: Any, index: Any) -> NDArray[np.int64]:
    """What `reconstruct` takes for each vector; inverted lists know their vectors by the ids they were added with."""
    if not type(index).__name__.startswith("IndexIVF"):
        return np.arange(index.ntotal, dtype=np.int64)
    lists = index.invlists
    parts = [
        faiss.rev_swig_ptr(lists.get_ids(number), lists.list_size(number)).copy()
        for number in range(index.nlist)
        if lists.list_size(number)
    ]
    index.set_direct_map_type(faiss.DirectMap.Hashtable)
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)


def _vectors(index: Any, keys: NDArray[np.int64]) -> NDArray[np.float32]:
    made = np.empty((len(keys), index.d), dtype=np.float32)
    for at, key in enumerate(keys.tolist()):
        made[at] = index.reconstruct(key)
    return made
