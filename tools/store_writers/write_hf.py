"""Datasets that were changed and saved: lists of floats, a fixed width, rows chosen through an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
from corpus import Corpus, Row, case


def write(corpus: Corpus, out: Path) -> list[Row]:
    """The updated row is mapped, and all but the deleted one are chosen in another order: indices over old rows."""
    cases = []
    for name, feature in (
        ("list", datasets.Sequence(datasets.Value("float32"))),
        ("double", datasets.Sequence(datasets.Value("float64"))),
        ("fixed", datasets.Sequence(datasets.Value("float32"), length=8)),
    ):
        made = _dataset(corpus, feature).map(lambda row: _changed(row, corpus))
        made = made.select([8, 7, 6, 4, 3, 2, 1, 0])
        made.save_to_disk(str(out / name))
        cases.append(case("hf:{folder}/" + name, "cosine"))
    return cases


def _dataset(corpus: Corpus, feature: Any) -> Any:
    rows = [
        {"id": row["id"], "text": row["text"], "vector": row["vector"], **row["metadata"]}
        for row in corpus.written
    ]
    kinds = {
        "id": "string",
        "text": "string",
        "source": "string",
        "lang": "string",
        "page": "int64",
        "weight": "float64",
    }
    features = {name: datasets.Value(kind) for name, kind in kinds.items()}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return datasets.Dataset.from_dict(columns, features=datasets.Features({**features, "vector": feature}))


def _changed(row: Row, corpus: Corpus) -> Row:
    update = corpus.update
    if row["id"] != update["id"]:
        return row
    return {**row, "text": update["text"], "vector": update["vector"], **update["metadata"]}
