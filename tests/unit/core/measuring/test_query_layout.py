"""One answer laid out, and the same query on both sides."""

from __future__ import annotations

from msgspec.structs import replace

from rageval_action.core.measuring.query_layout import answerable, lay_out, recall_curve, side_of
from rageval_action.core.model.hashing import text_hash
from tests.synthetic_runs import chunks, ranked, row, run

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


def test_how_much_is_found_by_the_first_ranks() -> None:
    made = ranked([1, 3, 0, 9])
    side = side_of(made)
    layouts = [lay_out(one, side, 5) for one in made.queries]
    assert [answerable(one.row) for one in layouts] == [True] * 4
    assert recall_curve(layouts, 4) == [0.25, 0.25, 0.5, 0.5]
