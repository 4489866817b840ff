"""One answer laid out, and the same query on both sides."""

from __future__ import annotations

from msgspec.structs import replace

from rageval_action.core.comparing.query_pairs import query_pairs
from rageval_action.core.labels.judged_items import Item
from rageval_action.core.measuring.query_layout import QueryPair, lay_out, side_of
from rageval_action.core.model.hashing import text_hash
from tests.synthetic_runs import FILLERS, chunks, plain_chunks, ranked, row, run

CORPUS = chunks({"a": ["one", "two"], "b": "three"})


def test_a_document_has_its_score_from_its_best_chunk() -> None:
    made = row("q", ["a#1", "b#0", "a#0"], ["a"], CORPUS)
    found = lay_out(made, side_of(run([made], CORPUS)), 5)
    assert found.ranked == ["a", "b"]
    assert found.passages == {"a": text_hash("two"), "b": text_hash("three")}
    assert (found.relevant, found.denied, found.first) == ({"a"}, set(), 1)


def test_what_may_not_be_seen_is_named_by_its_unit() -> None:
    made = row("q", ["a#1", "b#0"], ["b"], CORPUS)
    hidden = made.revised(results=(replace(made.results[0], acl_allowed=False), made.results[1]))
    assert lay_out(hidden, side_of(run([made], CORPUS)), 5).denied == {"a"}


def test_ranks_and_texts_of_both_sides() -> None:
    (pair,) = query_pairs(ranked([4]), ranked([2]))
    assert pair.ranks == {"r0": (2, 4)}
    assert pair.places_before["r0"] == 2
    assert pair.texts_before(Item("r0", ("r0",))) == {text_hash("text of r0")}


def test_a_label_that_the_baseline_kept_out_is_looked_up_in_its_ranking() -> None:
    small, large = plain_chunks(FILLERS), plain_chunks([*FILLERS, "new"])
    before = run([row("q", FILLERS, ["f2"], small)], small)
    after = run([row("q", ["new", *FILLERS], {"new": 1, "f3": 1}, large)], large)
    (pair,) = query_pairs(after, before)
    assert pair.items_before.keys() == {"f2"}
    assert pair.ranks == {"new": (0, 1), "f3": (3, 4)}


def test_without_a_baseline_nothing_was_before() -> None:
    (pair,) = query_pairs(ranked([3]))
    assert pair == QueryPair(after=pair.after)
    assert (pair.ranks, pair.places_before, pair.items_before) == ({"r0": (0, 3)}, {}, {})
    assert pair.texts_before(pair.after.items[0]) == frozenset()
