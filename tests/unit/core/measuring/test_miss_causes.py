"""Every miss has one primary cause, the right one; the rest is in its tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from rageval_action.core.labels.judged_items import Item, best_rank, items_of, places_of
from rageval_action.core.labels.label_transfer import Side
from rageval_action.core.measuring.miss_causes import (
    CAUSES,
    MOST_ITEMS,
    MOST_RIVALS,
    diagnose,
    miss_of,
    rivals,
)
from rageval_action.core.measuring.query_layout import QueryLayout, everything, lay_out
from rageval_action.core.model.corpus import Lookup, corpus_of
from rageval_action.core.model.record import Miss, QueryRow
from rageval_action.core.model.types import (
    Chunk,
    EvidenceItem,
    EvidenceItems,
    Grades,
    Groups,
    Hit,
    Unanswerable,
    Unit,
)
from tests.synthetic_runs import FILLERS, chunks, plain_chunks, row

CORPUS = plain_chunks([*FILLERS, "a", "r", "s", "t"])


def misses(
    one: QueryRow,
    corpus: Sequence[Chunk] = CORPUS,
    *,
    unit: Unit = "document",
    k: int = 5,
    visible: Callable[[str], bool] = everything,
) -> tuple[Miss, ...]:
    return diagnose(laid_out(one, corpus, unit, k, visible))


def laid_out(
    one: QueryRow,
    corpus: Sequence[Chunk] = CORPUS,
    unit: Unit = "document",
    k: int = 5,
    visible: Callable[[str], bool] = everything,
) -> QueryLayout:
    return lay_out(one, Side(Lookup(corpus_of(corpus)), unit), k, visible=visible)


def only(found: tuple[Miss, ...]) -> Miss:
    assert len(found) == 1
    assert found[0].cause in CAUSES
    return found[0]


class TestItems:
    def test_grades_best_first_then_by_label(self) -> None:
        found = items_of(Grades({"b": 1, "a": 1, "c": 3, "zero": 0, "minus": -2}))
        assert found == (Item("c", ("c",), 3), Item("a", ("a",)), Item("b", ("b",)))

    def test_groups_and_evidence(self) -> None:
        assert items_of(Groups((("b", "a"), ("c",)))) == (Item("b | a", ("b", "a")), Item("c", ("c",)))
        item = EvidenceItem(doc="d", quote="as it says", chunks=("d#0", "d#1"))
        assert items_of(EvidenceItems((item,))) == (Item("d: as it says", ("d#0", "d#1")),)
        assert items_of(Unanswerable()) == ()

    def test_best_rank(self) -> None:
        places = places_of(["x", "y", "z"])
        assert best_rank(places, Item("i", ("z", "y"))) == 2
        assert best_rank(places, Item("i", ("q",))) == 0
        assert best_rank(places, Item("i", ())) == 0


class TestCauses:
    def test_found_in_the_top_k_is_no_miss(self) -> None:
        assert misses(row("q", [*FILLERS[:4], "r"], ["r"], CORPUS)) == ()

    def test_the_no_answer_track_misses_nothing(self) -> None:
        assert misses(row("q", FILLERS, Unanswerable(), CORPUS)) == ()

    def test_retriever_error_comes_before_everything(self) -> None:
        miss = only(misses(row("q", [], ["gone"], CORPUS, error="timeout")))
        assert miss == Miss(cause="retriever-error", item="gone")

    def test_not_indexed(self) -> None:
        miss = only(misses(row("q", FILLERS, ["gone"], CORPUS), visible=lambda _name: False))
        assert miss == Miss(cause="not-indexed", item="gone")

    def test_acl_filtered(self) -> None:
        miss = only(misses(row("q", FILLERS, ["r"], CORPUS), visible=lambda name: name != "r"))
        assert miss == Miss(cause="acl-filtered", item="r")

    def test_one_visible_member_is_enough(self) -> None:
        groups = Groups((("s", "r"),))
        miss = only(misses(row("q", FILLERS, groups, CORPUS), visible=lambda name: name != "r"))
        assert miss.cause == "below-depth"
        miss = only(misses(row("q", FILLERS, groups, CORPUS), visible=lambda name: name not in ("r", "s")))
        assert miss.cause == "acl-filtered"

    def test_a_member_that_is_not_indexed_does_not_decide_about_access(self) -> None:
        groups = Groups((("gone", "r"),))
        miss = only(misses(row("q", FILLERS, groups, CORPUS), visible=lambda name: name == "gone"))
        assert miss.cause == "acl-filtered"

    def test_outranked(self) -> None:
        miss = only(misses(row("q", [*FILLERS[:6], "r"], ["r"], CORPUS)))
        assert miss == Miss(
            cause="outranked", item="r", by=("f1", "f2", "f3", "f4", "f5"), rank=7, tags=("close",)
        )

    def test_below_depth(self) -> None:
        miss = only(misses(row("q", FILLERS, ["r"], CORPUS)))
        assert miss == Miss(cause="below-depth", item="r", by=("f1", "f2", "f3", "f4", "f5"))

    def test_nothing_came_back(self) -> None:
        assert only(misses(row("q", [], ["r"], CORPUS))) == Miss(cause="below-depth", item="r")

    def test_relevant_items_are_no_rivals(self) -> None:
        one = row("q", ["s", "f1", "t", "f2", "f3", "r"], {"s": 1, "t": 2, "r": 1}, CORPUS)
        assert only(misses(one)).by == ("f1", "f2", "f3")

    def test_rivals_are_few(self) -> None:
        one = row("q", FILLERS, ["r"], CORPUS)
        assert len(only(misses(one, k=9)).by) == MOST_RIVALS == 5
        assert rivals(laid_out(one, k=9)) == list(FILLERS[:9])

    def test_any_member_of_a_group_will_do(self) -> None:
        assert misses(row("q", ["s"], Groups((("r", "s"),)), CORPUS)) == ()
        miss = only(misses(row("q", [*FILLERS[:7], "s"], Groups((("r", "s"),)), CORPUS)))
        assert (miss.item, miss.rank, miss.cause) == ("r | s", 8, "outranked")

    def test_evidence_that_no_chunk_holds(self) -> None:
        items = EvidenceItems((EvidenceItem(doc="r", quote="lost words"),))
        assert only(misses(row("q", FILLERS, items, CORPUS))).cause == "not-indexed"

    def test_evidence_counts_chunks_whatever_the_unit_of_the_set(self) -> None:
        items = EvidenceItems((EvidenceItem(doc="r", quote="text", chunks=("r#0",)),))
        for unit in ("document", "evidence"):
            miss = only(misses(row("q", [*FILLERS[:6], "r"], items, CORPUS), unit=unit))
            assert (miss.cause, miss.rank, miss.by[0]) == ("outranked", 7, "f1#0")

    def test_miss_of_one_item(self) -> None:
        one = laid_out(row("q", FILLERS, ["r"], CORPUS))
        assert miss_of(one, Item("r", ("r",)), 0).cause == "below-depth"
        assert miss_of(one, Item("r", ("r",)), 6).cause == "outranked"


class TestDuplicates:
    TWINS = chunks({"r": "same words", "twin": "same words", **{name: f"text of {name}" for name in FILLERS}})

    def test_an_identical_text_took_the_place(self) -> None:
        scores = [1.0, 0.9, 0.8, 0.7, 0.6, 0.6]
        miss = only(misses(row("q", [*FILLERS[:4], "twin", "r"], ["r"], self.TWINS, scores), self.TWINS))
        assert (miss.cause, miss.by, miss.rank) == ("duplicate", ("twin",), 6)
        assert miss.tags == ("close", "tied-at-k")

    def test_also_when_the_item_itself_is_not_ranked(self) -> None:
        miss = only(misses(row("q", ["twin", *FILLERS[:4]], ["r"], self.TWINS), self.TWINS))
        assert (miss.cause, miss.by) == ("duplicate", ("twin",))

    def test_a_twin_below_the_cut_took_nothing(self) -> None:
        miss = only(misses(row("q", [*FILLERS[:5], "twin"], ["r"], self.TWINS), self.TWINS))
        assert miss.cause == "below-depth"

    def test_in_chunks(self) -> None:
        miss = only(misses(row("q", ["twin#0", "f1"], ["r#0"], self.TWINS), self.TWINS, unit="chunk"))
        assert (miss.cause, miss.by) == ("duplicate", ("twin#0",))

    def test_another_chunk_of_the_item_is_no_twin(self) -> None:
        corpus = chunks({"r": ["same", "same"], "f": "x"})
        groups = Groups((("r#0", "r#1"),))
        assert misses(row("q", ["r#1"], groups, corpus), corpus, unit="chunk") == ()
        miss = only(misses(row("q", ["r#1"], ["r#0"], corpus), corpus, unit="chunk"))
        assert (miss.cause, miss.by) == ("duplicate", ("r#1",))

    def test_a_shared_footer_is_no_duplicate(self) -> None:
        corpus = chunks({"r": ["the answer", "footer"], "other": ["a near miss", "footer"], "f": "x"})
        one = row("q", ["other#0", "other#1"], ["r"], corpus, [0.9, 0.1])
        assert only(misses(one, corpus)).cause == "below-depth"
        one = row("q", ["other#0", "other#1"], ["r"], corpus, [0.1, 0.9])
        assert only(misses(one, corpus)).cause == "duplicate"

    def test_hits_without_a_hash_are_not_compared(self) -> None:
        made = row("q", ["twin"], ["r"], self.TWINS)
        bare = tuple(Hit(id=hit.id, doc=hit.doc, rank=hit.rank, score=hit.score) for hit in made.results)
        one = QueryRow(query_id="q", query_sha256="", judgments=made.judgments, results=bare)
        assert only(misses(one, self.TWINS)).cause == "below-depth"

    def test_a_hash_that_is_none_harms_nobody(self) -> None:
        made = row("q", ["twin"], ["r"], self.TWINS)
        odd = tuple(
            Hit(id=hit.id, doc=hit.doc, rank=1, score=1.0, text_hash="no hash") for hit in made.results
        )
        one = QueryRow(query_id="q", query_sha256="", judgments=made.judgments, results=odd)
        assert only(misses(one, self.TWINS)).cause == "below-depth"


class TestTags:
    def test_other_relevant_found(self) -> None:
        one = row("q", ["s", *FILLERS[:5]], ["r", "s"], CORPUS)
        assert only(misses(one)).tags == ("other-relevant-found",)
        one = row("q", [*FILLERS[:4], "s"], ["r", "s"], CORPUS)
        assert only(misses(one)).tags == ("other-relevant-found",)
        one = row("q", [*FILLERS[:5], "s"], ["r", "s"], CORPUS)
        assert [miss.tags for miss in misses(one)] == [(), ("close",)]

    @pytest.mark.parametrize(("rank", "tags"), [(6, ("close",)), (10, ("close",)), (11, ())])
    def test_close_is_within_twice_k(self, rank: int, tags: tuple[str, ...]) -> None:
        names = list(FILLERS)
        names.insert(rank - 1, "r")
        assert only(misses(row("q", names, ["r"], CORPUS))).tags == tags

    def test_tied_at_k(self) -> None:
        names = [*FILLERS[:5], "a"]  # by id, descending, it comes after the fillers
        for scores in ([1, 1, 1, 1, 0.5, 0.5], [1, 1, 1, 0.5, 0.6, 0.5]):
            assert only(misses(row("q", names, ["a"], CORPUS, scores))).tags == ("close", "tied-at-k")
        assert only(misses(row("q", names, ["a"], CORPUS, [1, 1, 1, 0.9, 0.6, 0.5]))).tags == ("close",)

    def test_right_document(self) -> None:
        corpus = chunks({"r": ["one", "two"], "f1": "x", "f2": "y"})
        one = row("q", ["r#0", "f1", "f2", "r#1"], ["r#1"], corpus)
        assert only(misses(one, corpus, unit="chunk", k=2)).tags == ("close", "right-document")
        assert only(misses(one, corpus, unit="chunk", k=1)).tags == ("right-document",)
        one = row("q", ["f1", "f2", "r#0", "r#1"], ["r#1"], corpus)
        assert only(misses(one, corpus, unit="chunk", k=2)).tags == ("close",)

    def test_documents_have_no_right_document(self) -> None:
        corpus = chunks({"r": "one", "f1": "x", "f2": "y"})
        assert only(misses(row("q", ["f1", "f2", "r"], ["r"], corpus), corpus, k=2)).tags == ("close",)


class TestOrder:
    def test_not_ranked_first_then_grade_then_depth_then_name(self) -> None:
        grades = {"g1": 3, "r": 1, "g0": 1, "s": 2, "t": 1, "f12": 1}
        one = row("q", [*FILLERS[:6], "r", "s", "t", "f12"], grades, CORPUS)
        assert [(miss.item, miss.rank) for miss in misses(one)] == [
            ("g1", 0),
            ("g0", 0),
            ("s", 8),
            ("f12", 10),
            ("t", 9),
            ("r", 7),
        ]

    def test_equal_grades_and_ranks_go_by_name(self) -> None:
        assert [miss.item for miss in misses(row("q", [], ["y", "x", "z"], CORPUS))] == ["x", "y", "z"]

    def test_items_are_capped(self) -> None:
        many = row("q", FILLERS, [f"gone{number:03}" for number in range(50)], CORPUS)
        found = misses(many)
        assert len(found) == MOST_ITEMS == 20
        assert found[-1].item == "gone019"
