"""Each gate under the base's exam and the head's, with its waivers and its words."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison, SameExam
from rageval_action.core.comparing.measure_rows import MeasureRow, MeasureTable
from rageval_action.core.judging.gates import outcome, timed_together, waiver_for
from rageval_action.core.judging.outcomes import (
    Against,
    BaselineUnknown,
    DropFinding,
    FloorFinding,
    NoBaseline,
    Outcome,
)
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
from rageval_action.core.model.record import Mean, Quantiles, QueryRow, RunRecord, SliceInfo
from rageval_action.core.model.types import Unanswerable
from tests.synthetic_runs import (
    FILLERS,
    NOW,
    TODAY,
    amended,
    chunks,
    compared,
    plain_chunks,
    ranked,
    row,
    run,
)

NOTHING = Policy(gates=())
SAME = compared(ranked([1, 1]), ranked([1, 1]))
EPS = 1e-9
RULES = ("clear", "observed", "significant", "non-inferior")


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


def table_of(found: MeasureRow, fallen: Sequence[float] = (), **more: Any) -> MeasureTable:
    """One row, and scores of queries that fell by so much each; without any, two that fell as the row says."""
    by = np.array(fallen or [-found.delta] * 2)
    before = np.full(by.size, 0.5)
    values: dict[str, Any] = {
        "ids": tuple(f"q{at}" for at in range(by.size)),
        "tags": (frozenset(),) * by.size,
        "unknown": ("",) * by.size,
        "scores": {"recall@5": (before, before - by)},
        "rows": (found,),
        "parts": {found.slice: np.arange(by.size)} if found.slice else {},
    }
    values["ids"] += ("of no slice",) if found.slice else ()
    return replace(SAME.base, **{**values, **more})


def seen(base: MeasureRow | MeasureTable, head: MeasureRow | MeasureTable | None = None) -> Comparison:
    """A comparison with this row under the base's exam (and that one under the head's)."""
    tables = [
        replace(one if isinstance(one, MeasureTable) else table_of(one), exam=exam)
        for one, exam in ((base, "base"), (head, "head"))
        if one is not None
    ]
    return replace(SAME, base=tables[0], head=tables[1] if head is not None else SameExam())


def drop(max_drop: float = 0.02, rule: Any = "observed", part: str = "") -> DropGate:
    return DropGate(measure="recall@5", max_drop=max_drop, rule=rule, slice=part)


def ground(found: Outcome) -> str:
    assert isinstance(found.finding, DropFinding), found
    return found.finding.ground


def without(found: RunRecord, *gone: int, **more: Any) -> RunRecord:
    """The run without some of its questions."""
    left = tuple(one for at, one in enumerate(found.queries) if at not in gone)
    record = amended(found, queries=len(left)).record
    return RunRecord(record=record, queries=left, corpus=found.corpus, **more)


class TestClear:
    """The default rule, by scores of whole runs."""

    GATE = DropGate(measure="recall@5", max_drop=0.02)

    def lost(self, worse: int, better: int = 0, n: int = 40, **more: Any) -> Comparison:
        before = [0] * better + [1] * (n - better)
        after = [1] * better + [0] * worse + [1] * (n - better - worse)
        return compared(ranked(before, **more), ranked(after, **more))

    def test_is_the_default(self) -> None:
        assert self.GATE.rule == "clear"

    @pytest.mark.parametrize(
        ("worse", "better", "state"),
        [(1, 0, "inconclusive"), (2, 0, "fail"), (4, 1, "inconclusive"), (5, 1, "fail"), (0, 3, "pass")],
    )
    def test_clearly_more_got_worse_than_better(self, worse: int, better: int, state: str) -> None:
        assert judged(self.GATE, self.lost(worse, better)).state == state

    @pytest.mark.parametrize(("worse", "state"), [(5, "inconclusive"), (6, "fail")])
    def test_a_slice_needs_six(self, worse: int, state: str) -> None:
        tags = {at: ["t"] for at in range(30)}
        gate = replace(self.GATE, slice="tag:t")
        assert judged(gate, self.lost(worse, tags=tags)).state == state

    def test_a_slice_that_holds_everything_is_the_whole(self) -> None:
        assert judged(replace(self.GATE, slice="source:human"), self.lost(2)).state == "fail"

    def test_words(self) -> None:
        assert full(judged(self.GATE, self.lost(5, 1))) == (
            "recall@5 dropped by 10.0 points (2.0 points allowed, clear): 5 got worse and 1 better"
        )
        assert full(judged(self.GATE, self.lost(4, 1))) == (
            "recall@5 dropped by 7.5 points (2.0 points allowed, clear): "
            "4 got worse and 1 better: chance often does this"
        )
        assert full(judged(self.GATE, self.lost(1))).endswith(": only 1 of 40 queries changed")
        assert full(judged(self.GATE, self.lost(0))).endswith(": no query changed")


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
    def test_the_row_s_interval_and_p_reach_the_rule(self) -> None:
        def found(**more: Any) -> Outcome:
            return judged(drop(rule="significant"), seen(line(0.3, **more)))

        assert found(ci=(-0.5, -0.1), p=0.01).state == "fail"
        assert found(ci=(-0.5, -0.1), p=0.0625).state == "inconclusive"
        assert found(ci=(-0.5, 0.0), p=0.01).state == "inconclusive"

    def test_a_slice_goes_by_its_adjusted_p(self) -> None:
        for adjusted, state in ((0.0499, "fail"), (0.05, "inconclusive"), (None, "inconclusive")):
            part = line(0.3, slice="tag:x", ci=(-0.5, -0.1), p=0.001, p_adjusted=adjusted)
            assert judged(drop(rule="significant", part="tag:x"), seen(part)).state == state

    def test_words(self) -> None:
        def text(found: MeasureRow) -> str:
            told = full(judged(drop(rule="significant", part=found.slice or ""), seen(found)))
            return told.partition("): ")[2]

        assert text(line(0.3, ci=(-0.5, -0.1), p=0.0021)) == "a drop larger than chance (p = 0.0021)"
        assert text(line(0.3)) == "chance could explain it"
        assert text(line(0.0)) == "no query changed"
        part = line(0.3, slice="tag:x", ci=(-0.5, -0.1), p=0.001, p_adjusted=0.0123)
        assert text(part) == "a drop larger than chance (p = 0.012)"
        few = table_of(line(0.3, slice="tag:x", small=True, n=19), [0.3] * 19)
        told = full(judged(drop(rule="significant", part="tag:x"), seen(few)))
        assert told.endswith("): 19 queries are too few to tell")
        one = table_of(line(0.3, slice="tag:x", small=True, n=1), [0.3])
        assert "1 query is too few" in full(judged(drop(rule="significant", part="tag:x"), seen(one)))


class TestNonInferior:
    FEW = (0.1, -0.1, *[0.0] * 38)

    def found(self, **more: Any) -> Outcome:
        return judged(drop(rule="non-inferior"), seen(table_of(line(**more), self.FEW)))

    @pytest.mark.parametrize(
        ("bounds", "state"),
        [((-0.02, 0.1), "pass"), ((-0.5, 0.1), "inconclusive"), ((-0.5, -0.03), "fail")],
    )
    def test_the_row_s_bounds_reach_the_rule(self, bounds: tuple[float, float], state: str) -> None:
        assert self.found(bounds=bounds).state == state

    def test_words(self) -> None:
        def text(**more: Any) -> str:
            return full(self.found(**more)).partition("): ")[2]

        assert text(bounds=(0.0, 0.1)) == "a larger drop is ruled out"
        assert text(bounds=(-0.5, -0.1)) == "the drop is larger than allowed (95 % confidence)"
        assert text(bounds=(-0.086, 0.14)) == (
            "too few queries to decide: anything from 8.6 points worse to 14.0 points better is possible"
        )
        assert text(bounds=(-0.25, -0.019)) == (
            "too few queries to decide: the true change is between 1.9 points and 25.0 points worse"
        )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("max_drop", [0.0, 0.02])
@pytest.mark.parametrize("n", [1, 2, 3, 19, 20, 60])
def test_identical_runs_pass_under_every_rule(rule: str, max_drop: float, n: int) -> None:
    made = ranked(
        [1 + (number * 5) % 13 for number in range(n)], tags={number: ["t"] for number in range(0, n, 2)}
    )
    found = compared(made, made)
    for part in ("", "tag:t", "source:human"):
        told = judged(drop(max_drop, rule, part), found)
        assert (told.state, ground(told), told.exam) == ("pass", "unchanged", None)
    assert judged(KeepGate(tag="t", measure="hit@5"), found).state == "pass"


class TestEmptySlices:
    @pytest.mark.parametrize("rule", RULES)
    def test_empty_in_both_exams_it_cannot_be_measured(self, rule: str) -> None:
        for found in (seen(line()), seen(line(), line())):
            told = judged(drop(rule=rule, part="tag:none"), found)
            assert (told.state, told.code) == ("cannot_measure", "empty-slice")
            assert full(told) == "recall@5 of tag:none: no query"

    def test_empty_in_one_exam_the_other_judges(self) -> None:
        part, rest = line(0.3, slice="tag:x"), line(0.0)
        for found, exam in ((seen(part, rest), "base"), (seen(rest, part), "head")):
            told = judged(drop(part="tag:x"), found)
            assert (told.state, told.code, told.exam, told.other) == ("fail", "drop", exam, None)

    def test_a_floor_and_a_kept_tag_as_well(self) -> None:
        before = ranked([1, 1], tags={0: ["old"]})
        after = ranked([0, 1], tags={1: ["new"]})
        found = compared(before, after)
        floors = [
            judged(FloorGate(measure="recall@5", min=0.9, slice=f"tag:{tag}"), found)
            for tag in ("old", "new", "none")
        ]
        assert [(one.state, one.exam) for one in floors] == [
            ("fail", "base"),
            ("pass", "head"),
            ("cannot_measure", "base"),
        ]
        kept = [judged(KeepGate(tag=tag, measure="recall@5"), found) for tag in ("old", "new", "none")]
        assert [(one.state, one.exam) for one in kept] == [
            ("fail", "base"),
            ("pass", "head"),
            ("cannot_measure", "base"),
        ]


class TestBothExams:
    @pytest.mark.parametrize(
        ("base", "head", "state", "exam", "other"),
        [
            (0.1, 0.0, "fail", "base", "pass"),
            (0.0, 0.1, "fail", "head", "pass"),
            (0.1, 0.2, "fail", "base", None),
            (0.0, 0.01, "pass", "base", None),
        ],
    )
    def test_the_worse_stands_and_a_tie_is_the_base_s(
        self, base: float, head: float, state: str, exam: str, other: str | None
    ) -> None:
        found = judged(drop(), seen(line(base), line(head)))
        assert (found.state, found.exam, found.other) == (state, exam, other)

    def test_inconclusive_is_between(self) -> None:
        unclear, sure = line(0.3), line(0.3, ci=(-0.5, -0.1), p=0.01)
        assert judged(drop(rule="significant"), seen(unclear, sure)).exam == "head"
        found = judged(drop(rule="significant"), seen(unclear, line(0.0)))
        assert (found.state, found.exam, found.other) == ("inconclusive", "base", "pass")

    def test_the_reason_names_the_exam_where_they_differ(self) -> None:
        assert full(judged(drop(), seen(line(0.1), line(0.0)))).startswith(
            "by the base branch's questions and labels, recall@5 dropped"
        )
        assert full(judged(drop(), seen(line(0.0), line(0.1)))).startswith(
            "by this pull request's questions and labels, recall@5 dropped"
        )
        assert full(judged(drop(), seen(line(0.1), line(0.2)))).startswith("recall@5 dropped by 10.0 points")

    def test_a_waiver_counts_under_both(self) -> None:
        waiver = Waiver(measure="recall@5", max_drop=0.2, until=TODAY, owner="ana", reason="x")
        policy = Policy(gates=(), waivers=(waiver,))
        found = judged(drop(), seen(line(0.0), line(0.1)), policy)
        assert (found.state, found.waiver) == ("pass", None)
        found = judged(drop(), seen(line(0.1), line(0.0)), policy)
        assert (found.state, found.waiver) == ("pass", waiver)
        found = judged(drop(), seen(line(0.1), line(0.3)), policy)
        assert (found.state, found.exam, found.waiver, found.short_waiver) == ("fail", "head", None, waiver)

    def test_deleting_a_label_does_not_pass(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])
        before = run([row("q", ["r", "a"], ["r", "a"], corpus)], corpus)
        after = run([row("q", ["r"], ["r"], corpus)], corpus)
        found = judged(drop(), compared(before, after))
        assert (found.state, found.exam, found.other) == ("fail", "base", "pass")
        assert judged(drop(), compared(before, run([row("q", ["r", "a"], ["r"], corpus)], corpus))).state == (
            "pass"
        )

    def test_dropping_a_tag_does_not_pass(self) -> None:
        before = ranked([1, 1, 1], tags={0: ["x"], 1: ["x"]})
        after = ranked([0, 1, 1], tags={1: ["x"]})
        found = judged(drop(part="tag:x"), compared(before, after))
        assert (found.state, found.exam) == ("fail", "base")

    def test_labels_that_are_harder_on_the_new_run(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])
        before = run([row("q", ["r", "a"], ["r"], corpus)], corpus)
        after = run([row("q", ["r"], ["r", "a"], corpus)], corpus)
        found = judged(drop(), compared(before, after))
        assert (found.state, found.exam, found.other) == ("fail", "head", "pass")

    def test_deleting_the_rows_that_lose_does_not_pass(self) -> None:
        before = ranked([1] * 40)
        lost = ranked([0] * 5 + [1] * 35)
        asked = tuple(replace(one, asked_for="base") for one in lost.queries[:5])
        found = judged(drop(rule="clear"), compared(before, without(lost, *range(5), asked_for_base=asked)))
        assert (found.state, found.exam, found.other) == ("fail", "base", "pass")


class TestUnknownScores:
    """Questions of the base that this run was not asked: bounded by 0 and the baseline's score."""

    def test_a_gate_that_holds_with_nothing_found_passes(self) -> None:
        found = judged(drop(rule="clear"), compared(ranked([1] * 60), without(ranked([1] * 60), 0)))
        assert (found.state, ground(found)) == ("pass", "within")

    def test_one_that_fails_with_everything_found_fails(self) -> None:
        after = without(ranked([0] * 10 + [1] * 30), 39)
        found = judged(drop(rule="clear"), compared(ranked([1] * 40), after))
        assert (found.state, ground(found), found.exam) == ("fail", "clear", "base")

    def test_between_it_is_inconclusive_and_says_how_many_were_asked(self) -> None:
        after = without(ranked([1] * 40), *range(35))
        found = judged(drop(rule="clear"), compared(ranked([1] * 40), after))
        assert (found.state, ground(found), found.exam, found.other) == (
            "inconclusive",
            "unknown-decides",
            "base",
            "pass",
        )
        assert full(found) == (
            "by the base branch's questions and labels, recall@5 did not change (2.0 points allowed, clear): "
            "5 of 40 queries could be marked, and the others decide"
        )

    @pytest.mark.parametrize("rule", RULES)
    def test_nothing_known_at_all_has_no_interval(self, rule: str) -> None:
        found = judged(drop(rule=rule), compared(ranked([1, 1]), without(ranked([1, 1, 1]), 0, 1)))
        assert found.state == "inconclusive"
        assert isinstance(found.finding, DropFinding)
        assert (found.finding.n, found.finding.unknown, found.finding.bounds) == (0, 2, (-1.0, 1.0))

    def test_what_the_baseline_missed_cannot_be_lost(self) -> None:
        found = judged(drop(), compared(ranked([0, 1]), without(ranked([0, 1]), 0)))
        assert found.state == "pass"


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
        fell = line(0.08, bounds=(-0.15, -0.04))
        found = self.judge(seen(fell), self.waiver(), gate=drop(rule="non-inferior"))
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


