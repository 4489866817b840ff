"""Pairs, labels and rows: what two records say about each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison, SameExam, compare
from rageval_action.core.comparing.measure_rows import MeasureRow, MeasureTable
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import EvidenceItem, EvidenceItems, Judgments, Unanswerable
from rageval_action.core.statistics.paired_comparison import guarded_bounds, holm, paired, read
from tests.synthetic_runs import FILLERS, amended, chunks, compared, plain_chunks, ranked, row, run

CORPUS = plain_chunks([*FILLERS, "a", "b", "r", "s"])
RANKED = ["r", "f1", "a", "f2", "b", "f3", "f4", "s"]


def of(table: MeasureTable, measure: str = "recall@5", part: str = "") -> MeasureRow:
    found = table.row(measure, part)
    assert found is not None
    return found


def head(comparison: Comparison) -> MeasureTable:
    assert isinstance(comparison.head, MeasureTable)
    return comparison.head


def pair(
    before: Judgments | Sequence[str] | Mapping[str, int],
    after: Judgments | Sequence[str] | Mapping[str, int],
    *,
    ranked_before: Sequence[str] = RANKED,
    ranked_after: Sequence[str] = RANKED,
    **more: Any,
) -> Comparison:
    """One query on both sides, labels and rankings as given, over one corpus."""
    return compared(
        run([row("q", ranked_before, before, CORPUS)], CORPUS, **more),
        run([row("q", ranked_after, after, CORPUS)], CORPUS, **more),
    )


class TestPairing:
    def test_by_text_then_id_in_the_order_of_the_base(self) -> None:
        def made(*queries: tuple[str, str]) -> RunRecord:
            return run([row(name, RANKED, ["r"], CORPUS, query=text) for name, text in queries], CORPUS)

        before = made(("z", "one"), ("b", "old words"), ("gone", "x"), ("é", "two"), ("A", "three"))
        after = made(("é", "two"), ("fresh", "y"), ("A", "three"), ("b", "new words"), ("moved", "one"))
        found = compared(before, after)
        pairing = found.golden.pairing
        assert pairing.paired == 3
        assert (pairing.new, pairing.removed, pairing.reworded) == (("fresh",), ("gone",), ("b",))
        assert pairing.renamed == ("moved",)
        assert found.base.ids == ("moved", "b", "gone", "é", "A")
        assert found.base.unknown == ("", "not-asked", "not-asked", "", "")
        assert head(found).ids == ("é", "A", "moved")

    def test_texts_that_agree_in_nfc_are_one_text(self) -> None:
        before = run([row("q", RANKED, ["r"], CORPUS, query="cafe\u0301")], CORPUS)
        after = run([row("q", RANKED, ["r"], CORPUS, query="caf\u00e9")], CORPUS)
        assert isinstance(compared(before, after).head, SameExam)

    def test_a_switched_off_text_is_still_compared(self) -> None:
        before = run([row("q", RANKED, ["r"], CORPUS)], CORPUS)
        bare = RunRecord(
            record=before.record, queries=(replace(before.queries[0], query=""),), corpus=before.corpus
        )
        assert compared(before, bare).golden.pairing.paired == 1

    def test_fresh_ids_at_each_export_change_nothing(self) -> None:
        before = ranked([1, 2, 0])
        rows = tuple(replace(one, query_id=f"new-{one.query_id}") for one in before.queries)
        found = compared(before, RunRecord(record=before.record, queries=rows, corpus=before.corpus))
        assert found.golden.pairing.renamed == ("new-q000", "new-q001", "new-q002")
        assert found.golden.withdrawn == ()
        assert of(found.base).n == 3
        assert of(found.base).delta == 0.0

    def test_nothing_that_the_base_asks_was_asked(self) -> None:
        before = run([row("a", RANKED, ["r"], CORPUS)], CORPUS)
        after = run([row("b", RANKED, ["s"], CORPUS)], CORPUS)
        found = compared(before, after)
        assert (found.base.ids, found.base.unknown, found.base.rows) == (("a",), ("not-asked",), ())
        assert (head(found).ids, head(found).rows) == ((), ())

    def test_row_order_decides_no_number(self) -> None:
        before, after = ranked([1, 2, 0, 7, 3]), ranked([2, 9, 1, 0, 3])
        turned = RunRecord(record=after.record, queries=after.queries[::-1], corpus=after.corpus)
        one, other = compared(before, after), compared(before, turned)
        assert one.base.rows == other.base.rows
        assert one.queries == other.queries


class TestIdentical:
    @pytest.mark.parametrize("n", [1, 2, 3, 19, 20, 45])
    def test_difference_zero_and_no_width(self, n: int) -> None:
        made = ranked(
            [1 + (number * 5) % 13 for number in range(n)], tags={number: ["t"] for number in range(0, n, 2)}
        )
        found = compared(made, made)
        assert found.base.rows
        for line in found.base.rows:
            assert (line.delta, line.ci, line.bounds, line.p) == (0.0, (0.0, 0.0), (0.0, 0.0), 1.0)
            assert (line.better, line.worse, line.same) == (0, 0, line.n)
            assert line.reading == "unchanged"
            assert line.baseline == line.candidate
            assert (line.label_effect, line.unknown, line.exam) == (0.0, 0, "base")
        assert isinstance(found.head, SameExam)
        assert found.table("head") is found.table("base") is found.base
        assert (found.factors, found.caveats, found.golden.withdrawn) == ((), (), ())


class TestRows:
    BEFORE = ranked(
        [1, 2, 3, 0, 1, 1] * 8,
        tags={n: ["even"] if n % 2 == 0 else ["few"] if n < 9 else [] for n in range(48)},
    )
    AFTER = ranked(
        [2, 9, 3, 1, 0, 1] * 8,
        tags={n: ["even"] if n % 2 == 0 else ["few"] if n < 9 else [] for n in range(48)},
    )

    def test_numbers_are_those_of_the_statistics(self) -> None:
        found = compared(self.BEFORE, self.AFTER)
        line = of(found.base, "mrr")
        before = np.array([one.scores["mrr"] for one in self.BEFORE.queries])
        after = np.array([one.scores["mrr"] for one in self.AFTER.queries])
        wanted = paired(before, after)
        bounds = guarded_bounds(after - before)
        assert line == MeasureRow(
            measure="mrr",
            slice=None,
            n=48,
            baseline=wanted.baseline,
            candidate=wanted.candidate,
            delta=wanted.delta,
            ci=(wanted.ci.low, wanted.ci.high),
            bounds=(bounds.low, bounds.high),
            p=wanted.p,
            p_adjusted=None,
            reading=read(wanted, bounds, margin=0.02),
            better=wanted.better,
            worse=wanted.worse,
            same=wanted.same,
            mde=wanted.mde,
        )
        assert (line.better, line.worse, line.same) == (8, 24, 16)
        assert line.baseline == pytest.approx(np.mean(before))

    def test_all_queries_first_then_slices_by_name(self) -> None:
        found = compared(self.BEFORE, self.AFTER, "mrr", "recall@5")
        assert [(line.slice, line.measure) for line in found.base.rows] == [
            (None, "mrr"),
            (None, "recall@5"),
            ("tag:even", "mrr"),
            ("tag:even", "recall@5"),
            ("tag:few", "mrr"),
            ("tag:few", "recall@5"),
        ]
        assert [of(found.base, "mrr", part).n for part in ("", "tag:even", "tag:few")] == [48, 24, 4]

    def test_holm_over_slices_that_are_large_enough(self) -> None:
        tags = {number: [f"t{number % 3}"] for number in range(75)} | {75: ["tiny"]}
        before = ranked([1] * 76, tags=tags)
        after = ranked([0 if number % 7 == 0 else 1 for number in range(76)], tags=tags)
        table = compared(before, after, "recall@5", "mrr").base
        tested = [line for line in table.rows if line.slice in ("tag:t0", "tag:t1", "tag:t2")]
        assert [line.p_adjusted for line in tested] == holm([line.p for line in tested])
        assert len(tested) == 6
        assert all(line.p_adjusted is None for line in table.rows if line not in tested)

    def test_small_is_below_twenty(self) -> None:
        def table(size: int) -> MeasureTable:
            made = ranked([1] * 50, tags={number: ["t"] for number in range(size)})
            return compared(made, made).base

        assert of(table(19), part="tag:t").small
        assert of(table(19), part="tag:t").p_adjusted is None
        assert not of(table(20), part="tag:t").small
        assert of(table(20), part="tag:t").p_adjusted == 1.0

    def test_a_small_slice_rules_nothing_out(self) -> None:
        tags = {number: ["t"] for number in range(5)}
        found = compared(ranked([1] * 50, tags=tags), ranked([2] + [1] * 49, tags=tags))
        assert of(found.base, "mrr", "tag:t").bounds == (-1.0, 1.0)
        assert of(found.base, "recall@5", "tag:t").bounds == (0.0, 0.0)
        low, high = of(found.base, "mrr").bounds
        assert -1.0 < low < high < 1.0

    def test_all_queries_are_never_small(self) -> None:
        made = ranked([1, 1])
        assert not of(compared(made, made).base).small

    def test_a_slice_of_all_queries_has_no_row_but_an_answer(self) -> None:
        table = compared(self.BEFORE, self.AFTER).base
        assert len(table.parts["source:human"]) == len(table.ids)
        assert table.row("mrr", "source:human") is table.row("mrr")
        assert table.row("mrr", "tag:nothing") is None
        assert table.row("map") is None

    def test_depth_is_the_smaller_one(self) -> None:
        before, after = ranked([1, 9], depth=8), ranked([9, 1], depth=100)
        for one, other in ((before, after), (after, before)):
            found = compared(one, other, "mrr", "map")
            assert found.depth == 8
            assert of(found.base, "mrr").delta == 0.0
            assert sorted((of(found.base, "mrr").baseline, of(found.base, "mrr").candidate)) == [0.5, 0.5]
            assert [note.code for note in found.caveats] == ["depth"]
        assert of(compared(after, after, "mrr").base, "mrr").baseline == pytest.approx((1 / 9 + 1) / 2)

    def test_a_measure_that_no_record_stored(self) -> None:
        assert of(
            compared(ranked([1, 3]), ranked([1, 3]), "precision@3").base, "precision@3"
        ).baseline == pytest.approx(1 / 3)

    def test_undefined_scores_stay_out(self) -> None:
        before = run([row("a", [], ["r"], CORPUS), row("b", RANKED, ["r"], CORPUS)], CORPUS)
        after = run([row("a", RANKED, ["r"], CORPUS), row("b", RANKED, ["r"], CORPUS)], CORPUS)
        table = compared(before, after, "judged@5", "recall@5").base
        assert (of(table, "judged@5").n, of(table, "recall@5").n) == (1, 2)
        empty = run([row("a", [], ["r"], CORPUS)], CORPUS)
        assert compared(empty, empty, "judged@5").base.rows == ()

    def test_a_failed_query_scores_0_and_stays_in(self) -> None:
        after = run([row("q", [], ["r"], CORPUS, error="timeout")], CORPUS)
        line = of(compared(run([row("q", RANKED, ["r"], CORPUS)], CORPUS), after).base)
        assert (line.n, line.baseline, line.candidate) == (1, 1.0, 0.0)


class TestBaseExam:
    def test_a_deleted_question_is_compared_all_the_same(self) -> None:
        before = ranked([1, 1, 1])
        lost = replace(ranked([1, 1, 0]).queries[2], asked_for="base")
        after = ranked([1, 1, 0])
        after = RunRecord(
            record=amended(after, queries=2).record,
            queries=after.queries[:2],
            corpus=after.corpus,
            asked_for_base=(lost,),
        )
        found = compared(before, after)
        assert of(found.base).worse == 1
        assert of(head(found)).worse == 0
        assert [(one.id, one.exam, one.change) for one in found.queries] == [("q002", "base", "lost")]

    def test_new_labels_decide_nothing_in_it(self) -> None:
        found = pair({"r": 1}, {"a": 1}, ranked_after=["a", "f1"])
        assert (of(found.base).baseline, of(found.base).candidate) == (1.0, 0.0)
        assert of(head(found)).delta == 0.0
        assert found.golden.withdrawn == ("q",)

    def test_unknown_scores_are_counted_and_enter_no_mean(self) -> None:
        before = ranked([1, 1, 0, 1], tags={0: ["t"], 1: ["t"]})
        after = ranked([0, 1, 0, 1], tags={0: ["t"], 1: ["t"]})
        after = RunRecord(record=after.record, queries=after.queries[1:], corpus=after.corpus)
        found = compared(before, after)
        line = of(found.base)
        assert (line.n, line.unknown, line.baseline, line.candidate) == (3, 1, 2 / 3, 2 / 3)
        assert (of(found.base, part="tag:t").n, of(found.base, part="tag:t").unknown) == (1, 1)
        drop = found.base.drop("recall@5")
        assert drop is not None
        assert (drop.known_before.tolist(), drop.unknown_before.tolist()) == ([1.0, 0.0, 1.0], [1.0])
        assert not any(one.id == "q000" for one in found.queries)

    def test_a_slice_keeps_the_tags_of_its_exam(self) -> None:
        before = ranked([1] * 4, tags={0: ["critical"], 1: ["critical"]})
        after = ranked([0, 1, 1, 1], tags={1: ["critical"]})
        found = compared(before, after)
        assert of(found.base, part="tag:critical").delta == -0.5
        assert of(head(found), part="tag:critical").delta == 0.0
        assert found.base.tags == (frozenset({"critical"}), frozenset({"critical"}), frozenset(), frozenset())
        assert (found.golden.pairing.retagged, found.golden.pairing.relabelled) == (("q000",), ())
        assert found.golden.untagged == {"q000": frozenset({"critical"})}
        assert [note.code for note in found.caveats] == ["golden.retagged"]

    def test_the_order_of_tags_is_no_change(self) -> None:
        found = compared(ranked([1], tags={0: ["x", "y"]}), ranked([1], tags={0: ["y", "x", "y"]}))
        assert isinstance(found.head, SameExam)

    def test_holm_counts_the_rows_of_one_exam(self) -> None:
        tags = {number: ["t"] for number in range(25)}
        more = {**tags, **{number: ["u"] for number in range(25, 50)}}
        before, after = ranked([1] * 60, tags=tags), ranked([0] * 7 + [1] * 53, tags=more)
        found = compared(before, after, "recall@5")
        base, own = of(found.base, part="tag:t"), of(head(found), part="tag:t")
        assert base.p == own.p
        assert base.p_adjusted == pytest.approx(base.p)
        assert own.p_adjusted == pytest.approx(2 * own.p)


class TestLabelEffect:
    def test_the_head_s_labels_are_put_on_both_runs(self) -> None:
        found = pair({"r": 1}, {"s": 1})
        line = of(head(found), "mrr")
        assert (line.baseline, line.candidate, line.delta) == (1 / 8, 1 / 8, 0.0)
        assert line.label_effect == 1 / 8 - 1
        assert found.golden.pairing.relabelled == ("q",)
        line = of(found.base, "mrr")
        assert (line.baseline, line.candidate, line.label_effect) == (1.0, 1.0, 0.0)

    def test_retrieval_and_labels_are_told_apart(self) -> None:
        found = pair({"r": 1}, {"s": 1}, ranked_after=["s", "r"])
        assert of(head(found), "mrr").delta == pytest.approx(1 - 1 / 8)
        assert of(head(found), "mrr").label_effect == pytest.approx(1 / 8 - 1)
        assert of(found.base, "mrr").delta == pytest.approx(1 / 2 - 1)

    def test_label_effect_is_a_mean_over_all_queries(self) -> None:
        before = run([row("a", RANKED, ["r"], CORPUS), row("b", RANKED, ["r"], CORPUS)], CORPUS)
        after = run([row("a", RANKED, ["r"], CORPUS), row("b", RANKED, ["s"], CORPUS)], CORPUS)
        assert of(head(compared(before, after))).label_effect == pytest.approx(-0.5)

    def test_what_the_old_corpus_could_not_answer_is_left_to_the_base(self) -> None:
        corpus = plain_chunks([*FILLERS, "r", "new"])
        before = run([row("q", RANKED, ["r"], CORPUS), row("q2", RANKED, ["r"], CORPUS)], CORPUS)
        after = run([row("q", ["new", "r"], ["new"], corpus), row("q2", ["r"], ["r"], corpus)], corpus)
        found = compared(before, after)
        assert head(found).ids == ("q2",)
        assert of(found.base, "mrr").candidate == pytest.approx((1 / 2 + 1) / 2)

    def test_lowering_the_bar_shows_in_the_base_s_exam(self) -> None:
        found = pair({"r": 1, "a": 1}, {"r": 1}, ranked_after=["r", "f1"])
        assert of(head(found)).delta == 0.0
        assert of(found.base).delta == -0.5


class TestUnanswerable:
    def test_an_answerable_query_that_became_unanswerable(self) -> None:
        found = pair({"r": 1}, Unanswerable(), ranked_after=["f1"])
        assert head(found).ids == ()
        assert of(found.base).delta == -1.0

    def test_an_unanswerable_query_that_became_answerable(self) -> None:
        found = pair(Unanswerable(), {"r": 1}, ranked_after=["f1"])
        assert found.base.ids == ()
        line = of(head(found))
        assert (line.baseline, line.candidate, line.label_effect) == (1.0, 0.0, 0.0)

    def test_new_labels_that_the_old_corpus_could_not_answer(self) -> None:
        corpus = plain_chunks([*FILLERS, "r", "new"])
        before = run([row("q", RANKED[:2], Unanswerable(), CORPUS), row("s", ["r"], ["r"], CORPUS)], CORPUS)
        after = run([row("q", ["f1"], ["new"], corpus), row("s", ["f1"], ["r"], corpus)], corpus)
        found = compared(before, after)
        assert found.base.ids == head(found).ids == ("s",)
        assert [one.id for one in found.queries] == ["s"]

    def test_unanswerable_on_both_sides(self) -> None:
        found = pair(Unanswerable(), Unanswerable())
        assert found.base.ids == ()
        assert found.golden.pairing.relabelled == ()


class TestUnits:
    CORPUS = chunks({"a": ["one", "two"], "b": "three"})

    def test_each_exam_marks_by_its_own(self) -> None:
        before = run([row("q", ["a#0", "b#0", "a#1"], ["a"], self.CORPUS)], self.CORPUS)
        after = run([row("q", ["a#0", "b#0", "a#1"], ["a#1"], self.CORPUS)], self.CORPUS, unit="chunk")
        found = compared(before, after)
        assert found.golden.pairing.relabelled == ("q",)
        assert of(found.base, "mrr").baseline == of(found.base, "mrr").candidate == 1.0
        assert of(head(found), "mrr").baseline == of(head(found), "mrr").candidate == 1 / 3
        assert of(head(found), "mrr").label_effect == pytest.approx(1 / 3 - 1)
        assert [one.name for one in found.factors] == ["unit", "golden set"]


class TestEvidence:
    def asked(self, *held: str) -> EvidenceItems:
        return EvidenceItems((EvidenceItem(doc="d", quote="two", chunks=held),))

    def test_across_another_chunking(self) -> None:
        before_chunks = chunks({"d": ["one", "two", "three"], "e": "x"})
        after_chunks = chunks({"d": ["one two", "three!"], "e": "x"})
        before = run(
            [row("q", ["e", "d#1"], self.asked("d#1"), before_chunks)], before_chunks, unit="evidence"
        )
        after = run([row("q", ["d#0"], self.asked("d#0"), after_chunks)], after_chunks, unit="evidence")
        found = compared(before, after)
        assert (of(found.base, "mrr").baseline, of(found.base, "mrr").candidate) == (0.5, 1.0)
        assert isinstance(found.head, SameExam)


class TestRechunked:
    BEFORE: Mapping[str, list[str]] = {f"d{n}": [f"first {n}", f"second {n}"] for n in range(6)}
    AFTER: Mapping[str, list[str]] = {f"d{n}": [f"first {n} ", f"and {n}", f"second {n}"] for n in range(6)}
    GONE: Mapping[str, list[str]] = {f"d{n}": [f"first {n} second", f"{n} end"] for n in range(6)}

    def made(
        self,
        texts: Mapping[str, list[str]],
        label: str,
        unit: str,
        *,
        prefix: str = "",
        found: str = "d{n}#1",
    ) -> RunRecord:
        corpus = [replace(one, id=f"{prefix}{one.id}") for one in chunks(texts)]
        rows: list[QueryRow] = [
            row(f"q{n}", [f"{prefix}{found.format(n=n)}"], {label.format(n=n): 1}, corpus) for n in range(6)
        ]
        return run(rows, corpus, unit=unit)

    def unknown(self, found: Comparison) -> set[str]:
        return {one.unknown for one in found.base_questions}

    def test_labels_follow_texts_that_stayed(self) -> None:
        before = self.made(self.BEFORE, "d{n}#1", "chunk")
        for label in ("d{n}#1", "v2-d{n}#2"):
            found = compared(before, self.made(self.AFTER, label, "chunk", prefix="v2-", found="d{n}#2"))
            assert found.caveats[0].code == "corpus.rechunked"
            assert self.unknown(found) == {""}
            assert of(found.base).delta == 0.0
            assert found.base_questions[0].moved == {"d0#1": "v2-d0#2"}

    def test_texts_that_are_gone_are_unknown_in_both_exams(self) -> None:
        before = self.made(self.BEFORE, "d{n}#1", "chunk")
        found = compared(before, self.made(self.GONE, "d{n}#1", "chunk", prefix="v2-"))
        assert self.unknown(found) == {"label-gone"}
        assert head(found).unknown == ("label-gone",) * 6
        assert found.base.rows == head(found).rows == ()
        assert found.queries == ()

    def test_new_labels_for_the_new_pieces_are_the_head_s_alone(self) -> None:
        before = self.made(self.BEFORE, "d{n}#1", "chunk")
        found = compared(before, self.made(self.GONE, "v2-d{n}#1", "chunk", prefix="v2-"))
        assert self.unknown(found) == {"label-gone"}
        assert head(found).ids == ()
        assert found.golden.withdrawn == tuple(f"q{n}" for n in range(6))

    def test_ids_that_name_another_text_now_are_unknown(self) -> None:
        short = {f"d{n}": [f"{n} {part}" for part in range(3)] for n in range(6)}
        long = {f"d{n}": [f"{n} 0 1", f"{n} 2"] for n in range(6)}
        found = compared(*(self.made(texts, "d{n}#1", "chunk") for texts in (short, long)))
        assert found.turnover.in_place
        assert self.unknown(found) == {"other-text"}
        assert head(found).unknown == ("other-text",) * 6
        assert [note.code for note in found.caveats[:2]] == ["corpus.rechunked", "labels.rewritten"]

    def test_a_label_whose_text_stayed_under_its_id_is_good(self) -> None:
        short = {f"d{n}": [f"{n} {part}" for part in range(3)] for n in range(6)}
        kept = {f"d{n}": [f"{n} 0", "1", "2", "end"] for n in range(6)}
        found = compared(*(self.made(texts, "d{n}#0", "chunk", found="d{n}#0") for texts in (short, kept)))
        assert found.turnover.in_place
        assert self.unknown(found) == {""}
        assert of(found.base).delta == 0.0

    def test_documents_are_marked_as_ever(self) -> None:
        found = compared(
            self.made(self.BEFORE, "d{n}", "document"),
            self.made(self.GONE, "d{n}", "document", prefix="v2-"),
        )
        assert found.caveats[0].code == "corpus.rechunked"
        assert isinstance(found.head, SameExam)
        assert of(found.base).delta == 0.0


class TestRenamedDocuments:
    def made(self, name: str, label: str) -> RunRecord:
        corpus = chunks({**{one: f"text of {one}" for one in FILLERS}, name: ["one", "two"]})
        rows = [row("q", [f"{name}#0", "f1"], [label], corpus), row("p", ["f2", "f1"], ["f1"], corpus)]
        return run(rows, corpus)

    @pytest.mark.parametrize("label", ["overrides", "accept-a-loss"])
    def test_a_renamed_document_is_no_loss_whichever_name_the_label_has(self, label: str) -> None:
        found = compared(self.made("overrides", "overrides"), self.made("accept-a-loss", label))
        for exam in ("base", "head"):
            assert of(found.table(exam)).delta == 0.0
        assert found.golden.withdrawn == ()
        assert found.queries == ()
        assert "labels.followed" in [note.code for note in found.caveats]

    def test_the_floors_follow_it_too(self) -> None:
        found = compared(self.made("overrides", "overrides"), self.made("accept-a-loss", "overrides"))
        scores = found.base.floor("recall@5")
        assert scores is not None
        assert (scores.known.tolist(), scores.unknown.tolist()) == ([1.0, 1.0], [])


class TestFloors:
    def test_they_count_every_question_of_their_exam(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "b", "r"])
        before = run([row("x", ["r"], ["r"], corpus), row("y", ["r"], ["r"], corpus)], corpus)
        new = row("n", ["f1"], ["a"], corpus, tags=("new",))
        found = compared(before, run([row("x", ["f1"], ["r"], corpus), new], corpus))
        base, own = found.base.floor("recall@5"), head(found).floor("recall@5")
        assert base is not None
        assert own is not None
        assert (base.known.tolist(), base.unknown.tolist()) == ([0.0], [1.0])
        assert own.known.tolist() == [0.0, 0.0]
        assert found.base.floor("recall@5", "tag:new") is None
        assert head(found).floor("recall@5", "tag:new") is not None

    def test_the_candidate_stands_at_its_own_depth(self) -> None:
        found = compared(ranked([1], depth=8), ranked([9], depth=100), "mrr")
        scores = found.base.floor("mrr")
        assert scores is not None
        assert scores.known.tolist() == [1 / 9]
        assert of(found.base, "mrr").candidate == 0.0

    def test_nothing_to_judge(self) -> None:
        found = pair(Unanswerable(), Unanswerable())
        assert found.base.floor("recall@5") is None
        assert found.base.drop("recall@5") is None


class TestCutoffs:
    CORPUS = chunks({"a": [f"a{n}" for n in range(6)], "b": "b", "c": "c", **dict.fromkeys("defg", "x")})

    def made(self, *names: str, **more: Any) -> RunRecord:
        return run([row("q", names, ["b"], self.CORPUS)], self.CORPUS, **more)

    def compare(self, before: RunRecord, after: RunRecord, cutoff: Any = "documents") -> Comparison:
        return compare(before, after, parse_measures(["recall@5"]), cutoff=cutoff)

    def test_chunks_count_where_the_policy_says_so(self) -> None:
        five = [f"a#{n}" for n in range(5)]
        before, after = self.made("b#0", *five), self.made(*five, "b#0")
        assert of(self.compare(before, after).base).delta == 0.0
        assert of(self.compare(before, after, "chunks").base).delta == -1.0
        assert self.compare(before, after, "chunks").cutoff == "chunks"

    def test_both_ways_are_told(self) -> None:
        five = [f"a#{n}" for n in range(5)]
        (view,) = self.compare(self.made("b#0", *five), self.made(*five, "b#0")).cutoffs
        assert (view.documents, view.chunks) == (1.0, 0.0)
        assert (view.documents_delta, view.chunks_delta) == (0.0, -1.0)
        assert (view.chunks_per_query.mean, view.chunks_per_query.max) == (6.0, 6)
        assert not view.disagree

    def test_they_disagree_where_the_signs_do(self) -> None:
        late = ["a#0", "a#1", "a#2", "a#3", "a#4", "b#0"]
        sixth = ["a#0", "c#0", "d#0", "e#0", "f#0", "b#0", "a#1"]

        def made(risen: list[str], fallen: list[str]) -> RunRecord:
            rows = [row("p", risen, ["b"], self.CORPUS), row("q", fallen, ["b"], self.CORPUS)]
            return run(rows, self.CORPUS)

        (view,) = self.compare(made(late, late), made(["b#0", *late], sixth)).cutoffs
        assert (view.documents_delta, view.chunks_delta) == (-0.5, 0.5)
        assert view.disagree

    def test_where_every_document_is_one_chunk_there_is_one_way(self) -> None:
        assert self.compare(ranked([1]), ranked([2])).cutoffs == ()
        judged = self.made("a#0", "a#1", "a#2", "a#3", "a#4", "a#5", unit="chunk")
        assert self.compare(judged, judged).cutoffs == ()

    def test_without_a_known_score_there_is_nothing_to_tell(self) -> None:
        many = [f"a#{n}" for n in range(6)]
        before = run([row("gone", many, ["b"], self.CORPUS)], self.CORPUS)
        assert self.compare(before, self.made(*many)).cutoffs == ()
        nothing = run([], self.CORPUS)
        assert self.compare(nothing, self.made(*many)).cutoffs == ()


def test_the_records_are_at_hand() -> None:
    before, after = ranked([1]), amended(ranked([1]), run_id="2")
    found = compared(before, after)
    assert found.baseline is before
    assert found.candidate is after
    assert found.k == 5
