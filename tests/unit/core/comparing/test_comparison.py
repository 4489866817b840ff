"""Pairing, labels and rows: what two records say about each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison, LabelsUnchanged
from rageval_action.core.comparing.measure_rows import MeasureRow, View
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import (
    EvidenceItem,
    EvidenceItems,
    Grades,
    Groups,
    Judgments,
    Unanswerable,
)
from rageval_action.core.statistics.paired_comparison import guarded_bounds, holm, paired, read
from tests.builders import FILLERS, amended, chunks, compared, plain_chunks, ranked, row, run

CORPUS = plain_chunks([*FILLERS, "a", "b", "r", "s"])
RANKED = ["r", "f1", "a", "f2", "b", "f3", "f4", "s"]


def of(view: View, measure: str = "recall@5", part: str = "") -> MeasureRow:
    found = view.row(measure, part)
    assert found is not None
    return found


def old(comparison: Comparison) -> View:
    assert isinstance(comparison.old_view, View)
    return comparison.old_view


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
    def test_by_id_and_text_in_bytewise_order(self) -> None:
        def made(*queries: tuple[str, str]) -> RunRecord:
            return run([row(name, RANKED, ["r"], CORPUS, query=text) for name, text in queries], CORPUS)

        before = made(
            ("z", "same"), ("b", "old words"), ("gone", "x"), ("é", "same"), ("A", "same"), ("away", "x")
        )
        after = made(
            ("é", "same"), ("fresh", "x"), ("A", "same"), ("b", "new words"), ("z", "same"), ("extra", "x")
        )
        found = compared(before, after)
        assert found.pairing.paired == 3
        assert found.pairing.new == ("extra", "fresh")
        assert found.pairing.removed == ("away", "gone")
        assert found.pairing.changed == ("b",)
        assert found.view.ids == ("A", "z", "é")
        assert (found.golden.new, found.golden.removed, found.golden.changed) == (
            ("extra", "fresh"),
            ("away", "gone"),
            ("b",),
        )

    def test_texts_that_agree_in_nfc_are_one_text(self) -> None:
        before = run([row("q", RANKED, ["r"], CORPUS, query="cafe\u0301")], CORPUS)
        after = run([row("q", RANKED, ["r"], CORPUS, query="caf\u00e9")], CORPUS)
        assert compared(before, after).pairing.paired == 1

    def test_a_switched_off_text_is_still_compared(self) -> None:
        before = run([row("q", RANKED, ["r"], CORPUS)], CORPUS)
        bare = RunRecord(
            record=before.record, queries=(replace(before.queries[0], query=""),), corpus=before.corpus
        )
        assert compared(before, bare).pairing.paired == 1

    def test_nothing_paired(self) -> None:
        before = run([row("a", RANKED, ["r"], CORPUS)], CORPUS)
        after = run([row("b", RANKED, ["r"], CORPUS)], CORPUS)
        found = compared(before, after)
        assert (found.view.ids, found.view.rows, found.view.whole) == ((), (), frozenset())
        assert isinstance(found.old_view, LabelsUnchanged)

    def test_row_order_decides_nothing(self) -> None:
        before, after = ranked([1, 2, 0, 7, 3]), ranked([2, 9, 1, 0, 3])
        turned = RunRecord(record=after.record, queries=after.queries[::-1], corpus=after.corpus)
        one, other = compared(before, after), compared(before, turned)
        assert one.view.rows == other.view.rows
        assert one.queries == other.queries


class TestIdentical:
    @pytest.mark.parametrize("n", [1, 2, 3, 19, 20, 45])
    def test_difference_zero_and_no_width(self, n: int) -> None:
        made = ranked(
            [1 + (number * 5) % 13 for number in range(n)], tags={number: ["t"] for number in range(0, n, 2)}
        )
        found = compared(made, made)
        assert found.view.rows
        for line in found.view.rows:
            assert (line.delta, line.ci, line.bounds, line.p) == (0.0, (0.0, 0.0), (0.0, 0.0), 1.0)
            assert (line.better, line.worse, line.same) == (0, 0, line.n)
            assert line.reading == "unchanged"
            assert line.baseline == line.candidate
            assert (line.label_effect, line.stored) == (0.0, 0)
        assert isinstance(found.old_view, LabelsUnchanged)
        assert (found.factors, found.warnings, found.uprooted, found.turned_over) == ((), (), (), False)


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
        line = of(found.view, "mrr")
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
        assert [(line.slice, line.measure) for line in found.view.rows] == [
            (None, "mrr"),
            (None, "recall@5"),
            ("tag:even", "mrr"),
            ("tag:even", "recall@5"),
            ("tag:few", "mrr"),
            ("tag:few", "recall@5"),
        ]
        assert [of(found.view, "mrr", part).n for part in ("", "tag:even", "tag:few")] == [48, 24, 4]

    def test_holm_over_slices_that_are_large_enough(self) -> None:
        tags = {number: [f"t{number % 3}"] for number in range(75)} | {75: ["tiny"]}
        before = ranked([1] * 76, tags=tags)
        after = ranked([0 if number % 7 == 0 else 1 for number in range(76)], tags=tags)
        view = compared(before, after, "recall@5", "mrr").view
        tested = [line for line in view.rows if line.slice in ("tag:t0", "tag:t1", "tag:t2")]
        assert [line.p_adjusted for line in tested] == holm([line.p for line in tested])
        assert len(tested) == 6
        assert all(line.p_adjusted is None for line in view.rows if line not in tested)

    def test_small_is_below_twenty(self) -> None:
        def view(size: int) -> View:
            made = ranked([1] * 50, tags={number: ["t"] for number in range(size)})
            return compared(made, made).view

        assert of(view(19), part="tag:t").small
        assert of(view(19), part="tag:t").p_adjusted is None
        assert not of(view(20), part="tag:t").small
        assert of(view(20), part="tag:t").p_adjusted == 1.0

    def test_a_small_slice_rules_nothing_out(self) -> None:
        tags = {number: ["t"] for number in range(5)}
        found = compared(ranked([1] * 50, tags=tags), ranked([2] + [1] * 49, tags=tags))
        assert of(found.view, "mrr", "tag:t").bounds == (-1.0, 1.0)
        assert of(found.view, "recall@5", "tag:t").bounds == (0.0, 0.0)
        low, high = of(found.view, "mrr").bounds
        assert -1.0 < low < high < 1.0

    def test_all_queries_are_never_small(self) -> None:
        made = ranked([1, 1])
        assert not of(compared(made, made).view).small

    def test_a_slice_of_all_queries_has_no_row_but_an_answer(self) -> None:
        view = compared(self.BEFORE, self.AFTER).view
        assert view.whole == {"source:human"}
        assert view.row("mrr", "source:human") is view.row("mrr")
        assert view.row("mrr", "tag:nothing") is None
        assert view.row("map") is None

    def test_depth_is_the_smaller_one(self) -> None:
        before, after = ranked([1, 9], depth=8), ranked([9, 1], depth=100)
        for one, other in ((before, after), (after, before)):
            found = compared(one, other, "mrr", "map")
            assert found.depth == 8
            assert of(found.view, "mrr").delta == 0.0
            assert sorted((of(found.view, "mrr").baseline, of(found.view, "mrr").candidate)) == [0.5, 0.5]
            assert [note.code for note in found.warnings] == ["depth"]
        assert of(compared(after, after, "mrr").view, "mrr").baseline == pytest.approx((1 / 9 + 1) / 2)

    def test_a_measure_that_no_record_stored(self) -> None:
        assert of(
            compared(ranked([1, 3]), ranked([1, 3]), "precision@3").view, "precision@3"
        ).baseline == pytest.approx(1 / 3)

    def test_undefined_scores_stay_out(self) -> None:
        before = run([row("a", [], ["r"], CORPUS), row("b", RANKED, ["r"], CORPUS)], CORPUS)
        after = run([row("a", RANKED, ["r"], CORPUS), row("b", RANKED, ["r"], CORPUS)], CORPUS)
        view = compared(before, after, "judged@5", "recall@5").view
        assert (of(view, "judged@5").n, of(view, "recall@5").n) == (1, 2)
        empty = run([row("a", [], ["r"], CORPUS)], CORPUS)
        assert compared(empty, empty, "judged@5").view.rows == ()

    def test_a_failed_query_scores_0_and_stays_in(self) -> None:
        after = run([row("q", [], ["r"], CORPUS, error="timeout")], CORPUS)
        line = of(compared(run([row("q", RANKED, ["r"], CORPUS)], CORPUS), after).view)
        assert (line.n, line.baseline, line.candidate) == (1, 1.0, 0.0)


class TestLabels:
    def test_the_baseline_is_scored_again(self) -> None:
        found = pair({"r": 1}, {"s": 1})
        line = of(found.view, "mrr")
        assert (line.baseline, line.candidate, line.delta) == (1 / 8, 1 / 8, 0.0)
        assert line.label_effect == 1 / 8 - 1
        assert line.stored == 0
        assert found.golden.relabelled == ("q",)
        line = of(old(found), "mrr")
        assert (line.baseline, line.candidate, line.label_effect) == (1.0, 1.0, 0.0)

    def test_retrieval_and_labels_are_told_apart(self) -> None:
        found = pair({"r": 1}, {"s": 1}, ranked_after=["s", "r"])
        assert of(found.view, "mrr").delta == pytest.approx(1 - 1 / 8)
        assert of(found.view, "mrr").label_effect == pytest.approx(1 / 8 - 1)
        assert of(old(found), "mrr").delta == pytest.approx(1 / 2 - 1)

    def test_label_effect_is_a_mean_over_all_queries(self) -> None:
        before = run([row("a", RANKED, ["r"], CORPUS), row("b", RANKED, ["r"], CORPUS)], CORPUS)
        after = run([row("a", RANKED, ["r"], CORPUS), row("b", RANKED, ["s"], CORPUS)], CORPUS)
        assert of(compared(before, after).view).label_effect == pytest.approx(-0.5)

    def test_labels_that_cannot_be_applied_are_kept_and_said(self) -> None:
        corpus = plain_chunks([*FILLERS, "r", "new"])
        before = run([row("q", RANKED, ["r"], CORPUS), row("q2", RANKED, ["r"], CORPUS)], CORPUS)
        after = run([row("q", ["new", "r"], ["new"], corpus), row("q2", ["r"], ["r"], corpus)], corpus)
        found = compared(before, after)
        assert (of(found.view).baseline, of(found.view).candidate, of(found.view).stored) == (1.0, 1.0, 1)
        assert found.golden.stored == ("q",)
        assert "labels.stored" in [note.code for note in found.warnings]
        assert of(old(found), "mrr").candidate == pytest.approx((1 / 2 + 1) / 2)

    def test_lowering_the_bar_shows_under_the_old_labels(self) -> None:
        found = pair({"r": 1, "a": 1}, {"r": 1}, ranked_after=["r", "f1"])
        assert of(found.view).delta == 0.0
        assert of(old(found)).delta == -0.5

    def test_an_answerable_query_that_became_unanswerable(self) -> None:
        found = pair({"r": 1}, Unanswerable(), ranked_after=["f1"])
        assert found.view.ids == ()
        assert old(found).ids == ("q",)
        assert of(old(found)).delta == -1.0

    def test_an_unanswerable_query_that_became_answerable(self) -> None:
        found = pair(Unanswerable(), {"r": 1}, ranked_after=["f1"])
        assert found.view.ids == ("q",)
        line = of(found.view)
        assert (line.baseline, line.candidate, line.label_effect) == (1.0, 0.0, 0.0)
        assert old(found).ids == ()

    def test_an_unanswerable_query_whose_new_labels_the_old_corpus_could_not_answer(self) -> None:
        corpus = plain_chunks([*FILLERS, "r", "new"])
        before = run([row("q", RANKED[:2], Unanswerable(), CORPUS), row("s", ["r"], ["r"], CORPUS)], CORPUS)
        after = run([row("q", ["f1"], ["new"], corpus), row("s", ["f1"], ["r"], corpus)], corpus)
        found = compared(before, after)
        assert found.golden.stored == ("q",)
        assert found.view.ids == ("s",)
        assert [one.id for one in found.queries] == ["s"]

    def test_unanswerable_on_both_sides(self) -> None:
        found = pair(Unanswerable(), Unanswerable())
        assert found.view.ids == ()
        assert found.golden.relabelled == ()

    def test_another_unit_is_another_label(self) -> None:
        corpus = chunks({"a": ["one", "two"], "b": "three"})
        before = run([row("q", ["a#0", "b#0", "a#1"], ["a"], corpus)], corpus)
        after = run([row("q", ["a#0", "b#0", "a#1"], ["a#1"], corpus)], corpus, unit="chunk")
        found = compared(before, after)
        assert found.golden.relabelled == ("q",)
        assert of(found.view, "mrr").baseline == of(found.view, "mrr").candidate == 1 / 3
        assert of(old(found), "mrr").baseline == of(old(found), "mrr").candidate == 1.0
        assert of(found.view, "mrr").label_effect == pytest.approx(1 / 3 - 1)
        assert [one.name for one in found.factors] == ["unit", "golden set"]

    def test_labels_kept_under_another_unit_are_scored_by_it(self) -> None:
        corpus = chunks({"a": ["one", "two"], "b": "three"})
        before = run([row("q", ["b#0", "a#0"], ["a"], corpus)], corpus)
        fresh = chunks({"a": ["one", "two"], "b": "three", "c": "four"})
        after = run([row("q", ["c#0"], ["c#0"], fresh)], fresh, unit="chunk")
        line = of(compared(before, after).view, "mrr")
        assert (line.baseline, line.candidate, line.stored) == (0.5, 1.0, 1)


class TestSlicesOfEitherSide:
    def test_a_dropped_tag_is_seen_under_the_old_slices(self) -> None:
        before = ranked([1] * 4, tags={0: ["critical"], 1: ["critical"]})
        after = ranked([0, 1, 1, 1], tags={1: ["critical"]})
        found = compared(before, after)
        assert of(found.view, part="tag:critical").delta == 0.0
        assert of(old(found), part="tag:critical").delta == -0.5
        assert (found.golden.retagged, found.golden.relabelled) == (("q000",), ())
        assert [note.code for note in found.warnings] == ["golden.retagged"]

    def test_tags_of_both_sides_are_remembered(self) -> None:
        before, after = ranked([1, 1], tags={0: ["x"]}), ranked([1, 1], tags={0: ["y"]})
        found = compared(before, after)
        assert found.view.tags == (frozenset({"x", "y"}), frozenset())
        assert old(found).tags == found.view.tags

    def test_the_order_of_tags_is_no_change(self) -> None:
        found = compared(ranked([1], tags={0: ["x", "y"]}), ranked([1], tags={0: ["y", "x", "y"]}))
        assert isinstance(found.old_view, LabelsUnchanged)


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
        assert (of(found.view, "mrr").baseline, of(found.view, "mrr").candidate) == (0.5, 1.0)
        assert isinstance(found.old_view, LabelsUnchanged)
        assert not found.turned_over


class TestRechunked:
    BEFORE: Mapping[str, list[str]] = {f"d{n}": [f"first {n}", f"second {n}"] for n in range(6)}
    AFTER: Mapping[str, list[str]] = {f"d{n}": [f"first {n} ", f"and {n}", f"second {n}"] for n in range(6)}

    def made(self, texts: Mapping[str, list[str]], label: str, unit: str, *, prefix: str = "") -> RunRecord:
        corpus = [replace(one, id=f"{prefix}{one.id}") for one in chunks(texts)]
        known = {one.id.removeprefix(prefix): one for one in corpus}
        rows: list[QueryRow] = []
        for n in range(6):
            hit = known[f"d{n}#1"]
            wanted = {label.format(n=n): 1}
            one = row(f"q{n}", [f"d{n}#1"], wanted, chunks(texts))
            rows.append(replace(one, results=(replace(one.results[0], id=hit.id),)))
        return run(rows, corpus, unit=unit)

    def test_ids_of_chunks_are_uprooted(self) -> None:
        found = compared(
            self.made(self.BEFORE, "d{n}#1", "chunk"), self.made(self.AFTER, "d{n}#1", "chunk", prefix="v2-")
        )
        assert found.turnover.new_ids == 1.0
        assert found.uprooted == tuple(f"q{n}" for n in range(6))
        assert found.turned_over
        assert found.warnings[0].code == "corpus.rechunked"
        assert of(found.view).delta == -1.0

    def test_documents_are_not(self) -> None:
        found = compared(
            self.made(self.BEFORE, "d{n}", "document"),
            self.made(self.AFTER, "d{n}", "document", prefix="v2-"),
        )
        assert found.warnings[0].code == "corpus.rechunked"
        assert (found.uprooted, found.turned_over) == ((), False)
        assert of(found.view).delta == 0.0

    def test_labels_that_moved_along_are_judged_by_the_new_ones(self) -> None:
        found = compared(
            self.made(self.BEFORE, "d{n}#1", "chunk"),
            self.made(self.AFTER, "v2-d{n}#1", "chunk", prefix="v2-"),
        )
        assert (found.uprooted, found.turned_over) == ((), False)
        assert found.golden.stored == found.golden.moved == tuple(f"q{n}" for n in range(6))
        assert of(found.view).delta == 0.0
        assert of(old(found)).delta == 0.0
        assert {"labels.stored", "labels.moved"} <= {note.code for note in found.warnings}

    SHORT: Mapping[str, list[str]] = {f"d{n}": [f"{n} {part}" for part in range(3)] for n in range(6)}
    LONG: Mapping[str, list[str]] = {f"d{n}": [f"{n} 0 1", f"{n} 2"] for n in range(6)}
    KEPT: Mapping[str, list[str]] = {f"d{n}": [f"{n} 0", "1", "2", "end"] for n in range(6)}

    def test_ids_that_name_another_text_are_uprooted(self) -> None:
        before, after = (self.made(texts, "d{n}#1", "chunk") for texts in (self.SHORT, self.LONG))
        found = compared(before, after)
        assert found.turnover.in_place
        assert found.uprooted == tuple(f"q{n}" for n in range(6))
        assert found.turned_over
        assert [note.code for note in found.warnings[:2]] == ["corpus.rechunked", "labels.rewritten"]

    def test_new_labels_for_the_new_texts_are_good(self) -> None:
        before, after = (
            self.made(texts, label, "chunk")
            for texts, label in ((self.SHORT, "d{n}#0"), (self.LONG, "d{n}#1"))
        )
        found = compared(before, after)
        assert (found.uprooted, found.turned_over) == ((), False)
        assert found.golden.stored == found.golden.moved == tuple(f"q{n}" for n in range(6))

    def test_a_label_whose_text_stayed_is_good(self) -> None:
        before, after = (self.made(texts, "d{n}#0", "chunk") for texts in (self.SHORT, self.KEPT))
        found = compared(before, after)
        assert found.turnover.in_place
        assert (found.uprooted, found.turned_over) == ((), False)

    def test_more_than_half_of_the_queries_make_it_so(self) -> None:
        before = self.made(self.BEFORE, "d{n}#1", "chunk")

        def half(size: int) -> Comparison:
            after = self.made(self.AFTER, "d{n}#1", "chunk", prefix="v2-")
            rows = [
                one if n < size else replace(one, judgments=Grades({f"v2-d{n}#1": 1}))
                for n, one in enumerate(after.queries)
            ]
            return compared(before, RunRecord(record=after.record, queries=tuple(rows), corpus=after.corpus))

        assert not half(3).turned_over
        assert half(4).turned_over

    def test_half_of_a_query_s_items(self) -> None:
        def ask(texts: Mapping[str, list[str]], prefix: str, *names: str) -> RunRecord:
            corpus = [replace(one, id=f"{prefix}{one.id}") for one in chunks(texts)]
            one = replace(row("q", [], names, chunks(texts)))
            return run([one], corpus, unit="chunk")

        before = ask(self.BEFORE, "", "d0#0", "d1#0")
        assert compared(before, ask(self.AFTER, "v2-", "d0#0", "v2-d1#0")).uprooted == ("q",)
        assert compared(before, ask(self.AFTER, "v2-", "v2-d0#0", "v2-d1#0")).uprooted == ()
        three = ask(self.BEFORE, "", "d0#0", "d1#0", "d2#0")
        assert compared(three, ask(self.AFTER, "v2-", "d0#0", "v2-d1#0", "v2-d2#0")).uprooted == ()

    def test_what_counts_as_an_item_that_moved(self) -> None:
        corpus = [replace(one, id=f"v2-{one.id}") for one in chunks(self.AFTER)]
        corpus[0] = replace(corpus[0], id="d5#1", text="second 5")

        def ask(name: str, judgments: Judgments, made: Sequence[Any]) -> QueryRow:
            return replace(row(name, [], ["d0#0"], chunks(self.BEFORE)), judgments=judgments)

        asked: dict[str, Judgments] = {
            "a-evidence": EvidenceItems((EvidenceItem(doc="d0", quote="x", chunks=("d0#0",)),)),
            "b-never": Grades({"never#0": 1}),
            "c-group": Groups((("d0#0", "never#0"),)),
            "d-held": Groups((("d0#0", "d5#1"),)),
            "e-half": Grades({"d0#0": 1, "d1#0": 1, "d5#1": 1, "never#0": 1}),
            "f-less": Grades({"d0#0": 1, "d5#1": 1, "never#0": 1}),
        }
        before = run(
            [ask(name, label, self.BEFORE) for name, label in asked.items()],
            chunks(self.BEFORE),
            unit="chunk",
        )
        after = run([ask(name, label, self.AFTER) for name, label in asked.items()], corpus, unit="chunk")
        assert compared(before, after).uprooted == ("c-group", "e-half")

    def test_documents_that_are_really_gone_are_not_uprooted(self) -> None:
        fewer = {name: texts for name, texts in self.AFTER.items() if name in ("d0", "d1")}
        before = self.made(self.BEFORE, "d{n}#1", "chunk")
        corpus = [replace(one, id=f"v2-{one.id}") for one in chunks(fewer)]
        rows = [row(f"q{n}", [], [f"d{n}#1"], chunks(fewer)) for n in range(6)]
        found = compared(before, run(rows, corpus, unit="chunk"))
        assert found.uprooted == ("q0", "q1")
        assert not found.turned_over

    def test_ids_that_move_without_a_new_chunking_do_not_turn_it_over(self) -> None:
        texts = {f"d{n}": [f"only {n}"] for n in range(10)}
        part = {
            **{f"e{n}": texts[f"d{n}"] for n in range(3)},
            **{f"d{n}": texts[f"d{n}"] for n in range(3, 10)},
        }
        before = run([row("q", ["d0#0"], ["d0#0"], chunks(texts))], chunks(texts), unit="chunk")
        after = run([row("q", ["e0#0"], ["d0#0"], chunks(part))], chunks(part), unit="chunk")
        found = compared(before, after)
        assert (found.uprooted, found.turned_over) == ((), False)
        assert [one.cause for one in found.queries] == ["re-identified"]


def test_the_records_are_at_hand() -> None:
    before, after = ranked([1]), amended(ranked([1]), run_id="2")
    found = compared(before, after)
    assert found.baseline is before
    assert found.candidate is after
    assert found.k == 5