class TestFloorsUnderBothExams:
    GATE = FloorGate(measure="recall@5", min=0.8)
    CORPUS = plain_chunks([*FILLERS, "a", "r"])

    def made(self, *rows: tuple[str, list[str], Any]) -> RunRecord:
        return run([row(name, found, asked, self.CORPUS) for name, found, asked in rows], self.CORPUS)

    def test_with_one_exam_it_is_what_the_record_says(self) -> None:
        after = ranked([1, 1, 1, 9])
        found = judged(self.GATE, compared(ranked([1] * 4), after))
        assert isinstance(found.finding, FloorFinding)
        assert found.finding.value == after.record.measures["recall@5"].mean
        assert (found.state, found.exam, found.finding.unknown) == ("fail", None, 0)

    def test_lowered_labels_do_not_lift_over_it(self) -> None:
        before = self.made(("q", ["r", "a"], ["r", "a"]))
        found = judged(self.GATE, compared(before, self.made(("q", ["r"], ["r"]))))
        assert (found.state, found.code, found.exam, found.other) == ("fail", "floor", "base", "pass")
        assert full(found) == (
            "by the base branch's questions and labels, recall@5 is 0.500, below the 0.8 needed"
        )

    def test_a_dropped_tag_does_not_either(self) -> None:
        before = ranked([1, 1, 1], tags={0: ["x"], 1: ["x"]})
        gate = replace(self.GATE, slice="tag:x")
        for tags in ({1: ["x"]}, {}):
            found = judged(gate, compared(before, ranked([0, 1, 1], tags=tags)))
            assert (found.state, found.exam) == ("fail", "base")

    def test_nor_do_400_easy_questions(self) -> None:
        before = ranked([1] * 10)
        lost, easy = ranked([0] * 5 + [1] * 5), self.made(*((f"e{n}", ["r"], ["r"]) for n in range(400)))
        after = RunRecord(
            record=amended(lost, queries=410).record,
            queries=(*lost.queries, *easy.queries),
            corpus=lost.corpus,
        )
        found = judged(self.GATE, compared(before, after))
        assert (found.state, found.exam, found.other) == ("fail", "base", "pass")

    def test_hard_new_questions_are_looked_at(self) -> None:
        before = self.made(("q", ["r"], ["r"]))
        after = self.made(("q", ["r"], ["r"]), ("x", ["f1"], ["r"]), ("y", ["f1"], ["r"]))
        found = judged(self.GATE, compared(before, after))
        assert (found.state, found.code, found.exam, found.other) == (
            "inconclusive",
            "floor-new-questions",
            "head",
            "pass",
        )
        assert full(found) == (
            "by this pull request's questions and labels, recall@5 is 0.333, below the 0.8 needed: "
            "the new questions are harder; the base's questions hold the floor"
        )

    def test_unknown_scores_are_bounded(self) -> None:
        def found(least: float, after: RunRecord) -> Outcome:
            return judged(replace(self.GATE, min=least), compared(ranked([1] * 10), after))

        nine = without(ranked([1] * 10), 0)
        assert found(0.9, nine).state == "pass"
        told = found(0.95, nine)
        assert (told.state, told.exam, told.other) == ("inconclusive", "base", "pass")
        assert full(told) == (
            "by the base branch's questions and labels, recall@5 is between 0.900 and 1.000, 0.95 needed: "
            "1 query could not be marked"
        )
        assert found(0.95, without(ranked([1] * 9 + [0]), 0)).state == "fail"
        nothing = found(0.5, without(ranked([1] * 11), *range(10)))
        assert (nothing.state, nothing.exam) == ("inconclusive", "base")

    def test_new_hard_questions_do_not_make_an_unknown_floor_a_failed_one(self) -> None:
        rows = (
            *without(ranked([1] * 10), 0).queries,
            *self.made(*((f"x{n}", ["f1"], ["r"]) for n in "ab")).queries,
        )
        after = RunRecord(
            record=amended(ranked([1] * 10), queries=11).record,
            queries=rows,
            corpus=ranked([1] * 10).corpus,
        )
        found = judged(replace(self.GATE, min=0.95), compared(ranked([1] * 10), after))
        assert (found.state, found.code, found.exam) == ("inconclusive", "floor", "base")

    def test_a_query_that_nothing_answers_any_more(self) -> None:
        before = self.made(("a", ["r"], ["r"]), ("b", ["r"], ["r"]))
        after = self.made(("a", ["f1"], Unanswerable()), ("b", ["r"], ["r"]))
        found = judged(self.GATE, compared(before, after))
        assert (found.state, found.exam) == ("fail", "base")

    def test_harder_labels_alone_are_looked_at(self) -> None:
        before = self.made(("q", ["r"], ["r"]))
        found = judged(self.GATE, compared(before, self.made(("q", ["r"], ["r", "a"]))))
        assert (found.state, found.exam) == ("inconclusive", "head")


