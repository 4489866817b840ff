"""The two exams: what is asked, what each answer is marked by, and what cannot be marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.exams import ExamQuestion, base_exam, corpora, head_exam
from rageval_action.core.comparing.factors import turnover
from rageval_action.core.comparing.golden_changes import BaseCommit, GoldenChanges, golden_changes
from rageval_action.core.comparing.pairing import pair_questions
from rageval_action.core.labels.label_transfer import Side
from rageval_action.core.model.access_names import Asker
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.types import Chunk, EvidenceItem, EvidenceItems, Grades, Groups, Unanswerable
from tests.synthetic_runs import chunks, plain_chunks, row, run

CORPUS = plain_chunks([*"abcdefgh"])


class Exams:
    """Both exams of two runs, by query id."""

    def __init__(self, before: RunRecord, after: RunRecord, base: BaseCommit | None = None) -> None:
        by_asker = before.record.exam is not None
        pairs = pair_questions(before.queries, after.queries, by_asker=by_asker)
        sides = [Side(Lookup(side.corpus), side.record.golden.unit) for side in (before, after)]
        rechunked = turnover(before.corpus, after.corpus).rechunked
        pair = corpora(after, *sides, rechunked=rechunked)
        found = base_exam(before, after, pairs, pair, by_asker=by_asker)
        self.base: dict[str, ExamQuestion] = {one.before.query_id: one for one in found if one.before}
        self.head = {one.row.query_id: one for one in head_exam(after, pairs, pair)}
        self.changes: GoldenChanges = golden_changes(pairs, pair, base)


def asked(
    name: str, relevant: Any, *, corpus: Sequence[Chunk] = CORPUS, ranked: str = "abc", **more: Any
) -> Any:
    return row(
        name, [one for one in ranked if one in {chunk.doc for chunk in corpus}], relevant, corpus, **more
    )


def side(*rows: Any, corpus: Sequence[Chunk] = CORPUS, **more: Any) -> RunRecord:
    return run(list(rows), corpus, **more)


def without(*names: str, plus: Sequence[Chunk] = ()) -> tuple[Chunk, ...]:
    return (*(chunk for chunk in CORPUS if chunk.doc not in names), *plus)


class TestBaseExam:
    def test_a_deleted_question_is_asked_all_the_same(self) -> None:
        again = asked("q2", ["b"], ranked="cab")
        found = Exams(
            side(asked("q1", ["a"]), asked("q2", ["b"])), side(asked("q1", ["a"]), asked_for_base=[again])
        )
        assert set(found.base) == {"q1", "q2"}
        assert found.base["q2"].unknown == ""
        assert found.base["q2"].after is not None
        assert [hit.doc for hit in found.base["q2"].after.results] == ["c", "a", "b"]
        assert set(found.head) == {"q1"}
        assert found.changes.pairing.removed == found.changes.withdrawn == ("q2",)

    def test_one_that_was_not_asked_is_unknown_with_its_reason(self) -> None:
        before = side(asked("q1", ["a"]), asked("q2", ["b"]), asked("q3", ["b"]))
        found = Exams(before, side(asked("q1", ["a"]), base_unasked={"q2": "no-vector"}))
        assert found.base["q2"].unknown == "no-vector"
        assert found.base["q3"].unknown == "not-asked"

    def test_new_labels_do_not_reach_it(self) -> None:
        found = Exams(side(asked("q1", ["d"])), side(asked("q1", ["a"])))
        assert found.base["q1"].labels_after.judgments == Grades({"d": 1})
        assert found.head["q1"].labels_after.judgments == Grades({"a": 1})
        assert found.changes.pairing.relabelled == found.changes.withdrawn == ("q1",)

    def test_another_text_is_another_question(self) -> None:
        old = asked("q1", ["a"], query="pay now", ranked="b")
        found = Exams(
            side(asked("q1", ["a"], query="pay now")),
            side(asked("q1", ["a"], query="pay  now\u200b"), asked_for_base=[old]),
        )
        assert found.base["q1"].after is not None
        assert found.base["q1"].after.query == "pay now"
        assert found.head["q1"].before is None
        assert found.changes.pairing.reworded == ("q1",)

    def test_another_asker_is_another_question(self) -> None:
        ann, ben = Asker(principal="a" * 16), Asker(principal="b" * 16)
        found = Exams(side(asked("q1", ["a"], acl=ann)), side(asked("q1", ["a"], acl=ben)))
        assert found.base["q1"].unknown == "not-asked"
        assert found.changes.pairing.access_changed == found.changes.withdrawn == ("q1",)

    def test_a_question_declared_unanswerable_keeps_its_labels(self) -> None:
        found = Exams(side(asked("q1", ["a"])), side(asked("q1", Unanswerable())))
        assert found.base["q1"].labels_after.judgments == Grades({"a": 1})
        assert found.changes.withdrawn == ("q1",)

    def test_another_unit_withdraws_every_question(self) -> None:
        found = Exams(side(asked("q1", ["a"])), side(asked("q1", ["a"]), unit="chunk"))
        assert found.changes.withdrawn == ("q1",)


class TestLabelsFollowTexts:
    RENAMED = without("a", plus=[Chunk(id="z#0", doc="z", text="text of a")])

    def test_a_renamed_document_is_no_loss_whoever_follows_it(self) -> None:
        before = side(asked("q1", ["a"]))
        for label in ("a", "z"):
            after = side(asked("q1", [label], corpus=self.RENAMED, ranked="zbc"), corpus=self.RENAMED)
            found = Exams(before, after)
            assert found.base["q1"].labels_after.judgments == Grades({"z": 1}), label
            assert found.head["q1"].labels_after.judgments == Grades({"z": 1}), label
            assert found.base["q1"].unknown == ""
            assert found.base["q1"].moved == {"a": "z"}
            assert found.changes.withdrawn == ()

    def test_a_rename_does_not_hide_a_new_label(self) -> None:
        after = side(asked("q1", ["b"], corpus=self.RENAMED, ranked="bcz"), corpus=self.RENAMED)
        found = Exams(side(asked("q1", ["a"])), after)
        assert found.base["q1"].labels_after.judgments == Grades({"z": 1})
        assert found.changes.withdrawn == ("q1",)

    def test_what_is_gone_is_a_loss_where_the_head_left_the_row_alone(self) -> None:
        corpus = without("a")
        found = Exams(side(asked("q1", ["a"])), side(asked("q1", ["a"], corpus=corpus), corpus=corpus))
        assert found.base["q1"].unknown == ""

    def test_what_is_gone_is_unknown_where_the_head_changed_the_row(self) -> None:
        corpus = without("a")
        found = Exams(side(asked("q1", ["a"])), side(asked("q1", ["b"], corpus=corpus), corpus=corpus))
        assert found.base["q1"].unknown == "label-gone"

    def test_a_gone_negative_does_not_matter(self) -> None:
        corpus = without("a")
        judged = {"b": 1, "a": 0}
        found = Exams(side(asked("q1", judged)), side(asked("q1", {"b": 1}, corpus=corpus), corpus=corpus))
        assert found.base["q1"].unknown == ""

    def test_two_heirs_are_unknown(self) -> None:
        corpus = without("a", plus=[Chunk(id=f"{n}#0", doc=n, text="text of a") for n in "yz"])
        found = Exams(
            side(asked("q1", ["a"])), side(asked("q1", ["a"], corpus=corpus, ranked="yz"), corpus=corpus)
        )
        assert found.base["q1"].unknown == found.head["q1"].unknown == "several-successors"

    def test_what_is_gone_of_a_corpus_that_was_cut_anew_is_unknown_in_both(self) -> None:
        old = chunks({name: [f"{name}{n}" for n in range(4)] for name in "abcd"})
        new = tuple(
            replace(one, id=f"v2-{one.id}") for one in chunks({name: [f"{name} all"] for name in "abcd"})
        )
        before = run([row("q1", ["a#0", "b#0"], ["a#0"], old)], old, unit="chunk")
        found = Exams(before, run([row("q1", ["v2-a#0"], ["a#0"], new)], new, unit="chunk"))
        assert found.base["q1"].unknown == found.head["q1"].unknown == "label-gone"

    def test_a_group_is_unclear_only_where_nothing_of_it_is_left(self) -> None:
        corpus = without("a", plus=[Chunk(id=f"{n}#0", doc=n, text="text of a") for n in "yz"])

        def unknown(*groups: tuple[str, ...]) -> str:
            after = side(asked("q1", Groups(groups), corpus=corpus, ranked="bc"), corpus=corpus)
            return Exams(side(asked("q1", Groups(groups))), after).base["q1"].unknown

        assert unknown(("a", "b")) == ""
        assert unknown(("b",), ("a", "never")) == "several-successors"
        assert unknown(("never",)) == ""

    @pytest.mark.parametrize("label", ["a#0", "new#0"])
    def test_chunks_of_a_corpus_that_was_cut_anew_are_unknown(self, label: str) -> None:
        old = chunks({name: [f"{name}{n}" for n in range(4)] for name in "abcd"})
        new = chunks({name: [f"{name}0{name}1", f"{name}2{name}3"] for name in "abcd"})
        before = run([row("q1", ["a#0", "b#0"], ["a#0"], old)], old, unit="chunk")
        after = run([row("q1", ["a#0", "b#0"], [label], new)], new, unit="chunk")
        assert Exams(before, after).base["q1"].unknown == "other-text"


class TestQuotes:
    ITEM = EvidenceItem(doc="a", quote="text of a", chunks=("a#0",))

    def exam(self, *, known: EvidenceItems | None, label: EvidenceItem = ITEM) -> Exams:
        corpus = without("a", plus=[Chunk(id="z#0", doc="z", text="a longer text of a and more")])
        before = side(asked("q1", EvidenceItems((self.ITEM,))), unit="evidence")
        after = asked("q1", EvidenceItems((label,)), corpus=corpus, ranked="z", base_judgments=known)
        return Exams(before, side(after, corpus=corpus, unit="evidence"))

    def test_they_are_marked_where_the_evaluation_found_them(self) -> None:
        here = EvidenceItems((EvidenceItem(doc="a", quote="text of a", chunks=("z#0",)),))
        found = self.exam(known=here, label=EvidenceItem(doc="z", quote="other", chunks=()))
        assert found.base["q1"].labels_after.judgments == here
        assert found.base["q1"].unknown == ""

    def test_a_quote_that_is_gone_is_a_loss_or_unknown_by_who_left_it(self) -> None:
        nowhere = EvidenceItems((EvidenceItem(doc="a", quote="text of a", chunks=()),))
        left = self.exam(known=nowhere, label=EvidenceItem(doc="a", quote="text of a", chunks=()))
        assert left.base["q1"].unknown == ""
        touched = self.exam(known=nowhere, label=EvidenceItem(doc="b", quote="text of b", chunks=()))
        assert touched.base["q1"].unknown == "label-gone"
        assert left.head["q1"].unknown == ""


class TestQuotesByHashes:
    """A record that was made without the base's labels: only hashes say where a quote is now."""

    OLD = chunks({"a": ["one", "two"], "b": ["three"], "c": ["four"]})
    ITEM = EvidenceItem(doc="a", quote="one", chunks=("a#0",))

    def exam(
        self,
        texts: dict[str, list[str]],
        label: Any = None,
        *,
        item: EvidenceItem = ITEM,
        retrieved: Sequence[str] = (),
        prefix: str = "",
    ) -> Exams:
        corpus = tuple(replace(one, id=f"{prefix}{one.id}") for one in chunks(texts))
        before = run([row("q1", ["b#0"], EvidenceItems((item,)), self.OLD)], self.OLD, unit="evidence")
        judged = label if label is not None else EvidenceItems((EvidenceItem(doc="b", quote="three"),))
        after = row("q1", [f"{prefix}{name}" for name in retrieved], judged, corpus)
        return Exams(before, run([after], corpus, unit="evidence"))

    def held(self, found: Exams) -> tuple[str, tuple[str, ...] | None]:
        one = found.base["q1"]
        labels = one.labels_after.judgments
        assert isinstance(labels, EvidenceItems)
        return one.unknown, labels.items[0].chunks

    def test_a_document_that_did_not_change_holds_it_as_before(self) -> None:
        same = {"a": ["one", "two"], "b": ["three"], "c": ["four"]}
        assert self.held(self.exam(same)) == ("", ("a#0",))

    def test_chunks_are_followed_by_their_texts(self) -> None:
        same = {"a": ["one", "two"], "b": ["three"], "c": ["four"]}
        assert self.held(self.exam(same, retrieved=["a#0"], prefix="v2-")) == ("", ("v2-a#0",))
        swapped = {"a": ["two", "one"], "b": ["three"], "c": ["four"]}
        assert self.held(self.exam(swapped))[0] == "texts-gone"

    def test_a_renamed_document_is_where_it_is_looked_up(self) -> None:
        renamed = {"z": ["one", "two"], "b": ["three"], "c": ["four"]}
        assert self.held(self.exam(renamed, retrieved=["z#0"])) == ("", ("z#0",))
        told = EvidenceItems((EvidenceItem(doc="z", quote="one", chunks=("z#0",)),))
        followed = self.exam(renamed, told, retrieved=["z#0"])
        assert self.held(followed) == ("", ("z#0",))
        assert followed.changes.withdrawn == ()

    def test_a_document_that_changed_cannot_be_told(self) -> None:
        edited = {"a": ["one", "2"], "b": ["three"], "c": ["four"]}
        assert self.held(self.exam(edited))[0] == "texts-gone"

    def test_a_quote_that_nothing_held_cannot_be_told(self) -> None:
        same = {"a": ["one", "two"], "b": ["three"], "c": ["four"]}
        nowhere = EvidenceItem(doc="a", quote="never there")
        assert self.held(self.exam(same, item=nowhere))[0] == "texts-gone"
        elsewhere = EvidenceItem(doc="never", quote="never there")
        assert self.held(self.exam(same, item=elsewhere))[0] == "texts-gone"

    def test_without_its_document_it_is_lost_and_unknown_where_the_row_changed(self) -> None:
        gone = {"b": ["three"], "c": ["four"]}
        assert self.held(self.exam(gone)) == ("label-gone", ())


