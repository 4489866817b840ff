"""The same query on both sides, paired and marked as the head's exam does."""

from __future__ import annotations

from rageval_action.core.comparing.query_pairs import query_pairs
from rageval_action.core.labels.judged_items import Item
from rageval_action.core.measuring.query_layout import QueryPair
from rageval_action.core.model.access_names import Asker
from rageval_action.core.model.hashing import text_hash
from tests.synthetic_runs import FILLERS, chunks, plain_chunks, ranked, row, run

CORPUS = plain_chunks([*FILLERS, "r"])


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


def test_a_renamed_question_is_found_by_its_text() -> None:
    before = run([row("old", ["f1", "r"], ["r"], CORPUS, query="pay")], CORPUS)
    (pair,) = query_pairs(run([row("new", ["r"], ["r"], CORPUS, query="pay")], CORPUS), before)
    assert pair.ranks == {"r": (2, 1)}
    assert pair.before is not None
    assert pair.before.row.query_id == "old"


def test_another_text_or_another_asker_was_not_asked_before() -> None:
    before = run([row("q", ["r"], ["r"], CORPUS, query="pay")], CORPUS)
    assert (
        query_pairs(run([row("q", ["r"], ["r"], CORPUS, query="pay now")], CORPUS), before)[0].before is None
    )
    ann = Asker(principal="a" * 16)
    told = run([row("q", ["r"], ["r"], CORPUS, query="pay", acl=ann)], CORPUS)
    assert query_pairs(told, before)[0].before is None
    older = run([row("q", ["r"], ["r"], CORPUS, query="pay")], CORPUS, exam=None)
    assert query_pairs(told, older)[0].before is not None


def test_labels_follow_a_renamed_document() -> None:
    renamed = chunks({"z": "text of r", **{name: f"text of {name}" for name in FILLERS}})
    before = run([row("q", ["f1", "r"], ["r"], CORPUS), row("p", ["f1"], ["f1"], CORPUS)], CORPUS)
    after = run([row("q", ["z"], ["r"], renamed), row("p", ["f1"], ["f1"], renamed)], renamed)
    pair, other = query_pairs(after, before)
    assert (pair.moved, pair.ranks) == ({"r": "z"}, {"z": (2, 1)})
    assert pair.texts_before(pair.after.items[0]) == {text_hash("text of r")}
    assert (other.moved, other.ranks) == ({}, {"f1": (1, 1)})