class TestHonestMaintenance:
    """A document that moved, a corpus that was cut anew: no loss of anybody's."""

    GATES = (
        drop(),
        drop(rule="clear"),
        FloorGate(measure="recall@5", min=0.9),
        KeepGate(tag="t", measure="hit@5"),
    )

    def renamed(self, name: str, label: str) -> RunRecord:
        corpus = chunks({**{one: f"text of {one}" for one in FILLERS}, name: ["one", "two"]})
        return run([row("q036", [f"{name}#0"], [label], corpus, tags=("t",))], corpus)

    @pytest.mark.parametrize("label", ["overrides", "accept-a-loss"])
    @pytest.mark.parametrize("gate", GATES)
    def test_a_renamed_document_costs_nothing(self, gate: Gate, label: str) -> None:
        found = compared(self.renamed("overrides", "overrides"), self.renamed("accept-a-loss", label))
        assert judged(gate, found).state == "pass"

    @pytest.mark.parametrize("prefix", ["", "v2-"])
    @pytest.mark.parametrize("gate", GATES)
    def test_a_corpus_cut_anew_under_chunk_labels_does_not_fail(self, gate: Gate, prefix: str) -> None:
        def made(texts: Mapping[str, Sequence[str]], prefix: str = "") -> RunRecord:
            corpus = [replace(one, id=f"{prefix}{one.id}") for one in chunks(texts)]
            rows: list[QueryRow] = [
                row(f"q{n}", [f"{prefix}d{n}#1"], [f"d{n}#1"], corpus, tags=("t",)) for n in range(6)
            ]
            return run(rows, corpus, unit="chunk")

        before = made({f"d{n}": [f"{n} {part}" for part in range(3)] for n in range(6)})
        after = made({f"d{n}": [f"{n} 0 1", f"{n} 2 end"] for n in range(6)}, prefix)
        assert judged(gate, compared(before, after)).state == "inconclusive"


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
        assert full(found) == "hit@5 got worse for query q001 of tag:critical, which must not be lost"

    def test_many_are_counted(self) -> None:
        tags = {number: ["critical"] for number in range(12)}
        found = judged(self.GATE, compared(ranked([1] * 12, tags=tags), ranked([0] * 12, tags=tags)))
        assert "q000, q001, q002, q003, q004, q005, q006, q007, q008, q009 and 2 more of" in full(found)

    @pytest.mark.parametrize(("fell", "state"), [(0.9 * EPS, "pass"), (1.1 * EPS, "fail")])
    def test_border(self, fell: float, state: str) -> None:
        found = compared(ranked([1], tags={0: ["critical"]}), ranked([1], tags={0: ["critical"]}))
        scores = {"hit@5": (np.array([0.5]), np.array([0.5 - fell]))}
        assert judged(self.GATE, replace(found, base=replace(found.base, scores=scores))).state == state

    def test_a_failed_retriever_loses(self) -> None:
        corpus = plain_chunks([*FILLERS, "r"])
        before = run([row("q", ["r"], ["r"], corpus, tags=("critical",))], corpus)
        after = run([row("q", [], ["r"], corpus, tags=("critical",), error="timeout")], corpus)
        assert judged(self.GATE, compared(before, after)).state == "fail"

    def test_a_query_without_its_tag_still_counts(self) -> None:
        assert self.both([0, 1, 1], {1: ["critical"]}).exam == "base"
        assert self.both([0, 1, 1], {1: ["critical"]}).state == "fail"
        assert self.both([0, 1, 1], {}).state == "fail"

    def test_a_new_tag_protects_at_once(self) -> None:
        found = self.both([1, 1, 0], {0: ["critical"], 1: ["critical"], 2: ["critical"]})
        assert (found.state, found.exam, found.other) == ("fail", "head", "pass")

    def test_one_that_was_not_asked_is_inconclusive(self) -> None:
        before = ranked([1, 1, 1], tags={0: ["critical"], 2: ["critical"]})
        found = judged(self.GATE, compared(before, without(before, 2)))
        assert (found.state, found.code, found.exam) == ("inconclusive", "must-not-lose-gone", "base")
        assert full(found) == (
            "by the base branch's questions and labels, query q002 of tag:critical could not be marked"
        )
        assert judged(self.GATE, compared(before, without(before, 1))).state == "pass"

    def test_one_that_was_lost_already_cannot_be_lost(self) -> None:
        before = ranked([1, 1, 0], tags={0: ["critical"], 2: ["critical"]})
        assert judged(self.GATE, compared(before, without(before, 2))).state == "pass"

    def test_a_loss_is_worse_than_an_unknown(self) -> None:
        tags = {0: ["critical"], 2: ["critical"]}
        after = without(ranked([0, 1, 1], tags=tags), 2)
        assert judged(self.GATE, compared(ranked([1, 1, 1], tags=tags), after)).state == "fail"

    def test_a_removed_one_is_asked_and_may_not_be_lost(self) -> None:
        tags = {0: ["critical"]}
        lost = ranked([0, 1], tags=tags)
        asked = (replace(lost.queries[0], asked_for="base"),)
        found = judged(self.GATE, compared(ranked([1, 1], tags=tags), without(lost, 0, asked_for_base=asked)))
        assert (found.state, found.exam) == ("fail", "base")

    def test_nobody_has_the_tag(self) -> None:
        found = judged(self.GATE, compared(ranked([1]), ranked([1])))
        assert (found.state, found.code) == ("cannot_measure", "empty-slice")
        assert full(found) == "hit@5 of tag:critical: no query"

    def test_new_labels_do_not_decide_here_either(self) -> None:
        corpus = plain_chunks([*FILLERS, "a", "r"])
        before = run([row("q", ["a"], ["a"], corpus, tags=("critical",))], corpus)
        after = run([row("q", ["r"], ["a", "r"], corpus, tags=("critical",))], corpus)
        found = judged(self.GATE, compared(before, after))
        assert (found.state, found.exam, found.other) == ("fail", "base", "pass")

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
