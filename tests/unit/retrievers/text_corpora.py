"""Small corpora for the retrievers' tests, and the shared ones with their reference values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytrec_eval
from numpy.typing import NDArray

from rageval_action.core.model.snapshot import Manifest, Metric, Snapshot
from rageval_action.core.model.types import Chunk, ChunkAcl, Query, Run
from rageval_action.retrievers.interface import Access, OptionValue, RetrieverContext
from tests.real_corpora import shared


def snapshot(
    chunks: Sequence[Chunk],
    vectors: NDArray[np.float32] | None = None,
    metric: Metric = "cosine",
    *,
    model: str = "",
) -> Snapshot:
    """A snapshot in memory."""
    shards = () if vectors is None else (vectors,)
    dimension = 0 if vectors is None else vectors.shape[1]
    return Snapshot(
        path="snapshot",
        manifest=Manifest(
            chunks=len(chunks),
            documents=len({chunk.doc for chunk in chunks}),
            dimension=dimension,
            dtype="float32" if dimension else "",
            metric=metric,
            normalised=bool(dimension),
            model=model,
        ),
        chunks=tuple(chunks),
        shards=shards,
    )


def no_encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Stands where no vectors are needed."""
    raise AssertionError(f"asked to encode {list(texts)}")


def context(
    made: Snapshot, *, access: Access = "enforce", encode: object = no_encode, **options: OptionValue
) -> RetrieverContext:
    """A context; option names are given with `__` for a dot."""
    named = {name.replace("__", "."): value for name, value in options.items()}
    return RetrieverContext(snapshot=made, encode=encode, options=named, access=access)  # type: ignore[arg-type]


def texts(*lines: str, acls: dict[int, ChunkAcl] | None = None) -> tuple[Chunk, ...]:
    """One chunk a line, each its own document: c1, c2, …"""
    return tuple(
        Chunk(id=f"c{at}", doc=f"d{at}", text=line, acl=(acls or {}).get(at))
        for at, line in enumerate(lines, 1)
    )


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def corpus(name: str) -> tuple[Snapshot, list[Query], NDArray[np.float32]]:
    """A shared corpus with its MiniLM vectors, its queries with grades, and the queries' vectors."""
    folder = shared(name)
    chunks = [Chunk(id=row["id"], doc=row["id"], text=row["text"]) for row in _lines(folder / "corpus.jsonl")]
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, _, doc, grade = line.split("\t")
        grades.setdefault(query, {})[doc] = int(grade)
    queries = [
        Query(id=row["id"], text=row["query"], relevant=grades.get(row["id"], {}))
        for row in _lines(folder / "queries.jsonl")
    ]
    vectors = np.load(folder / "embeddings_corpus.npy").astype(np.float32)
    asked = np.load(folder / "embeddings_queries.npy").astype(np.float32)
    return snapshot(chunks, vectors), queries, asked


def reference(name: str, system: str) -> dict[str, float]:
    """The reference values under trec_eval's tie rule, to six digits."""
    table = json.loads(shared("reference.json").read_text(encoding="utf-8"))
    values: dict[str, float] = table["results"][name][system]["pytrec_eval_on_raw_scores_mean"]
    return values


def means(run: Run, queries: list[Query]) -> dict[str, float]:
    """trec_eval's means over the ranks that the run gives (scores replaced by ranks, so that our order counts)."""
    wanted = {"map", "recip_rank", "ndcg_cut.10", "recall.1,3,5,10,20"}
    judged = pytrec_eval.RelevanceEvaluator({query.id: query.relevant for query in queries}, wanted)
    values = judged.evaluate(
        {ranking.query_id: {hit.id: -float(hit.rank) for hit in ranking.hits} for ranking in run.rankings}
    )
    names = {"map": "map", "recip_rank": "mrr", "ndcg_cut_10": "ndcg@10"}
    names |= {f"recall_{k}": f"recall@{k}" for k in (1, 3, 5, 10, 20)}
    return {ours: sum(row[name] for row in values.values()) / len(values) for name, ours in names.items()}
