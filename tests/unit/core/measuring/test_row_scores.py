"""k counts documents, or chunks."""

from __future__ import annotations

import numpy as np
import pytest

from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.measuring.row_scores import ChunksPerQuery, Judged, chunks_per_query, row_scores
from rageval_action.core.model.types import Grades, Unanswerable
from tests.synthetic_runs import chunks, row

CORPUS = chunks({"a": ["a1", "a2", "a3"], "b": ["b1", "b2"], "c": ["c1"], "d": ["d1"]})
RANKED = ["a#0", "a#1", "a#2", "b#0", "b#1", "c#0", "d#0"]
MEASURES = parse_measures(["recall@1,2,4,6", "hit@3", "mrr", "ndcg@4"])


def scores(relevant: dict[str, int], cutoff: str) -> dict[str, float]:
    one = row("q", RANKED, relevant, CORPUS)
    found = row_scores([Judged(one, one.judgments, "document")], MEASURES, 100, cutoff)  # type: ignore[arg-type]
    return {str(measure): float(values[0]) for measure, values in found.items()}


def test_five_chunks_hold_fewer_documents_than_five() -> None:
    by_documents, by_chunks = scores({"c": 1}, "documents"), scores({"c": 1}, "chunks")
    assert by_documents["recall@4"] == by_documents["hit@3"] == 1.0
    assert by_chunks["recall@4"] == by_chunks["hit@3"] == 0.0
    assert by_chunks["recall@6"] == 1.0


def test_only_the_cut_moves_and_no_rank() -> None:
    by_documents, by_chunks = scores({"b": 1}, "documents"), scores({"b": 1}, "chunks")
    assert by_documents["mrr"] == by_chunks["mrr"] == 0.5
    assert by_documents["ndcg@4"] == by_chunks["ndcg@4"]


def test_judged_chunks_are_cut_alike_either_way() -> None:
    one = row("q", RANKED, {"b#0": 1}, CORPUS)
    judged = [Judged(one, one.judgments, "chunk")]
    for measure, values in row_scores(judged, MEASURES, 100, "chunks").items():
        assert values.tolist() == row_scores(judged, MEASURES, 100)[measure].tolist()


def test_the_depth_counts_and_what_nothing_answers_has_no_score() -> None:
    one = row("q", RANKED, {"c": 1}, CORPUS)
    judged = [Judged(one, Grades({"c": 1}), "document"), Judged(one, Unanswerable(), "document")]
    found = row_scores(judged, parse_measures(["recall@4"]), 2)
    (values,) = found.values()
    assert values[0] == 0.0
    assert np.isnan(values[1])


@pytest.mark.parametrize(("k", "mean", "most"), [(1, 1.0, 1), (2, 4.0, 4), (3, 6.0, 6), (9, 7.0, 7)])
def test_how_many_chunks_k_documents_took(k: int, mean: float, most: int) -> None:
    rows = [row("q", RANKED, ["a"], CORPUS), row("empty", [], ["a"], CORPUS)]
    assert chunks_per_query(rows, k) == ChunksPerQuery(mean=mean, max=most)


def test_without_results_there_is_nothing_to_count() -> None:
    assert chunks_per_query([row("empty", [], ["a"], CORPUS)], 5) == ChunksPerQuery(mean=0.0, max=0)
