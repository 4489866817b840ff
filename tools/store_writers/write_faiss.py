"""FAISS indexes: flat, with ids, graphs, inverted lists, and two that keep approximations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from corpus import Corpus, Row, case


def write(corpus: Corpus, out: Path) -> list[Row]:
    """One file an index; the deleted row is really removed where the kind of index can do that."""
    cases = []
    _chunks(out / "chunks.jsonl", corpus.rows, [row["id"] for row in corpus.rows])
    for name, index, metric in (
        ("flat-ip", faiss.IndexFlatIP(8), "ip"),
        ("flat-l2", faiss.IndexFlatL2(8), "l2"),
        ("hnsw", faiss.IndexHNSWFlat(8, 4), "l2"),
        ("sq8", faiss.index_factory(8, "SQ8"), "l2"),
        ("pq", faiss.index_factory(8, "PQ4x4"), "l2"),
    ):
        cases.append(_by_line(name, index, metric, corpus, out))
    numbers = [70, 3, 900000000000, 11, 5, 42, 8, 1]
    _chunks(out / "numbered.jsonl", corpus.rows, [str(number) for number in numbers])
    for name, index, metric in (
        ("idmap", faiss.IndexIDMap(faiss.IndexFlatIP(8)), "ip"),
        ("idmap2", faiss.IndexIDMap2(faiss.IndexFlatL2(8)), "l2"),
        ("ivf", faiss.index_factory(8, "IVF2,Flat"), "l2"),
    ):
        cases.append(_by_number(name, index, metric, numbers, corpus, out))
    return cases


def _matrix(rows: list[Any]) -> Any:
    return np.array([row["vector"] if isinstance(row, dict) else row for row in rows], dtype=np.float32)


def _by_line(name: str, index: Any, metric: str, corpus: Corpus, out: Path) -> Row:
    if name in ("sq8", "pq"):
        index.train(_matrix(corpus.many))
    if name.startswith("flat"):
        first = [*corpus.rows[:5], corpus.gone, *corpus.rows[5:]]
        index.add(_matrix(first))
        index.remove_ids(np.array([5], dtype=np.int64))
    else:
        index.add(_matrix(corpus.rows))
    faiss.write_index(index, str(out / (name + ".faiss")))
    made = case("faiss:{folder}/" + name + ".faiss?chunks={folder}/chunks.jsonl", metric)
    if name in ("sq8", "pq"):
        kept = np.stack([index.reconstruct(at) for at in range(len(corpus.rows))])
        made.update(vectors=kept.astype(float).tolist(), lossy=type(faiss.downcast_index(index)).__name__)
        made["precision"] = 2.0**-22  # versions decode in another order of operations
    return made


def _by_number(name: str, index: Any, metric: str, numbers: list[int], corpus: Corpus, out: Path) -> Row:
    if name == "ivf":
        index.train(_matrix(corpus.many))
    index.add_with_ids(_matrix([*corpus.written]), np.array([*numbers[:5], 77, *numbers[5:]], dtype=np.int64))
    index.remove_ids(np.array([77, numbers[2]], dtype=np.int64))
    index.add_with_ids(_matrix([corpus.update]), np.array([numbers[2]], dtype=np.int64))
    faiss.write_index(index, str(out / (name + ".faiss")))
    location = "faiss:{folder}/" + name + ".faiss?chunks={folder}/numbered.jsonl"
    return case(location, metric, names=[str(number) for number in numbers])


def _chunks(path: Path, rows: list[Row], names: list[str]) -> None:
    lines = [
        json.dumps({"id": name, "doc": row["doc"], "text": row["text"], "metadata": row["metadata"]})
        for name, row in zip(names, rows)  # noqa: B905 - Python 3.7
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
