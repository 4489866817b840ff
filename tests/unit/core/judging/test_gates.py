"""Each gate at its borders, under both sets of labels, with its waivers and its words."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison, LabelsUnchanged
from rageval_action.core.comparing.factors import Turnover
from rageval_action.core.comparing.measure_rows import MeasureRow, MeasureTable
from rageval_action.core.judging.gates import outcome, timed_together, waiver_for
from rageval_action.core.judging.outcomes import Against, BaselineUnknown, NoBaseline, Outcome
from rageval_action.core.judging.policy import (
    DropGate,
    FloorGate,
    Gate,
    KeepGate,
    LatencyGate,
    Policy,
    Waiver,
)
from rageval_action.core.judging.sentences.gate_text import full
from rageval_action.core.model.record import Mean, Quantiles, RunRecord, SliceInfo
from rageval_action.core.model.types import Unanswerable
from tests.synthetic_runs import FILLERS, NOW, TODAY, amended, compared, plain_chunks, ranked, row, run

NOTHING = Policy(gates=())
SAME = compared(ranked([1, 1]), ranked([1, 1]))
EPS = 1e-9


def judged(gate: Gate, against: Against, policy: Policy = NOTHING, today: datetime.date = TODAY) -> Outcome:
    record = against.candidate.record if isinstance(against, Comparison) else ranked([1, 1]).record
    return outcome(gate, policy, record, against, today)


def line(drop: float = 0.0, **more: Any) -> MeasureRow:
    """A row with this drop; everything else as it must be for the test at hand."""
    values: dict[str, Any] = {
        "measure": "recall@5",
        "slice": None,
        "n": 40,
        "baseline": 0.5,
        "candidate": 0.5 - drop,
        "delta": -drop,
        "ci": (-1.0, 1.0),
        "bounds": (-1.0, 1.0),
        "p": 1.0,
        "p_adjusted": None,
        "reading": "unclear",
        "better": 1,
        "worse": 1,
        "same": 38,
        "mde": 0.1,
    }
    return MeasureRow(**{**values, **more})


def seen(*rows: MeasureRow, old: Sequence[MeasureRow] | None = None) -> Comparison:
    """A comparison with these rows under the new labels (and under the old ones)."""
    table = replace(SAME.table, rows=rows, whole=frozenset())
    before: MeasureTable | LabelsUnchanged = (
        replace(table, rows=tuple(old)) if old is not None else LabelsUnchanged()
    )
    return replace(SAME, table=table, old_label_table=before)


def drop(max_drop: float = 0.02, rule: Any = "observed", part: str = "") -> DropGate:
    return DropGate(measure="recall@5", max_drop=max_drop, rule=rule, slice=part)


class TestObserved:
    @pytest.mark.parametrize(
        ("fell", "state"),
        [
            (-0.1, "pass"),
            (0.0, "pass"),
            (0.02, "pass"),
            (0.02 + 0.9 * EPS, "pass"),
            (0.02 + 1.1 * EPS, "fail"),
            (0.3, "fail"),
        ],
    )
    def test_border(self, fell: float, state: str) -> None:
        assert judged(drop(), seen(line(fell))).state == state

    def test_sums_of_fractions_do_not_trip_it(self) -> None:
        found = seen(line(baseline=0.1 + 0.2, candidate=0.3 - 0.02, delta=-0.02))
        assert judged(drop(), found).state == "pass"

    def test_words(self) -> None:
        found = judged(drop(), seen(line(0.04)))
        assert (
            full(found) == "recall@5 dropped by 4.0 points (2.0 points allowed, observed): more than allowed"
        )
        assert (found.code, found.gate, found.waiver) == ("drop", drop(), None)
        found = judged(drop(part="tag:x"), seen(line(-0.031, slice="tag:x")))
        assert (
            full(found)
            == "recall@5 of tag:x rose by 3.1 points (2.0 points allowed, observed): within what is allowed"
        )
        for tiny in (0.0, 0.9 * EPS, -0.9 * EPS):
            assert full(judged(drop(), seen(line(tiny)))).startswith("recall@5 did not change (")
        assert "recall@5 dropped by less than 0.1 points (" in full(judged(drop(), seen(line(1.1 * EPS))))
        # A half is rounded up, here as in every table.
        assert full(judged(drop(0.0125), seen(line(0.0025)))).startswith(
            "recall@5 dropped by 0.3 points (1.3 points allowed"
        )

    def test_a_small_slice_is_judged_as_any(self) -> None:
        part = line(0.5, slice="tag:x", n=2, small=True)
        assert judged(drop(part="tag:x"), seen(part)).state == "fail"


class TestSignificant:
    @pytest.mark.parametrize(
        ("fell", "high", "state"),
        [
            (0.02, -0.01, "pass"),
            (0.02 + 0.9 * EPS, -0.01, "pass"),
            (0.02 + 1.1 * EPS, -0.01, "fail"),
            (0.3, -1.1 * EPS, "fail"),
            (0.3, -0.9 * EPS, "inconclusive"),
            (0.3, 0.0, "inconclusive"),
            (0.3, 0.1, "inconclusive"),
        ],
    )
    def test_border(self, fell: float, high: float, state: str) -> None:
        assert judged(drop(rule="significant"), seen(line(fell, ci=(-0.5, high)))).state == state

    @pytest.mark.parametrize(
        ("adjusted", "state"),
        [
            (0.0, "fail"),
            (0.0499, "fail"),
            (0.05, "inconclusive"),
            (1.0, "inconclusive"),
            (None, "inconclusive"),
        ],
    )
    def test_a_slice_goes_by_its_adjusted_p(self, adjusted: float | None, state: str) -> None:
        part = line(0.3, slice="tag:x", ci=(-0.5, -0.1), p=0.001, p_adjusted=adjusted)
        assert judged(drop(rule="significant", part="tag:x"), seen(part)).state == state

    def test_words(self) -> None:
        def text(found: MeasureRow) -> str:
            return full(judged(drop(rule="significant", part=found.slice or ""), seen(found))).partition(
                "): "
            )[2]

        told = text(line(0.3, ci=(-0.5, -0.1), p=0.0625))
        assert told == "the interval, which decides, excludes no change (p = 0.0625)"
        assert text(line(0.3)) == "chance could explain it"
        assert text(line(0.0)) == "within what is allowed"
        assert text(line(0.3, slice="tag:x", p_adjusted=0.0123)) == "adjusted p = 0.0123"
        assert text(line(0.3, slice="tag:x", small=True, n=19)) == "19 queries are too few to tell"

    def test_a_small_slice_is_inconclusive_only_when_it_dropped(self) -> None:
        small = line(0.3, slice="tag:x", small=True, p_adjusted=0.0)
        assert judged(drop(rule="significant", part="tag:x"), seen(small)).state == "inconclusive"
        small = line(0.02, slice="tag:x", small=True)
        assert judged(drop(rule="significant", part="tag:x"), seen(small)).state == "pass"


class TestNonInferior:
    @pytest.mark.parametrize(
        ("low", "high", "state"),
        [
            (-0.01, 0.1, "pass"),
            (-0.02, 0.1, "pass"),
            (-0.02 - 0.9 * EPS, 0.1, "pass"),
            (-0.02 - 1.1 * EPS, 0.1, "inconclusive"),
            (-0.5, -0.02, "inconclusive"),
            (-0.5, -0.02 - 0.9 * EPS, "inconclusive"),
            (-0.5, -0.02 - 1.1 * EPS, "fail"),
            (-0.5, 0.1, "inconclusive"),
        ],
    )
    def test_border(self, low: float, high: float, state: str) -> None:
        assert judged(drop(rule="non-inferior"), seen(line(bounds=(low, high)))).state == state

    def test_where_nothing_changed_the_guard_is_skipped(self) -> None:
        same = line(better=0, worse=0, same=40, bounds=(-0.9, 0.9), slice="tag:x", small=True)
        assert judged(drop(rule="non-inferior", part="tag:x"), seen(same)).state == "pass"
        for changed in ({"better": 1, "worse": 0}, {"better": 0, "worse": 1}):
            found = judged(drop(rule="non-inferior", part="tag:x"), seen(replace(same, **changed)))
            assert found.state == "inconclusive"

    def test_small_slices_are_inconclusive(self) -> None:
        small = line(slice="tag:x", small=True, n=3, bounds=(0.0, 0.0))
        assert judged(drop(rule="non-inferior", part="tag:x"), seen(small)).state == "inconclusive"

    def test_words(self) -> None:
        def text(**more: Any) -> str:
            return full(judged(drop(rule="non-inferior"), seen(line(**more)))).partition("): ")[2]

        assert text(bounds=(0.0, 0.1)) == "a larger drop is ruled out"
        assert text(bounds=(-0.5, -0.1)) == "a larger drop is ruled in"
        open_end = "with 3 of 40 queries changed, nothing from −8.6 to +14.0 points can be ruled out"
        assert text(bounds=(-0.086, 0.14), better=2, worse=1) == open_end
        assert text(better=0, worse=0) == "no query changed"
        assert text(small=True, n=7) == "7 queries are too few to tell"


@pytest.mark.parametrize("rule", ["observed", "significant", "non-inferior"])
@pytest.mark.parametrize("max_drop", [0.0, 0.02])
@pytest.mark.parametrize("n", [1, 2, 3, 19, 20, 60])
def test_identical_runs_pass_under_every_rule(rule: str, max_drop: float, n: int) -> None:
    made = ranked(
        [1 + (number * 5) % 13 for number in range(n)], tags={number: ["t"] for number in range(0, n, 2)}
    )
    found = compared(made, made)
    for part in ("", "tag:t", "source:human"):
        assert judged(drop(max_drop, rule, part), found).state == "pass"
    assert judged(KeepGate(tag="t", measure="hit@5"), found).state == "pass"


class TestMissingRows:
    @pytest.mark.parametrize("rule", ["observed", "significant", "non-inferior"])
    def test_an_empty_slice_cannot_be_measured(self, rule: str) -> None:
        found = judged(drop(rule=rule, part="tag:none"), seen(line()))
        assert (found.state, found.code) == ("cannot_measure", "empty-slice")
        assert full(found) == "recall@5 of tag:none: no query in both runs"

    def test_a_slice_that_holds_everything_is_the_whole(self) -> None:
        found = compared(ranked([1, 1]), ranked([1, 9]))
        assert judged(drop(part="source:human"), found).state == "fail"
        assert judged(FloorGate(measure="recall@5", min=0.6, slice="source:human"), found).state == "fail"


class TestWaivers:
    LAST = TODAY + datetime.timedelta(days=3)

    def waiver(self, max_drop: float = 0.1, until: datetime.date = LAST, **more: Any) -> Waiver:
        return Waiver(
            measure="recall@5", max_drop=max_drop, until=until, owner="ana", reason="moving house", **more
        )

    def judge(
        self, found: Comparison, *waivers: Waiver, gate: DropGate | None = None, today: datetime.date = TODAY
    ) -> Outcome:
        return judged(gate or drop(), found, Policy(gates=(), waivers=waivers), today)

    def test_lifts_a_fail(self) -> None:
        found = self.judge(seen(line(0.1)), self.waiver())
        assert (found.state, found.waiver) == ("pass", self.waiver())
        assert full(found) == (
            "recall@5 dropped by 10.0 points (10.0 points allowed, observed): within what is allowed; "
            f"waived until {self.LAST} by ana: moving house"
        )

    def test_its_own_limit_holds(self) -> None:
        found = self.judge(seen(line(0.11)), self.waiver())
        assert (found.state, found.waiver) == ("fail", None)
        assert "(2.0 points allowed" in full(found)
        assert "waived" not in full(found)

    def test_not_needed_is_not_mentioned(self) -> None:
        found = self.judge(seen(line(0.01)), self.waiver())
        assert (found.state, found.waiver) == ("pass", None)
        assert "(2.0 points allowed" in full(found)

    def test_its_last_day_counts_and_the_next_does_not(self) -> None:
        assert self.judge(seen(line(0.1)), self.waiver(), today=self.LAST).state == "pass"
        after = self.LAST + datetime.timedelta(days=1)
        assert self.judge(seen(line(0.1)), self.waiver(), today=after).state == "fail"

    def test_never_tightens(self) -> None:
        for lower in (0.0, 0.01, 0.02):
            assert self.judge(seen(line(0.02)), self.waiver(lower)).state == "pass"
            found = self.judge(seen(line(0.03)), self.waiver(lower))
            assert (found.state, found.waiver) == ("fail", None)

    def test_the_widest_one_that_is_live(self) -> None:
        narrow, wide = self.waiver(0.05), self.waiver(0.2)
        over = self.waiver(0.9, TODAY - datetime.timedelta(days=1))
        assert self.judge(seen(line(0.15)), narrow, wide, over).waiver == wide
        assert self.judge(seen(line(0.15)), wide, narrow).waiver == wide
        assert self.judge(seen(line(0.5)), narrow, wide, over).state == "fail"

    def test_of_another_measure_or_slice_does_not_count(self) -> None:
        other = Waiver(measure="mrr", max_drop=0.9, until=self.LAST, owner="a", reason="b")
        sliced = self.waiver(0.9, slice="tag:x")
        assert self.judge(seen(line(0.1)), other, sliced).state == "fail"
        assert waiver_for(drop(), Policy(gates=(), waivers=(other, sliced)), TODAY) is None
        part = line(0.1, slice="tag:x")
        assert self.judge(seen(part), sliced, gate=drop(part="tag:x")).state == "pass"

    def test_turns_a_certain_drop_into_an_unclear_one(self) -> None:
        found = self.judge(
            seen(line(0.08, bounds=(-0.15, -0.04))), self.waiver(), gate=drop(rule="non-inferior")
        )
        assert (found.state, found.waiver) == ("inconclusive", self.waiver())


class TestFloors:
    RECORD = amended(
        ranked([1, 1]),
        measures={"recall@5": Mean(mean=0.8, n=2), "judged@5": Mean(mean=None, n=0)},
        slices={"tag:x": SliceInfo(n=1, measures={"recall@5": Mean(mean=0.4, n=1)})},
    ).record

    def floor(self, least: float, part: str = "", measure: str = "recall@5") -> Outcome:
        gate = FloorGate(measure=measure, min=least, slice=part)
        return outcome(gate, NOTHING, self.RECORD, NoBaseline("none"), TODAY)

    @pytest.mark.parametrize(
        ("least", "state"),
        [(0.8, "pass"), (0.8 + 0.9 * EPS, "pass"), (0.8 + 1.1 * EPS, "fail"), (0.0, "pass"), (1.0, "fail")],
    )
    def test_border(self, least: float, state: str) -> None:
        assert self.floor(least).state == state

    def test_words(self) -> None:
        found = self.floor(0.8)
        assert (found.code, full(found)) == ("floor", "recall@5 is 0.800, at least the 0.8 needed")
        assert full(self.floor(0.5, "tag:x")) == "recall@5 of tag:x is 0.400, below the 0.5 needed"

    def test_a_score_just_below_does_not_read_as_if_it_reached(self) -> None:
        record = amended(ranked([1, 1]), measures={"recall@5": Mean(mean=0.79996, n=2)}).record
        found = outcome(FloorGate(measure="recall@5", min=0.8), NOTHING, record, NoBaseline("none"), TODAY)
        assert full(found) == "recall@5 is 0.79996, below the 0.8 needed"
        found = outcome(
            FloorGate(measure="recall@5", min=0.79995), NOTHING, record, NoBaseline("none"), TODAY
        )
        assert full(found) == "recall@5 is 0.800, at least the 0.79995 needed"

    @pytest.mark.parametrize(
        ("part", "measure"), [("tag:none", "recall@5"), ("", "map"), ("tag:x", "map"), ("", "judged@5")]
    )
    def test_nothing_to_measure(self, part: str, measure: str) -> None:
        found = self.floor(0.5, part, measure)
        assert (found.state, found.code) == ("cannot_measure", "empty-slice")
        assert full(found) == f"{measure}{' of ' + part if part else ''}: no query"

    @pytest.mark.parametrize("against", [NoBaseline("first run"), BaselineUnknown("outage")])
    def test_needs_no_baseline(self, against: Against) -> None:
        gate = FloorGate(measure="recall@5", min=0.9)
        assert outcome(gate, NOTHING, self.RECORD, against, TODAY).state == "fail"

    def test_lowered_labels_do_not_lift_over_it(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])
        before = run([row("q", ["r", "a"], ["r", "a"], corpus)], corpus)
        after = run([row("q", ["r"], ["r"], corpus)], corpus)
        gate = FloorGate(measure="recall@5", min=0.8)
        found = judged(gate, compared(before, after))
        assert (found.state, found.code) == ("fail", "labels-decide")
        assert full(found) == (
            "the labels decide: recall@5 is 1.000, at least the 0.8 needed; under the old ones it is 0.500"
        )
        assert judged(FloorGate(measure="recall@5", min=0.5), compared(before, after)).state == "pass"

    def test_a_dropped_tag_does_not_either(self) -> None:
        before = ranked([1, 1, 1], tags={0: ["x"], 1: ["x"]})
        after = ranked([0, 1, 1], tags={1: ["x"]})
        gate = FloorGate(measure="recall@5", min=0.8, slice="tag:x")
        assert judged(gate, compared(before, after)).code == "labels-decide"
        gone = ranked([0, 1, 1])
        found = judged(gate, compared(before, gone))
        assert (found.state, found.code) == ("fail", "labels-decide")

    def test_new_easy_queries_are_no_matter_of_labels(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])

        def made(*ids: str, relevant: str) -> RunRecord:
            ranks = {"hard": ["f1"], "mild": ["r"], "easy": ["r"], "soft": ["r"]}
            return run(
                [row(name, ranks[name], [relevant if name == "mild" else "r"], corpus) for name in ids],
                corpus,
            )

        before = made("hard", "mild", relevant="a")
        after = made("hard", "mild", "easy", "soft", relevant="r")
        gate = FloorGate(measure="recall@5", min=0.7)
        assert judged(gate, compared(before, after)).state == "pass"

    def test_new_hard_queries_are_no_matter_of_labels(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])
        before = run([row("q", ["r"], ["a"], corpus)], corpus)
        fresh = [row(name, ["f1"], ["r"], corpus) for name in ("x", "y")]
        after = run([row("q", ["r"], ["r"], corpus), *fresh], corpus)
        assert judged(FloorGate(measure="recall@5", min=0.8), compared(before, after)).code == "floor"

    def test_a_floor_that_fails_anyway_is_just_that(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])
        before = run([row("q", ["r", "a"], ["r", "a"], corpus)], corpus)
        after = run([row("q", ["f1"], ["r"], corpus)], corpus)
        found = judged(FloorGate(measure="recall@5", min=0.8), compared(before, after))
        assert (found.state, found.code) == ("fail", "floor")

    def test_a_query_that_nothing_answers_any_more(self) -> None:
        corpus = plain_chunks([*FILLERS, "r"])
        before = run([row("a", ["r"], ["r"], corpus), row("b", ["r"], ["r"], corpus)], corpus)
        after = run([row("a", ["f1"], Unanswerable(), corpus), row("b", ["r"], ["r"], corpus)], corpus)
        assert judged(FloorGate(measure="recall@5", min=0.8), compared(before, after)).code == "labels-decide"

    def test_labels_that_make_it_harder_are_no_excuse(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])
        before = run([row("q", ["r"], ["r"], corpus)], corpus)
        after = run([row("q", ["r"], ["r", "a"], corpus)], corpus)
        assert judged(FloorGate(measure="recall@5", min=0.8), compared(before, after)).code == "floor"


class TestBothLabels:
    def test_the_same_outcome_is_told_once(self) -> None:
        found = judged(drop(), seen(line(0.1), old=[line(0.2)]))
        assert (found.state, found.code) == ("fail", "drop")
        assert "dropped by 10.0 points" in full(found)

    @pytest.mark.parametrize(
        ("new", "old", "state"),
        [
            (line(0.0), line(0.1), "fail"),
            (line(0.1), line(0.0), "fail"),
        ],
    )
    def test_the_worse_one_stands(self, new: MeasureRow, old: MeasureRow, state: str) -> None:
        found = judged(drop(), seen(new, old=[old]))
        assert (found.state, found.code) == (state, "labels-decide")
        assert full(found).startswith("the labels decide: under the new ones recall@5 d")
        assert re.fullmatch(r"[^;]+ allowed; under the old ones recall@5 d[^;]+ allowed", full(found))

    @pytest.mark.parametrize(
        ("new", "old", "state"),
        [
            (line(0.3, ci=(-0.5, 0.1)), line(0.0), "inconclusive"),
            (line(0.3, ci=(-0.5, 0.1)), line(0.3, ci=(-0.5, -0.1)), "fail"),
        ],
    )
    def test_inconclusive_is_between(self, new: MeasureRow, old: MeasureRow, state: str) -> None:
        assert judged(drop(rule="significant"), seen(new, old=[old])).state == state
        assert judged(drop(rule="significant"), seen(old, old=[new])).state == state

    def test_a_slice_that_only_the_old_labels_have(self) -> None:
        found = judged(drop(part="tag:x"), seen(line(), old=[line(0.3, slice="tag:x")]))
        assert (found.state, found.code) == ("fail", "labels-decide")
        found = judged(drop(part="tag:x"), seen(line(), old=[line(0.0, slice="tag:x")]))
        assert found.state == "cannot_measure"

    def test_a_waiver_counts_under_both(self) -> None:
        waiver = Waiver(measure="recall@5", max_drop=0.2, until=TODAY, owner="ana", reason="x")
        policy = Policy(gates=(), waivers=(waiver,))
        found = judged(drop(), seen(line(0.1), old=[line(0.0)]), policy)
        assert (found.state, found.waiver) == ("pass", waiver)
        found = judged(drop(), seen(line(0.1), old=[line(0.3)]), policy)
        assert (found.state, found.waiver) == ("fail", None)

    def test_deleting_a_label_does_not_pass(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])
        before = run([row("q", ["r", "a"], ["r", "a"], corpus)], corpus)
        after = run([row("q", ["r"], ["r"], corpus)], corpus)
        assert judged(drop(), compared(before, after)).code == "labels-decide"
        kept = run([row("q", ["r", "a"], ["r"], corpus)], corpus)
        assert judged(drop(), compared(before, kept)).code == "drop"

    def test_dropping_a_tag_does_not_pass(self) -> None:
        before = ranked([1, 1, 1], tags={0: ["x"], 1: ["x"]})
        after = ranked([0, 1, 1], tags={1: ["x"]})
        assert judged(drop(part="tag:x"), compared(before, after)).code == "labels-decide"


class TestMustNotLose:
    GATE = KeepGate(tag="critical", measure="hit@5")

    def both(self, ranks: Sequence[int], tags: Mapping[int, Sequence[str]] | None = None) -> Outcome:
        first = {0: ["critical"], 1: ["critical"]}
        return judged(
            self.GATE,
            compared(ranked([1, 1, 1], tags=first), ranked(ranks, tags=first if tags is None else tags)),
        )

    def test_passes(self) -> None:
        found = self.both([2, 5, 0])
        assert (found.state, found.code) == ("pass", "must-not-lose")
        assert full(found) == "hit@5 got worse for none of the 2 queries of tag:critical"

    def test_one_is_enough(self) -> None:
        found = self.both([1, 6, 1])
        assert (found.state, found.code) == ("fail", "must-not-lose")
        assert full(found) == "hit@5 got worse for query q001 of tag:critical, none may"

    def test_many_are_counted(self) -> None:
        tags = {number: ["critical"] for number in range(12)}
        found = judged(self.GATE, compared(ranked([1] * 12, tags=tags), ranked([0] * 12, tags=tags)))
        assert "q000, q001, q002, q003, q004, q005, q006, q007, q008, q009 and 2 more of" in full(found)

    @pytest.mark.parametrize(("fell", "state"), [(0.9 * EPS, "pass"), (1.1 * EPS, "fail")])
    def test_border(self, fell: float, state: str) -> None:
        import numpy as np

        found = compared(ranked([1], tags={0: ["critical"]}), ranked([1], tags={0: ["critical"]}))
        scores = {"hit@5": (np.array([0.5]), np.array([0.5 - fell]))}
        assert judged(self.GATE, replace(found, table=replace(found.table, scores=scores))).state == state

    def test_a_failed_retriever_loses(self) -> None:
        corpus = plain_chunks([*FILLERS, "r"])
        before = run([row("q", ["r"], ["r"], corpus, tags=("critical",))], corpus)
        after = run([row("q", [], ["r"], corpus, tags=("critical",), error="timeout")], corpus)
        assert judged(self.GATE, compared(before, after)).state == "fail"

    def test_a_query_without_its_tag_still_counts(self) -> None:
        assert self.both([0, 1, 1], {1: ["critical"]}).state == "fail"
        assert self.both([0, 1, 1], {}).state == "fail"

    def test_removed_or_reworded_is_not_kept(self) -> None:
        before = ranked([1, 1, 1], tags={0: ["critical"], 2: ["critical"]})
        shorter = ranked([1, 1], tags={0: ["critical"]})
        found = judged(self.GATE, compared(before, shorter))
        assert (found.state, found.code) == ("inconclusive", "must-not-lose-gone")
        assert (
            full(found)
            == "query q002 of tag:critical cannot be compared: removed from the golden set or reworded"
        )
        reworded = ranked([1, 1, 1], tags={0: ["critical"], 2: ["critical"]}, fields={0: {"query": "other"}})
        assert judged(self.GATE, compared(before, reworded)).code == "must-not-lose-gone"
        elsewhere = ranked([1, 1, 1], tags={0: ["critical"], 2: ["critical"]}, fields={1: {"query": "other"}})
        assert judged(self.GATE, compared(before, elsewhere)).state == "pass"

    def test_a_loss_is_worse_than_a_removal(self) -> None:
        before = ranked([1, 1, 1], tags={0: ["critical"], 2: ["critical"]})
        assert judged(self.GATE, compared(before, ranked([0, 1], tags={0: ["critical"]}))).state == "fail"

    def test_nobody_has_the_tag(self) -> None:
        found = judged(self.GATE, compared(ranked([1]), ranked([1])))
        assert (found.state, found.code) == ("cannot_measure", "empty-slice")
        assert full(found) == "hit@5 of tag:critical: no query in both runs"

    def test_labels_decide_here_as_well(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])
        before = run([row("q", ["a"], ["a"], corpus, tags=("critical",))], corpus)
        after = run([row("q", ["r"], ["a", "r"], corpus, tags=("critical",))], corpus)
        found = judged(self.GATE, compared(before, after))
        assert (found.state, found.code) == ("fail", "labels-decide")

    def test_an_undefined_score_is_no_loss(self) -> None:
        corpus = plain_chunks([*FILLERS, "r"])
        before = run([row("q", ["r"], ["r"], corpus, tags=("critical",))], corpus)
        after = run([row("q", [], ["r"], corpus, tags=("critical",))], corpus)
        gate = KeepGate(tag="critical", measure="judged@5")
        assert judged(gate, compared(before, after, "judged@5")).state == "pass"


class TestLatency:
    GATE = LatencyGate(stage="total", quantile="p50", max_ratio=1.5, floor_ms=20.0)
    MACHINE: Mapping[str, str | int] = {"node": "runner-1", "cpus": 4}

    def timed(self, p50: float, *, p95: float = 500.0, **more: Any) -> RunRecord:
        more.setdefault("hardware", self.MACHINE)
        return amended(ranked([1, 1]), latency_ms={"total": Quantiles(p50=p50, p95=p95, n=2)}, **more)

    def ask(self, before: RunRecord, after: RunRecord, gate: LatencyGate = GATE) -> Outcome:
        return judged(gate, compared(before, after))

    @pytest.mark.parametrize(
        ("old", "new", "state"),
        [
            (100.0, 100.0, "pass"),
            (100.0, 150.0, "pass"),
            (100.0, 150.0 + 0.5 * EPS, "pass"),
            (100.0, 150.1, "fail"),
            (10.0, 30.0, "pass"),
            (10.0, 30.1, "fail"),
            (10.0, 15.1, "pass"),
            (100.0, 121.0, "pass"),
            (0.0, 20.0, "pass"),
            (0.0, 20.1, "fail"),
        ],
    )
    def test_ratio_and_floor(self, old: float, new: float, state: str) -> None:
        assert self.ask(self.timed(old), self.timed(new)).state == state

    def test_words(self) -> None:
        found = self.ask(self.timed(100.0), self.timed(151.0))
        assert (found.code, full(found)) == (
            "latency",
            "total p50 is 151.0 ms against 100.0 ms; 1.5 times, or 20 ms more, allowed",
        )

    def test_p95_informs(self) -> None:
        gate = replace(self.GATE, quantile="p95")
        found = self.ask(self.timed(1.0, p95=10.0), self.timed(1.0, p95=900.0), gate)
        assert (found.state, found.code) == ("informs", "latency")
        assert full(found) == "total p95 is 900.0 ms against 10.0 ms; p95 informs, it is not gated"

    @pytest.mark.parametrize(
        "more",
        [
            {"hardware": {"node": "runner-2", "cpus": 4}},
            {"hardware": {}},
            {"created_at": NOW + datetime.timedelta(hours=1, seconds=1)},
            {"created_at": NOW - datetime.timedelta(hours=1, seconds=1)},
        ],
    )
    def test_not_comparable_informs(self, more: dict[str, Any]) -> None:
        found = self.ask(self.timed(1.0), self.timed(900.0, **more))
        assert (found.state, found.code) == ("informs", "latency-not-comparable")
        assert full(found) == (
            "total p50 is not judged: the baseline was timed on another machine or at another time"
        )

    def test_an_hour_is_the_same_job(self) -> None:
        for offset in (1, -1):
            later = self.timed(900.0, created_at=NOW + datetime.timedelta(hours=offset))
            assert self.ask(self.timed(1.0), later).state == "fail"

    def test_unknown_machines_are_not_one_machine(self) -> None:
        bare = ranked([1]).record
        assert not timed_together(bare, bare)

    def test_not_timed(self) -> None:
        gate = replace(self.GATE, stage="embed")
        found = self.ask(self.timed(1.0), self.timed(2.0), gate)
        assert (found.state, found.code, full(found)) == (
            "informs",
            "latency-absent",
            "embed p50 was not timed on both sides",
        )
        bare = amended(ranked([1, 1]), hardware=self.MACHINE)
        assert self.ask(bare, self.timed(1.0)).code == "latency-absent"
        assert self.ask(self.timed(1.0), bare).code == "latency-absent"


class TestWithoutComparison:
    @pytest.mark.parametrize(
        "gate", [drop(), KeepGate(tag="x", measure="mrr"), LatencyGate(stage="total", max_ratio=2.0)]
    )
    def test_no_baseline_is_not_an_unknown_one(self, gate: Gate) -> None:
        found = judged(gate, NoBaseline("the first run of this branch"))
        assert (found.state, found.code, full(found)) == (
            "no_baseline",
            "no-baseline",
            "the first run of this branch",
        )
        found = judged(gate, BaselineUnknown("the API did not answer"))
        assert (found.state, found.code, full(found)) == (
            "cannot_measure",
            "baseline-unknown",
            "the API did not answer",
        )


class TestTurnedOver:
    def turned(self, found: Comparison) -> Comparison:
        turnover = Turnover(
            new_ids=1.0, same_texts=0.0, documents_added=0, documents_removed=0, documents_kept=9
        )
        return replace(found, turnover=turnover, uprooted=found.table.ids)

    @pytest.mark.parametrize(
        "gate", [drop(), KeepGate(tag="x", measure="mrr"), FloorGate(measure="recall@5", min=0.9)]
    )
    def test_nothing_that_rests_on_ids_is_judged(self, gate: Gate) -> None:
        found = judged(gate, self.turned(compared(ranked([1, 1]), ranked([0, 0]))))
        assert (found.state, found.code) == ("cannot_measure", "corpus.turned-over")
        assert full(found) == "the ids that the labels name are no longer in the index: re-chunked, not worse"

    def test_ids_that_hold_other_texts(self) -> None:
        found = self.turned(compared(ranked([1, 1]), ranked([0, 0])))
        found = replace(found, turnover=replace(found.turnover, new_ids=0.1, rewritten=0.8, recut=0.9))
        told = judged(drop(), found)
        assert full(told) == "the ids that the labels name hold other texts now: re-chunked, not worse"

    def test_latency_is(self) -> None:
        gate = LatencyGate(stage="total", max_ratio=2.0)
        assert judged(gate, self.turned(SAME)).code == "latency-absent"
