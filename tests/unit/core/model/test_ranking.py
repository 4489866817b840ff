"""The one rule of order: score descending, then id descending by bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_action.core.model.ranking import order, unit_scores
from rageval_action.core.model.types import Hit


def hits(*rows: tuple[str, str, float]) -> list[Hit]:
    return [Hit(id=name, doc=doc, rank=at, score=score) for at, (name, doc, score) in enumerate(rows, 1)]


def test_scores_fall_and_ties_go_by_id_descending() -> None:
    assert order(["a", "c", "b", "d"], [1.0, 2.0, 2.0, 0.5]) == [1, 2, 0, 3]


def test_equal_pairs_keep_their_order() -> None:
    assert order(["a", "b", "a"], [1.0, 1.0, 1.0]) == [1, 0, 2]


def test_nothing_is_ordered_to_nothing() -> None:
    assert order([], []) == []


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=3), st.integers(0, 2))))
def test_ids_compare_by_their_utf8_bytes(rows: list[tuple[str, int]]) -> None:
    got = order([name for name, _ in rows], [float(score) for _, score in rows])
    want = sorted(rows, key=lambda row: (row[1], row[0].encode()), reverse=True)
    assert [rows[at] for at in got] == want


def test_chunks_are_judged_by_their_own_ids_each_once() -> None:
    found = hits(("c1", "d1", 0.5), ("c2", "d1", 0.9), ("c1", "d1", 0.1), ("c3", "d2", 0.5))
    assert unit_scores(found, "chunk")[0] == ["c2", "c3", "c1"]
    assert unit_scores(found, "evidence")[0] == ["c2", "c3", "c1"]


def test_a_document_ranks_where_its_best_chunk_does() -> None:
    found = hits(("c1", "low", 0.9), ("c2", "top", 0.95), ("c3", "low", 0.1), ("c4", "mid", 0.5))
    assert unit_scores(found, "document")[0] == ["top", "low", "mid"]


def test_ties_between_documents_go_by_document_id_not_by_chunk_id() -> None:
    # By chunk id z comes first; by document id b does.
    found = hits(("z", "a", 0.5), ("y", "b", 0.5))
    assert unit_scores(found, "chunk")[0] == ["z", "y"]
    assert unit_scores(found, "document")[0] == ["b", "a"]


def test_a_unit_scores_what_its_best_chunk_does() -> None:
    found = hits(("c1", "low", 0.2), ("c2", "top", 0.95), ("c3", "low", 0.9), ("c4", "low", 0.9))
    assert unit_scores(found, "document") == (["top", "low"], [0.95, 0.9])
    assert unit_scores(found, "chunk") == (["c2", "c4", "c3", "c1"], [0.95, 0.9, 0.9, 0.2])
    assert unit_scores([], "chunk") == ([], [])
