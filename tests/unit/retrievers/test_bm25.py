from __future__ import annotations

import logging
import math

import pytest

from rageval_action.core.model.types import ChunkAcl, Query, QueryAcl
from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.retrievers.bm25 import Bm25Retriever
from tests.unit.retrievers.text_corpora import context, corpus, means, reference, snapshot, texts

LIBRARY_DEFAULTS = {"tokens": "words"}
CHINESE = {"tokens": "bigrams", "stopwords": "none"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("anthropic_docs", LIBRARY_DEFAULTS),
        ("anthropic_codebases", LIBRARY_DEFAULTS),
        ("cranfield", LIBRARY_DEFAULTS),
        ("drcd_zh_tw", CHINESE),
    ],
)
def test_reference_values_on_the_shared_corpora(name: str, options: dict[str, str]) -> None:
    made, queries, _ = corpus(name)
    run = Bm25Retriever(context(made, **options)).retrieve(queries, len(made.chunks))
    got, expected = means(run, queries), reference(name, "bm25s")
    assert {measure: value for measure, value in got.items() if abs(value - expected[measure]) > 1e-6} == {}


def test_scores_are_those_of_the_formula() -> None:
    made = snapshot(texts("rotate key", "rotate rotate certificate key", "open window"))
    run = Bm25Retriever(context(made)).retrieve([Query(id="q", text="rotate")], 3)
    length, mean = 4, (2 + 4 + 2) / 3
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = idf * 2 / (2 + 1.5 * (1 - 0.75 + 0.75 * length / mean))
    best = run.rankings[0].hits[0]
    assert best.id == "c2"
    assert best.score == pytest.approx(expected, rel=1e-6)


def test_chunks_without_a_match_follow_by_id_or_stay_out() -> None:
    made = snapshot(texts("alpha", "beta", "gamma"))
    all_of_them = Bm25Retriever(context(made)).retrieve([Query(id="q", text="beta zeta")], 3)
    assert [hit.id for hit in all_of_them.rankings[0].hits] == ["c2", "c3", "c1"]
    matches = Bm25Retriever(context(made, matches_only=True)).retrieve([Query(id="q", text="beta")], 3)
    assert [hit.id for hit in matches.rankings[0].hits] == ["c2"]
    nothing = Bm25Retriever(context(made, matches_only=True)).retrieve([Query(id="q", text="?!")], 3)
    assert nothing.rankings[0].hits == ()
    assert not nothing.rankings[0].error


def test_only_what_the_query_may_see_is_searched() -> None:
    made = snapshot(texts("secret plan", "open plan", acls={1: ChunkAcl(principals=("ana",))}))
    asked = [Query(id="q", text="secret plan", acl=QueryAcl(principal="eve"))]
    enforced = Bm25Retriever(context(made)).retrieve(asked, 2)
    assert [hit.id for hit in enforced.rankings[0].hits] == ["c2"]
    audited = Bm25Retriever(context(made, access="audit")).retrieve(asked, 2)
    assert [hit.id for hit in audited.rankings[0].hits] == ["c1", "c2"]


def test_row_order_changes_nothing() -> None:
    lines = texts("alpha beta", "beta alpha", "alpha", "gamma", "beta beta alpha")
    queries = [Query(id="q", text="alpha beta gamma")]
    once = Bm25Retriever(context(snapshot(lines))).retrieve(queries, 5).rankings[0].hits
    again = Bm25Retriever(context(snapshot(lines[::-1]))).retrieve(queries, 5).rankings[0].hits
    assert once == again


def test_what_was_in_force_is_recorded_and_stages_are_timed() -> None:
    run = Bm25Retriever(context(snapshot(texts("alpha")), k1=1.2)).retrieve([Query(id="q", text="alpha")], 1)
    assert run.parameters["k1"] == 1.2
    assert run.parameters["stemmer"] == "none"
    assert set(run.rankings[0].latency_ms) == {"retrieve", "total"}
    assert run.warm_up == 1


def test_a_corpus_without_words_is_refused() -> None:
    with pytest.raises(SnapshotError, match="nothing to search by words"):
        Bm25Retriever(context(snapshot(texts("", "!"))))


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ConfigError, match='no option "k2"'):
        Bm25Retriever(context(snapshot(texts("a b c")), k2=1.0))


def test_the_library_does_not_turn_on_debug_logging() -> None:
    Bm25Retriever(context(snapshot(texts("alpha"))))
    assert logging.getLogger("bm25s").level != logging.DEBUG
