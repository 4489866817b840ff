from __future__ import annotations

import re

import numpy as np
import pytest

from rageval_action.core.model.types import Chunk, Query
from rageval_action.errors import ConfigError
from rageval_action.retrievers.hybrid import HybridRetriever, reciprocal_rank, weighted_sum
from tests.small_project import ROOT
from tests.unit.retrievers.text_corpora import context, corpus, means, snapshot, texts

PAGE, MATRIX = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("retrievers.md", "matrix.md"))


def test_reciprocal_ranks_are_added() -> None:
    lists = [[("a", 9.0), ("b", 8.0)], [("b", 0.4), ("c", 0.3)]]
    assert reciprocal_rank(lists, [1.0, 2.0], 60) == pytest.approx(
        {"a": 1 / 61, "b": 1 / 62 + 2 / 61, "c": 2 / 62}
    )


def test_equal_scores_share_their_rank() -> None:
    assert reciprocal_rank([[("a", 5.0), ("b", 4.0), ("c", 4.0), ("d", 1.0)]], [1.0], 60) == pytest.approx(
        {"a": 1 / 61, "b": 1 / 62, "c": 1 / 62, "d": 1 / 64}
    )


def test_scores_are_normalised_within_their_list_before_they_are_added() -> None:
    lists = [[("a", 10.0), ("b", 6.0), ("c", 2.0)], [("b", 0.9), ("d", 0.1)]]
    assert weighted_sum(lists, [0.5, 0.5], "minmax") == pytest.approx(
        {"a": 0.5, "b": 0.75, "c": 0.0, "d": 0.0}
    )
    assert weighted_sum(lists, [1.0, 10.0], "none") == pytest.approx(
        {"a": 10.0, "b": 15.0, "c": 2.0, "d": 1.0}
    )
    deviation = (32 / 3) ** 0.5
    assert weighted_sum(lists, [1.0, 1.0], "zscore") == pytest.approx(
        {"a": 4 / deviation - 1, "b": 1.0, "c": -4 / deviation - 1, "d": -4 / deviation - 1}
    )


def test_equal_scores_are_neither_divided_by_nothing_nor_lost() -> None:
    assert weighted_sum([[("a", 3.0), ("b", 3.0)], []], [1.0, 1.0], "minmax") == {"a": 1.0, "b": 1.0}
    assert weighted_sum([[("a", 3.0), ("b", 3.0)]], [1.0], "zscore") == {"a": 0.0, "b": 0.0}


def test_parts_are_fused_with_their_own_options_scores_and_times(exact: str) -> None:
    vectors = np.eye(3, dtype=np.float32)
    made = snapshot(texts("alpha", "beta", "gamma"), vectors)
    hybrid = HybridRetriever(
        context(
            made, encode=lambda asked: np.array([[0.9, 0.1, 0.5]] * len(asked), dtype=np.float32),
            of="exact,lex=bm25", lex__k1=1.2, k=10,
        )
    )  # fmt: skip
    run = hybrid.retrieve([Query(id="q", text="gamma")], 3)
    hits = run.rankings[0].hits
    assert [(hit.id, hit.rank) for hit in hits] == [("c3", 1), ("c1", 2), ("c2", 3)]
    assert (hits[1].stages or {}).keys() == {"exact"}, "c1 shares no word with the query"
    assert hits[0].score == pytest.approx(1 / 12 + 1 / 11)
    assert hits[0].stages == {
        "exact": pytest.approx(0.5),
        "lex": pytest.approx((hits[0].stages or {})["lex"]),
    }
    assert run.parameters["lex.k1"] == 1.2
    assert run.parameters["lex.retriever"] == "bm25"
    assert run.parameters["k"] == 10
    assert run.rankings[0].latency_ms["embed"] == 1.0
    assert run.rankings[0].latency_ms["retrieve"] > 2.0


def test_a_query_that_one_part_fails_is_failed_and_names_the_part(exact: str) -> None:
    made = snapshot(texts("alpha", "beta"), np.eye(2, dtype=np.float32))
    hybrid = HybridRetriever(
        context(
            made, encode=lambda asked: np.ones((len(asked), 2), dtype=np.float32),
            of="exact,bm25", exact__broken="q1",
        )
    )  # fmt: skip
    run = hybrid.retrieve([Query(id="q1", text="alpha"), Query(id="q2", text="alpha")], 2)
    assert run.rankings[0].error == "exact: no answer"
    assert run.rankings[0].hits == ()
    assert [hit.id for hit in run.rankings[1].hits] == ["c1", "c2"]


def test_depth_counts_documents() -> None:
    chunks = [Chunk(id=f"c{at}", doc=f"d{at // 3}", text="same words") for at in range(12)]
    run = HybridRetriever(context(snapshot(chunks), of="bm25")).retrieve([Query(id="q", text="same")], 2)
    assert len({hit.doc for hit in run.rankings[0].hits}) == 2


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"of": "bm25,bm25"}, "of"),
        ({"of": ","}, "of"),
        ({"of": "bm25,b=bm25", "weights": "1"}, "weights"),
        ({"of": "bm25", "weights": "0"}, "weights"),
        ({"of": "bm25", "weights": "x"}, "weights"),
        ({"of": "bm25", "k": 0}, "k"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str | int], option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HybridRetriever(context(snapshot(texts("alpha")), **options))
    assert caught.value.where == f"retriever hybrid, option {option}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("anthropic_docs", "anthropic_docs (100 questions)"),
        ("anthropic_codebases", "anthropic_codebases (248)"),
        ("cranfield", "cranfield (225)"),
    ],
)
def test_fusion_beats_both_parts_on_real_corpora_as_documented(name: str, title: str, exact: str) -> None:
    made, queries, vectors = corpus(name)
    by_text = {query.text: vector for query, vector in zip(queries, vectors, strict=True)}
    built = context(
        made, encode=lambda asked: np.array([by_text[text] for text in asked]), of="exact,bm25"
    )  # fmt: skip
    fused = means(HybridRetriever(built).retrieve(queries, 100), queries)
    dense, lexical = (
        means(HybridRetriever(context(made, encode=built.encode, of=part)).retrieve(queries, 100), queries)
        for part in (exact, "bm25")
    )
    for measure in ("ndcg@10", "recall@5"):
        assert fused[measure] > max(dense[measure], lexical[measure])
    recall = [part["recall@5"] for part in (dense, lexical, fused)]
    assert f"({len(queries)}" in title
    assert "| {} | {:.3f} | {:.3f} | **{:.3f}** |".format(title, *recall) in PAGE


def test_the_chinese_figures_are_those_of_the_matrix() -> None:
    """tests/integration/test_matrix_docs.py holds that page to what is measured."""
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) \[", MATRIX.split("## drcd_zh_tw")[1], re.MULTILINE)
    recall = dict(rows)
    words = " ".join(PAGE.split())
    assert "drcd_zh_tw (3,492) | {vector} | **{lexical}** | {hybrid} |".format(**recall) in words
    assert (
        f"is {float(recall['lexical, one word a run']):.2f} instead of {float(recall['lexical']):.2f},"
        in words
    )
    assert float(recall["hybrid, weighted"]) - float(recall["lexical"]) < 0.005