class TestHeadExam:
    def test_a_new_question_has_no_baseline(self) -> None:
        found = Exams(side(asked("q1", ["a"])), side(asked("q1", ["a"]), asked("q2", ["b"])))
        assert found.head["q2"].before is None
        assert found.changes.pairing.new == ("q2",)
        assert found.changes.withdrawn == ()

    def test_labels_that_the_old_corpus_could_not_have_met_leave_the_relative_rows(self) -> None:
        corpus = (*CORPUS, *plain_chunks(["n"]))
        found = Exams(side(asked("q1", ["a"])), side(asked("q1", ["n"], corpus=corpus), corpus=corpus))
        assert found.head["q1"].before is None
        assert found.base["q1"].unknown == ""

    def test_new_labels_of_old_documents_are_applied_to_both_runs(self) -> None:
        found = Exams(side(asked("q1", ["a"])), side(asked("q1", ["b"])))
        assert found.head["q1"].labels_before.judgments == Grades({"b": 1})


class TestSinceTheBaseline:
    def test_what_the_base_branch_did_is_not_this_pull_request(self) -> None:
        before = side(asked("q1", ["a"]), asked("q2", ["b"]), asked("q3", ["c"]))
        after = side(asked("q1", ["b"]), asked("q3", ["a"]), asked("q4", ["a"]))
        q3 = before.queries[2]
        base = BaseCommit(asks=frozenset({(q3.query_sha256, None)}), unchanged=frozenset({"q1", "q4"}))
        found = Exams(before, after, base).changes
        assert found.pairing.removed == ("q2",)
        assert found.pairing.relabelled == ("q1", "q3")
        assert found.pairing.since_baseline == ("q1", "q2", "q4")
        assert found.withdrawn == ("q3",)

    def test_a_tag_that_the_base_branch_took_off_is_not_this_pull_request_s(self) -> None:
        before = side(asked("q1", ["a"], tags=("critical", "x")), asked("q2", ["b"], tags=("critical",)))
        after = side(asked("q1", ["a"], tags=("x", "y")), asked("q2", ["b"]))
        assert Exams(before, after).changes.untagged == {
            "q1": frozenset({"critical"}),
            "q2": frozenset({"critical"}),
        }
        base = BaseCommit(asks=frozenset(), unchanged=frozenset({"q2"}))
        assert set(Exams(before, after, base).changes.untagged) == {"q1"}


def test_an_older_record_is_matched_by_text_alone() -> None:
    ann = Asker(principal="a" * 16)
    found = Exams(side(asked("q1", ["a"]), exam=None), side(asked("q1", ["a"], acl=ann)))
    assert found.base["q1"].unknown == ""
