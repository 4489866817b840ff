"""Which queries changed, why, and in which order a person should look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from rageval_action.core.comparing.query_changes import ORDER, QueryChange
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import Chunk, EvidenceItem, EvidenceItems, Groups, Unanswerable
from tests.synthetic_runs import FILLERS, chunks, compared, plain_chunks, ranked, row, run

CORPUS = plain_chunks([*FILLERS, "a", "b", "r", "s"])


def changes(before: RunRecord, after: RunRecord) -> tuple[QueryChange, ...]:
    return compared(before, after).queries


def single(
    before: QueryRow,
    after: QueryRow,
    old: Sequence[Chunk] = CORPUS,
    new: Sequence[Chunk] = CORPUS,
    **more: Any,
) -> QueryChange:
    found = changes(run([before], old, **more), run([after], new, **more))
    assert len(found) == 1
    return found[0]


def at(rank: int, name: str = "r") -> list[str]:
    names = list(FILLERS)
    if rank:
        names.insert(rank - 1, name)
    return names


class TestKinds:
    def test_nothing_changed(self) -> None:
        assert changes(ranked([1, 5]), ranked([5, 1])) == ()

    def test_lost(self) -> None:
        found = single(row("q", at(2), ["r"], CORPUS, line=17), row("q", at(8), ["r"], CORPUS, line=17))
        assert found == QueryChange(
            id="q",
            change="lost",
            measure="recall@5",
            cause="outranked",
            baseline_rank=2,
            candidate_rank=8,
            by=("f2", "f3", "f4", "f5"),
            item="r",
            tags=("close",),
            baseline=1.0,
            candidate=0.0,
            query="question q",
            line=17,
        )

    def test_worse_and_better(self) -> None:
        both, one = ["r", "s", *FILLERS], ["r", *FILLERS]
        found = single(row("q", both, ["r", "s"], CORPUS), row("q", one, ["r", "s"], CORPUS))
        assert (found.change, found.item, found.baseline, found.candidate) == ("worse", "s", 1.0, 0.5)
        assert (found.baseline_rank, found.candidate_rank, found.cause) == (2, None, "below-depth")
        found = single(row("q", one, ["r", "s"], CORPUS), row("q", both, ["r", "s"], CORPUS))
        assert (found.change, found.item, found.baseline, found.candidate) == ("better", "s", 0.5, 1.0)
        assert (found.baseline_rank, found.candidate_rank) == (None, 2)

    def test_gained_tells_why_it_was_missing(self) -> None:
        found = single(row("q", at(9), ["r"], CORPUS), row("q", at(1), ["r"], CORPUS))
        assert (found.change, found.cause, found.baseline_rank, found.candidate_rank) == (
            "gained",
            "outranked",
            9,
            1,
        )
        assert found.by == ("f1", "f2", "f3", "f4", "f5")

    def test_gained_from_a_failed_retriever(self) -> None:
        found = single(row("q", [], ["r"], CORPUS, error="timeout"), row("q", at(1), ["r"], CORPUS))
        assert (found.change, found.cause) == ("gained", "retriever-error")

    def test_gained_under_a_label_that_the_old_record_knew_nothing_of(self) -> None:
        found = single(row("q", at(9), ["f1"], CORPUS), row("q", at(1), ["r"], CORPUS))
        assert (found.change, found.cause, found.by) == ("gained", "", ())

    def test_missed_on_both_sides(self) -> None:
        found = single(row("q", at(0), ["r"], CORPUS), row("q", at(7), ["r"], CORPUS))
        assert (found.change, found.cause) == ("missed", "no-relevant-retrieved-before")
        assert (found.baseline_rank, found.candidate_rank) == (None, 7)
        assert found.tags == ("outranked", "close")
        assert found.by == ("f1", "f2", "f3", "f4", "f5")

    def test_reworded_is_another_question(self) -> None:
        old = row("q", at(1), ["r"], CORPUS)
        new = row("q", at(9), ["r"], CORPUS, query="something else", line=4)
        assert changes(run([old], CORPUS), run([new], CORPUS)) == ()
        again = row("q", at(8), ["r"], CORPUS)
        (found,) = changes(run([old], CORPUS), run([new], CORPUS, asked_for_base=[again]))
        assert (found.id, found.exam, found.change, found.query) == ("q", "base", "lost", "question q")

    def test_the_headline_cutoff_of_the_candidate_decides(self) -> None:
        found = changes(ranked([1], k=10), ranked([4], k=3))
        assert [(one.change, one.measure) for one in found] == [("lost", "recall@3")]
        assert changes(ranked([1], k=10), ranked([4], k=4)) == ()

    def test_the_border_of_the_top_k(self) -> None:
        assert changes(ranked([1]), ranked([5])) == ()
        assert [one.change for one in changes(ranked([5]), ranked([6]))] == ["lost"]

    def test_the_no_answer_track_is_no_news(self) -> None:
        before = run([row("q", at(1), Unanswerable(), CORPUS)], CORPUS)
        assert changes(before, run([row("q", at(9), Unanswerable(), CORPUS)], CORPUS)) == ()

    def test_each_exam_has_its_own_no_answer_track(self) -> None:
        silent = run([row("q", at(1), Unanswerable(), CORPUS)], CORPUS)
        asked = run([row("q", at(9), ["r"], CORPUS)], CORPUS)
        assert [(one.exam, one.change) for one in changes(silent, asked)] == [("head", "lost")]
        assert [(one.exam, one.change) for one in changes(asked, silent)] == [("base", "gained")]

    def test_a_query_of_that_track_hides_no_other(self) -> None:
        before = run([row("a", at(1), Unanswerable(), CORPUS), row("b", at(1), ["r"], CORPUS)], CORPUS)
        after = run([row("a", at(1), Unanswerable(), CORPUS), row("b", at(0), ["r"], CORPUS)], CORPUS)
        assert [one.id for one in changes(before, after)] == ["b"]

    def test_nothing_to_find_is_no_news(self) -> None:
        before = run([row("q", at(1), {"r": 0}, CORPUS)], CORPUS)
        assert changes(before, before) == ()


class TestCauses:
    def test_below_depth_says_what_rose_above(self) -> None:
        before = row("q", ["f9", "r", "f1", "f2", "f3", "f4"], ["r"], CORPUS)
        after = row("q", ["f9", "f3", "a", "f1", "b"], ["r"], CORPUS)
        found = single(before, after)
        assert (found.cause, found.by) == ("below-depth", ("f3", "a", "f1", "b"))

    def test_what_stood_above_before_did_not_push_it_out(self) -> None:
        before = row("q", ["f1", "f2", "r", "f3"], ["r"], CORPUS)
        after = row("q", ["f2", "f1", "a", "f3", "f4", "r"], ["r"], CORPUS)
        assert single(before, after).by == ("a", "f3", "f4")

    def test_when_nothing_rose_the_rivals_are_told(self) -> None:
        before = row("q", ["f1", "f2", "f3", "f4", "r"], ["r"], CORPUS)
        after = row("q", ["f4", "f3", "f2", "f1"], ["r"], CORPUS)
        assert single(before, after).by == ("f4", "f3", "f2", "f1")

    def test_rivals_are_not_relevant_themselves(self) -> None:
        before = row("q", ["r", "s", *FILLERS], ["r", "s"], CORPUS)
        after = row("q", ["f1", "s", "f2", "f3", "f4", "r"], ["r", "s"], CORPUS)
        assert single(before, after).by == ("f1", "f2", "f3", "f4")

    def test_at_most_five(self) -> None:
        before = row("q", ["r", *FILLERS], ["r"], CORPUS)
        assert len(single(before, row("q", FILLERS, ["r"], CORPUS), k=9).by) == 5

    def test_not_indexed(self) -> None:
        without = plain_chunks([*FILLERS, "a"])
        found = single(row("q", at(1), ["r"], CORPUS), row("q", at(0), ["r"], without), new=without)
        assert (found.change, found.cause, found.by, found.candidate_rank) == (
            "lost",
            "not-indexed",
            (),
            None,
        )

    def test_a_renamed_document_is_no_loss(self) -> None:
        renamed = chunks({"z": "text of r", **{name: f"text of {name}" for name in FILLERS}})
        before = run([row("q", at(1), ["r"], CORPUS)], CORPUS)
        assert changes(before, run([row("q", at(2, "z"), ["r"], renamed)], renamed)) == ()
        (found,) = changes(before, run([row("q", at(8, "z"), ["r"], renamed)], renamed))
        assert (found.change, found.item, found.baseline_rank, found.candidate_rank) == ("lost", "z", 1, 8)
        chunked = run([row("q", ["r#0"], ["r#0"], CORPUS)], CORPUS, unit="chunk")
        assert changes(chunked, run([row("q", ["z#0"], ["r#0"], renamed)], renamed, unit="chunk")) == ()

    def test_what_became_of_a_text_decides(self) -> None:
        old = chunks({"r": ["one", "two", "three"], **dict.fromkeys(FILLERS, "x"), "f1": "y"})
        before = row("q", ["r#0"], ["r"], old)

        def found(*texts: str) -> list[str]:
            new = chunks({"z": list(texts), **dict.fromkeys(FILLERS, "x"), "f1": "y"})
            return [one.cause for one in changes(run([before], old), run([row("q", [], ["r"], new)], new))]

        assert found("one", "two") == ["below-depth"]
        assert found("one", "2") == ["not-indexed"]
        many = ["one", "two", "three", *(f"more {n}" for n in range(9))]
        assert found(*many) == []

    def test_re_identified_is_a_label_that_the_head_did_not_follow(self) -> None:
        renamed = chunks({"z": "text of r", **{name: f"text of {name}" for name in FILLERS}})
        before = run([row("q", at(1), ["r"], CORPUS)], CORPUS)
        after = run([row("q", ["z", *FILLERS], ["r", "f12"], renamed)], renamed)
        (found,) = changes(before, after)
        assert (found.exam, found.item, found.cause, found.by) == ("head", "r", "re-identified", ("z",))

    def test_a_label_that_no_corpus_ever_had(self) -> None:
        found = single(row("q", at(1), ["never"], CORPUS), row("q", at(1), ["never"], CORPUS))
        assert (found.cause, found.tags) == ("no-relevant-retrieved-before", ("not-indexed",))

    def test_retriever_error(self) -> None:
        found = single(row("q", at(1), ["r"], CORPUS), row("q", [], ["r"], CORPUS, error="timeout"))
        assert (found.change, found.cause) == ("lost", "retriever-error")

    def test_duplicate(self) -> None:
        twins = chunks({"r": "same", "zz": "same", **{name: f"text of {name}" for name in FILLERS}})
        found = single(
            row("q", ["r"], ["r"], twins), row("q", ["zz", *FILLERS[:4]], ["r"], twins), twins, twins
        )
        assert (found.cause, found.by) == ("duplicate", ("zz",))

    def test_what_the_record_knew_of_access_is_believed(self) -> None:
        before, after = ranked([1]), ranked([0])
        miss = replace(after.queries[0].misses[0], cause="acl-filtered", by=())
        told = RunRecord(
            record=after.record, queries=(replace(after.queries[0], misses=(miss,)),), corpus=after.corpus
        )
        (found,) = changes(before, told)
        assert (found.change, found.cause, found.by) == ("lost", "acl-filtered", ())

    def test_a_record_without_diagnosis_is_diagnosed(self) -> None:
        before, after = ranked([1]), ranked([7])
        bare = RunRecord(
            record=after.record, queries=(replace(after.queries[0], misses=()),), corpus=after.corpus
        )
        (found,) = changes(before, bare)
        assert (found.cause, found.by) == ("outranked", ("f1", "f2", "f3", "f4", "f5"))

    def test_evidence_whose_chunks_have_other_names_now(self) -> None:
        old = chunks({"d": ["one", "two"], "f1": "x"})
        new = chunks({"d": ["one two"], "f1": "x"})

        def asked(*held: str) -> EvidenceItems:
            return EvidenceItems((EvidenceItem(doc="d", quote="two", chunks=held),))

        before = row("q", ["f1", "d#1"], asked("d#1"), old)
        assert changes(run([before], old), run([row("q", ["d#0"], asked("d#0"), new)], new)) == ()
        found = single(before, row("q", ["f1"], asked("d#0"), new), old, new)
        assert (found.item, found.baseline_rank, found.cause) == ("d: two", 2, "below-depth")
        found = single(before, row("q", ["f1"], asked(), new), old, new)
        assert found.cause == "not-indexed"


class TestStory:
    def test_the_best_ranked_item_that_left(self) -> None:
        relevant = ["a", "b", "r", "s"]
        before = row("q", ["f1", "b", "r", "a", "f2", "s"], relevant, CORPUS)
        after = row("q", ["f1", "r", "f3", "f4", "f5", "b"], relevant, CORPUS)
        found = single(before, after)
        assert (found.change, found.item, found.baseline_rank, found.candidate_rank) == ("worse", "b", 2, 6)

    def test_the_best_ranked_item_that_came(self) -> None:
        relevant = ["a", "b", "r", "s"]
        before = row("q", ["f1", "r", "f3", "f4", "f5", "b"], relevant, CORPUS)
        after = row("q", ["f1", "r", "b", "a", "f2", "s"], relevant, CORPUS)
        found = single(before, after)
        assert (found.change, found.item, found.baseline_rank, found.candidate_rank) == ("better", "b", 6, 3)

    def test_the_borders_of_the_top_k_decide_who_left(self) -> None:
        relevant = ["a", "r", "s"]
        before = row("q", ["s", "f1", "r", "f2", "a"], relevant, CORPUS)
        after = row("q", ["f1", "r", "f2", "f3", "s", "f4", "a"], relevant, CORPUS)
        assert single(before, after).item == "a"
        vanished = row("q", ["f1", "r", "f2", "f3", "s"], relevant, CORPUS)
        assert single(before, vanished).item == "a"

    def test_its_own_cause_is_told(self) -> None:
        before = row("q", at(1), ["r", "s"], CORPUS)
        found = single(before, row("q", at(7), ["r", "s"], CORPUS))
        assert (found.item, found.cause, found.tags) == ("r", "outranked", ("close",))
        found = single(row("q", at(7), ["r", "s"], CORPUS), before)
        assert (found.item, found.cause, found.tags) == ("r", "outranked", ("close",))

    def test_missed_is_told_by_the_item_that_is_nearest(self) -> None:
        before = row("q", at(0), ["a", "r"], CORPUS)
        after = row("q", at(8), ["a", "r"], CORPUS)
        assert single(before, after).item == "r"
        assert single(after, before).item == "r"

    def test_equal_ones_go_by_name(self) -> None:
        assert single(row("q", at(0), ["s", "r"], CORPUS), row("q", at(0), ["s", "r"], CORPUS)).item == "r"

    def test_groups(self) -> None:
        groups = Groups((("a", "b"), ("r",)))
        found = single(
            row("q", ["b", "r", *FILLERS], groups, CORPUS), row("q", ["r", *FILLERS, "a"], groups, CORPUS)
        )
        assert (found.item, found.baseline_rank, found.candidate_rank) == ("a | b", 1, 14)


class TestOrder:
    def test_worst_first(self) -> None:
        relevant = {"many": [f"m{number}" for number in range(4)]}
        corpus = plain_chunks([*FILLERS, "r", *relevant["many"]])

        def made(spec: dict[str, tuple[list[str], list[str]]]) -> RunRecord:
            return run(
                [row(name, names, wanted, corpus, query=f"{name}") for name, (names, wanted) in spec.items()],
                corpus,
            )

        many = relevant["many"]
        before = made(
            {
                "z-lost-1": (at(1), ["r"]),
                "lost-4": (at(4), ["r"]),
                "lost-4b": (at(4), ["r"]),
                "lost-half": (["m0"], ["m0", "m1"]),
                "worse-one": (many, many),
                "worse-three": (many, many),
                "missed": (at(0), ["r"]),
                "better": (many[:2], many),
                "gained": (at(0), ["r"]),
                "a-gained-half": (["f1"], ["m0", "m1"]),
                "same": (at(1), ["r"]),
            }
        )
        after = made(
            {
                "gained": (at(1), ["r"]),
                "a-gained-half": (["m0"], ["m0", "m1"]),
                "better": (many[:3], many),
                "missed": (at(0), ["r"]),
                "worse-three": (many[:1], many),
                "worse-one": (many[:3], many),
                "lost-half": (FILLERS[:1], ["m0", "m1"]),
                "lost-4b": (at(0), ["r"]),
                "lost-4": (at(0), ["r"]),
                "z-lost-1": (at(0), ["r"]),
                "same": (at(2), ["r"]),
            }
        )
        found = changes(before, after)
        assert [one.id for one in found] == [
            "z-lost-1",
            "lost-4",
            "lost-4b",
            "lost-half",
            "worse-three",
            "worse-one",
            "missed",
            "better",
            "gained",
            "a-gained-half",
        ]
        assert [ORDER.index(one.change) for one in found] == sorted(ORDER.index(one.change) for one in found)
        for one, other in zip(found, changes(before, after), strict=True):
            assert one == other


class TestExams:
    def test_what_both_mark_alike_is_told_once(self) -> None:
        (found,) = changes(ranked([1]), ranked([9]))
        assert (found.exam, found.baseline_id) == ("both", None)

    def test_new_labels_are_told_beside_the_old(self) -> None:
        before = run([row("q", ["r", *FILLERS], ["r"], CORPUS)], CORPUS)
        after = run([row("q", ["s", *FILLERS], ["s"], CORPUS)], CORPUS)
        found = [(one.exam, one.change, one.item) for one in changes(before, after)]
        assert found == [("base", "lost", "r"), ("head", "gained", "s")]

    def test_labels_that_the_base_alone_can_apply(self) -> None:
        fresh = plain_chunks([*FILLERS, "r", "new"])
        before = run([row("q", at(1), ["r"], CORPUS)], CORPUS)
        after = run([row("q", at(0), ["new"], fresh)], fresh)
        assert [(one.exam, one.change) for one in changes(before, after)] == [("base", "lost")]

    def test_a_renamed_question_keeps_its_old_id_beside_the_new(self) -> None:
        before = run([row("old", at(1), ["r"], CORPUS, query="same")], CORPUS)
        after = run([row("new", at(9), ["r"], CORPUS, query="same")], CORPUS)
        assert [(one.id, one.baseline_id) for one in changes(before, after)] == [("new", "old")]

    def test_shifted_ids_hide_no_loss(self) -> None:
        """The head's q2 is the base's q1; the base's own q2 was deleted, and both lost."""
        before = run([row(f"q{n}", at(1), ["r"], CORPUS, query=f"text {n}") for n in (1, 2)], CORPUS)
        again = row("q2", at(0), ["r"], CORPUS, query="text 2")
        after = run([row("q2", at(9), ["r"], CORPUS, query="text 1")], CORPUS, asked_for_base=[again])
        found = {(one.id, one.baseline_id, one.exam, one.query) for one in changes(before, after)}
        assert found == {("q2", "q1", "both", "text 1"), ("q2", None, "base", "text 2")}

    def test_what_cannot_be_marked_is_no_change(self) -> None:
        two = (*CORPUS, *chunks(dict.fromkeys(("y", "z"), "text of r")))
        corpus = tuple(chunk for chunk in two if chunk.doc != "r")
        before = run([row("q", at(1), ["r"], CORPUS), row("p", at(1), ["r"], CORPUS)], CORPUS)
        assert changes(before, run([row("q", at(0), ["r"], corpus)], corpus)) == ()
