"""Labels put on another run: only where that run could have answered, and a loss stays a loss."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rageval_action.core.labels.label_transfer import (
    Applied,
    Kept,
    Relabelled,
    Resolved,
    Side,
    evidence_of,
    onto_baseline,
    own,
    same_labels,
)
from rageval_action.core.model.corpus import Lookup, corpus_of
from rageval_action.core.model.record import QueryRow
from rageval_action.core.model.types import (
    Chunk,
    EvidenceItem,
    EvidenceItems,
    Grades,
    Groups,
    Hit,
    Judgments,
    Unanswerable,
    Unit,
)
from tests.synthetic_runs import chunks, plain_chunks, row

CORPUS = plain_chunks(["a", "b", "c"])


def side(corpus: Sequence[Chunk] = CORPUS, unit: Unit = "document") -> Side:
    return Side(Lookup(corpus_of(corpus)), unit)


def one(judgments: Judgments, ranked: Sequence[str] = (), corpus: Sequence[Chunk] = CORPUS) -> QueryRow:
    return row("q", ranked, judgments, corpus)


def quote(text: str, *held: str, doc: str = "a", start: int = -1) -> EvidenceItem:
    return EvidenceItem(doc=doc, quote=text, start=start, chunks=held)


def items(*found: EvidenceItem) -> EvidenceItems:
    return EvidenceItems(found)


def applied(found: Relabelled) -> Judgments:
    assert isinstance(found, Applied), found
    return found.judgments


def reason(found: Relabelled) -> str:
    assert isinstance(found, Kept), found
    return found.reason


class TestSameLabels:
    @pytest.mark.parametrize(
        ("before", "after", "same"),
        [
            (Grades({"a": 1, "b": 2}), Grades({"b": 2, "a": 1}), True),
            (Grades({"a": 1}), Grades({"a": 2}), False),
            (Grades({"a": 1}), Grades({"a": 1, "b": 0}), False),
            (Grades({"a": 1}), Grades({"a": 1, "b": -1}), True),
            (Groups((("a", "b"), ("c",))), Groups((("c",), ("b", "a"))), True),
            (Groups((("a", "b"),)), Groups((("a",), ("b",))), False),
            (Grades({"a": 1}), Groups((("a",),)), False),
            (Groups(()), EvidenceItems(()), False),
            (items(quote("x", "a#0")), items(quote("x", "a#7")), True),
            (items(quote("x"), quote("y")), items(quote("y"), quote("x")), True),
            (items(quote("x")), items(quote("y")), False),
            (items(quote("x", doc="a")), items(quote("x", doc="b")), False),
            (items(quote("x", start=1)), items(quote("x", start=2)), False),
            (Unanswerable(), Unanswerable(), True),
            (Unanswerable(), Grades({}), False),
        ],
    )
    def test_same(self, before: Judgments, after: Judgments, same: bool) -> None:
        assert same_labels(Applied(before, "document"), Applied(after, "document")) is same
        assert same_labels(Applied(after, "document"), Applied(before, "document")) is same

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [("document", "chunk", False), ("chunk", "evidence", True), ("evidence", "document", False)],
    )
    def test_the_space_of_ids_counts(self, one: Unit, other: Unit, same: bool) -> None:
        assert same_labels(Applied(Grades({"a": 1}), one), Applied(Grades({"a": 1}), other)) is same

    def test_own(self) -> None:
        assert own(one(Grades({"a": 1})), side()) == Applied(Grades({"a": 1}), "document")
        found = own(one(items(quote("x", "a#0"))), side())
        assert found.unit == "evidence"


class TestOntoBaseline:
    def fit(
        self, new: Judgments, old: Judgments, *, unit: Unit = "document", before: Unit = "document"
    ) -> Relabelled:
        return onto_baseline(one(new), one(old), side(unit=before), side(unit=unit))

    def test_equal_labels_are_the_baseline_s_own(self) -> None:
        old, new = items(quote("x", "a#0")), items(quote("x", "a#9"))
        assert applied(self.fit(new, old)) == old

    def test_new_labels_that_the_old_corpus_could_answer(self) -> None:
        found = self.fit(Grades({"a": 1, "b": 2}), Grades({"c": 1}))
        assert found == Applied(Grades({"a": 1, "b": 2}), "document")

    def test_a_label_that_neither_corpus_nor_old_labels_knew(self) -> None:
        assert (
            reason(self.fit(Grades({"a": 1, "zz": 1}), Grades({"a": 1})))
            == '"zz" was not in the baseline\'s corpus'
        )

    def test_a_label_that_the_old_labels_knew_although_the_corpus_did_not(self) -> None:
        assert isinstance(self.fit(Grades({"a": 1, "zz": 1}), Grades({"zz": 0})), Applied)
        assert isinstance(self.fit(Grades({"a": 1, "zz": 1}), Grades({"zz": 3})), Applied)
        assert isinstance(self.fit(Grades({"zz": 1}), Groups((("a", "zz"),))), Applied)

    @pytest.mark.parametrize("grade", [0, -1])
    def test_unknown_ids_without_relevance_do_not_matter(self, grade: int) -> None:
        assert isinstance(self.fit(Grades({"a": 1, "zz": grade}), Grades({"b": 1})), Applied)

    def test_a_group_needs_one_member_that_was_there(self) -> None:
        assert isinstance(self.fit(Groups((("zz", "a"),)), Grades({"b": 1})), Applied)
        assert reason(self.fit(Groups((("a",), ("zz", "yy"))), Grades({"b": 1}))).startswith(
            '"zz | yy" was not'
        )

    def test_nothing_answers_any_more(self) -> None:
        assert applied(self.fit(Unanswerable(), Grades({"a": 1}))) == Unanswerable()

    def test_another_unit(self) -> None:
        found = self.fit(Grades({"a#0": 1}), Grades({"a": 1}), unit="chunk")
        assert found == Applied(Grades({"a#0": 1}), "chunk")
        assert isinstance(
            self.fit(Grades({"a": 1}), Grades({"a#0": 1}), unit="document", before="chunk"), Applied
        )

    def test_a_known_name_of_another_unit_is_not_known(self) -> None:
        assert isinstance(self.fit(Grades({"zz": 1}), Grades({"zz": 2}), unit="chunk"), Kept)

    def test_evidence_with_no_texts_left_is_kept(self) -> None:
        found = onto_baseline(
            one(items(quote("a rather long quote " * 9, "b#0", doc="b"))),
            one(Grades({"a": 1})),
            side(),
            side(chunks({"a": "text of a", "b": "rewritten", "c": "text of c"})),
        )
        quoted = ("a rather long quote " * 9)[:60]
        assert reason(found) == f'the texts that would show whether "{quoted}" was found are gone'

    def test_evidence_in_a_document_that_did_not_change(self) -> None:
        new = items(quote("text", "a#0"))
        assert onto_baseline(one(new), one(Grades({"b": 1})), side(), side()) == Resolved(new, "evidence")

    def test_evidence_in_a_document_that_the_baseline_did_not_have(self) -> None:
        fresh = chunks({"a": "text of a", "b": "text of b", "c": "text of c", "d": "new words"})
        asked = one(items(quote("new", "d#0", doc="d", start=0)), corpus=fresh)
        found = onto_baseline(asked, one(Grades({"b": 1}), ["a"]), side(), side(fresh))
        assert isinstance(found, Kept)

    def test_every_chunk_of_an_item_must_be_the_same(self) -> None:
        before, after = chunks({"a": ["x", "y", "z"]}), chunks({"a": ["x", "z", "y"]})
        asked = row("q", [], items(quote("x y", "a#0", "a#1")), after)
        assert isinstance(onto_baseline(asked, row("q", [], ["b"], before), side(before), side(after)), Kept)
        asked = row("q", [], items(quote("x", "a#0")), after)
        assert isinstance(
            onto_baseline(asked, row("q", [], ["b"], before), side(before), side(after)), Resolved
        )

    def test_evidence_of_one_side_is_resolved_by_that_side(self) -> None:
        old = items(quote("x", "a#0"), quote("y", "a#1"))
        new = items(quote("x", "a#5"), quote("text", "b#0", doc="b"))
        assert applied(onto_baseline(one(new), one(old), side(), side())) == items(
            quote("x", "a#0"), new.items[1]
        )


class TestRechunked:
    def test_an_id_that_held_another_text_cannot_be_held_against_the_old_run(self) -> None:
        before, after = chunks({"a": ["one", "two"], "b": ["x"]}), chunks({"a": ["one two"], "b": ["x"]})

        def fit(name: str, *, rechunked: bool, unit: Unit = "chunk") -> Relabelled:
            asked, had = row("q", [], [name], after), row("q", [], ["b#0"], before)
            return onto_baseline(asked, had, side(before, unit), side(after, unit), rechunked=rechunked)

        assert reason(fit("a#0", rechunked=True)) == '"a#0" was another text in the baseline\'s corpus'
        assert isinstance(fit("a#0", rechunked=False), Applied)
        same = chunks({"a": ["one", "two"], "b": ["x"], "c": ["y"]})
        asked = row("q", [], ["a#0"], same)
        fitted = onto_baseline(
            asked,
            row("q", [], ["b#0"], before),
            side(before, "chunk"),
            side(same, "chunk"),
            rechunked=True,
        )
        assert isinstance(fitted, Applied)
        assert isinstance(fit("a", rechunked=True, unit="document"), Applied)


class TestSpans:
    OLD = chunks({"a": ["0123456789", "abcdefghij"], "b": "text"})
    NEW = (
        *(Chunk(id=f"n{chunk.id}", doc=chunk.doc, text=chunk.text) for chunk in OLD if chunk.doc == "a"),
        *chunks({"b": "text"}),
    )

    def fit(self, item: EvidenceItem, ranked: Sequence[str], new: Sequence[Chunk]) -> Relabelled:
        before = row("q", ranked, ["b"], self.OLD)
        return onto_baseline(one(items(item)), before, side(self.OLD), side(new))

    @pytest.mark.parametrize(
        ("start", "text", "held"),
        [
            (0, "0123", ("a#0",)),
            (8, "89", ("a#0",)),
            (8, "89a", ("a#0", "a#1")),
            (10, "a", ("a#1",)),
            (19, "j", ("a#1",)),
            (20, "x", ()),
        ],
    )
    def test_hits_that_overlap_the_span(self, start: int, text: str, held: tuple[str, ...]) -> None:
        item = quote(text, "na#0", start=start)
        assert applied(self.fit(item, ["a#0", "b#0", "a#1"], self.NEW)) == items(
            quote(text, *held, start=start)
        )

    def test_only_hits_count(self) -> None:
        assert applied(self.fit(quote("a", "na#1", start=10), ["a#0"], self.NEW)) == items(
            quote("a", start=10)
        )

    def test_not_without_an_offset(self) -> None:
        assert isinstance(self.fit(quote("a", "na#1"), ["a#1"], self.NEW), Kept)

    def test_not_in_a_document_that_changed(self) -> None:
        other = chunks({"a": ["0123456789x", "abcdefghij"], "b": "text"})
        assert isinstance(self.fit(quote("a", "a#1", start=11), ["a#1"], other), Kept)

    def test_not_when_a_hit_has_no_span(self) -> None:
        before = row("q", ["a#1"], ["b"], self.OLD)
        bare = QueryRow(
            query_id="q",
            query_sha256="",
            judgments=before.judgments,
            results=(*before.results, Hit(id="x", doc="x", rank=2, score=0.1)),
        )
        found = evidence_of([quote("a", start=10)], bare)
        assert isinstance(found, Kept)
        assert isinstance(evidence_of([quote("a", start=10)], before), Resolved)

    def test_an_item_that_is_a_whole_document(self) -> None:
        before = row("q", ["a#0", "b#0", "a#1"], ["b"], self.OLD)
        found = evidence_of([EvidenceItem(doc="a", quote=""), EvidenceItem.whole(["b", "c"])], before)
        assert applied(found) == items(
            EvidenceItem(doc="a", quote="", chunks=("a#0", "a#1")),
            EvidenceItem(doc="b | c", quote="", chunks=("b#0",), documents=("b", "c")),
        )

    def test_a_bar_in_an_id_makes_no_two_documents_of_it(self) -> None:
        before = row("q", ["b#0", "b | c#0"], ["b"], chunks({"b": "one", "c": "two", "b | c": "three"}))
        assert applied(evidence_of([EvidenceItem.whole(["b | c"])], before)) == items(
            EvidenceItem(doc="b | c", quote="", chunks=("b | c#0",))
        )

    def test_chunks_that_are_not_the_same_are_not_settled(self) -> None:
        swapped = chunks({"a": ["abcdefghij", "0123456789"], "b": "text"})
        found = self.fit(quote("a", "a#0", start=-1), ["a#0"], swapped)
        assert isinstance(found, Kept)
