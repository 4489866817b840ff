"""Qdrant's points as its client scrolls them out, one vector or named ones; and the client's own folder, refused."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from corpus import Corpus, Row, case
from qdrant_client import QdrantClient, models


def write(corpus: Corpus, out: Path) -> list[Row]:
    """Exports under inner product, and one under cosine, where Qdrant keeps vectors normalised."""
    cases = []
    for name, distance in (("dot", models.Distance.DOT), ("cosine", models.Distance.COSINE)):
        for vector in ("", "text"):
            _export(corpus, out / (name + vector + ".jsonl"), distance, vector)
            location = "qdrant-export:{folder}/" + name + vector + ".jsonl?id=chunk_id"
            metric = "ip" if name == "dot" else name
            more = {"vectors": "normalised"} if name == "cosine" else {}
            cases.append(case(location + "&metric=" + metric, metric, **more))
    _fill(QdrantClient(path=str(out / "local")), corpus, models.Distance.DOT, "")
    cases.append(case("qdrant-export:{folder}/local", "ip", refused="snapshot.needs-export"))
    return cases


def _fill(client: Any, corpus: Corpus, distance: Any, name: str) -> None:
    size = models.VectorParams(size=8, distance=distance)
    client.recreate_collection("docs", vectors_config={name: size} if name else size)
    client.upsert("docs", [_point(row, name) for row in corpus.written])
    client.upsert("docs", [_point(corpus.update, name)])
    client.delete("docs", models.PointIdsList(points=[_number(corpus.gone)]))


def _export(corpus: Corpus, path: Path, distance: Any, name: str) -> None:
    client = QdrantClient(":memory:")
    _fill(client, corpus, distance, name)
    records, _ = client.scroll("docs", limit=100, with_payload=True, with_vectors=True)
    path.write_text("\n".join(record.json() for record in records) + "\n", encoding="utf-8")
    json.loads(path.read_text(encoding="utf-8").splitlines()[0])


def _point(row: Row, name: str) -> Any:
    vector = {name: row["vector"]} if name else row["vector"]
    payload = {"chunk_id": row["id"], "text": row["text"], **row["metadata"]}
    return models.PointStruct(id=_number(row), vector=vector, payload=payload)


def _number(row: Row) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, row["id"]))
