"""One verdict out of many outcomes, the exit code it ends with, and what an override may lift."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from rageval_action.core.comparing.comparison import Comparison
from rageval_action.core.judging.outcomes import (
    PRECEDENCE,
    Against,
    BaselineUnknown,
    NoBaseline,
    Outcome,
    Word,
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
from rageval_action.core.judging.sentences.notices import of_waiver
from rageval_action.core.judging.verdict import Override, Verdict, exit_code, judge
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.types import Unanswerable
from tests.synthetic_runs import FILLERS, TODAY, amended, compared, plain_chunks, ranked, row, run

TAGS = {number: ["few"] for number in range(4)}
BEFORE = ranked([1] * 40, tags=TAGS)
SAME = compared(BEFORE, BEFORE)
WORSE = compared(BEFORE, ranked([0, 0, *[1] * 38], tags=TAGS))

FAIL = DropGate(measure="recall@5", max_drop=0.0, rule="observed")
UNCLEAR = DropGate(measure="recall@5", max_drop=0.01, rule="significant", slice="tag:few")
EMPTY = DropGate(measure="recall@5", max_drop=0.1, slice="tag:none")
PASS = FloorGate(measure="recall@5", min=0.1)
LOW = FloorGate(measure="recall@5", min=0.99)
OVERRIDE = Override(by="bob", reason="agreed with the team", sha="abc")


def policy(*gates: Gate, **more: Any) -> Policy:
    return Policy(gates=gates, **more)


def verdict(
    against: Against,
    *gates: Gate,
    record: RunRecord | None = None,
    override: Override | None = None,
    **more: Any,
) -> Verdict:
    own = against.candidate if isinstance(against, Comparison) else BEFORE
    return judge(policy(*gates, **more), record or own, against, today=TODAY, override=override)


def codes(found: Verdict) -> list[str]:
    return [reason.code for reason in found.reasons]


def said(reasons: Sequence[Outcome]) -> list[tuple[str, str, Gate | None]]:
    return [(reason.code, full(reason), reason.gate) for reason in reasons]


class TestWords:
    def test_pass(self) -> None:
        found = verdict(SAME, FAIL, PASS)
        assert (found.verdict, found.exit_code, found.overridden) == ("pass", 0, None)
        assert said(found.reasons) == [("pass", "every gate holds", None)]
        assert [one.state for one in found.outcomes] == ["pass", "pass"]

    def test_a_policy_without_gates(self) -> None:
        assert full(verdict(SAME).reasons[0]) == "every gate holds"

    def test_fail_with_its_gate(self) -> None:
        found = verdict(WORSE, PASS, FAIL)
        assert (found.verdict, found.exit_code) == ("fail", 1)
        (reason,) = found.reasons
        assert reason.code == "drop"
        assert reason.gate == FAIL
        assert (
            full(reason) == "recall@5 dropped by 5.0 points (0.0 points allowed, observed): more than allowed"
        )

    def test_inconclusive(self) -> None:
        found = verdict(WORSE, UNCLEAR)
        assert (found.verdict, found.exit_code) == ("inconclusive", 0)
        assert verdict(WORSE, UNCLEAR, fail_on="inconclusive").exit_code == 1
        assert verdict(WORSE, UNCLEAR, fail_on="never").exit_code == 0

    def test_cannot_measure(self) -> None:
        found = verdict(SAME, EMPTY)
        assert (found.verdict, found.exit_code, codes(found)) == ("cannot_measure", 3, ["empty-slice"])

    def test_no_baseline(self) -> None:
        found = verdict(NoBaseline("the first run"), FAIL, PASS)
        assert (found.verdict, found.exit_code) == ("no_baseline", 0)
        assert codes(found) == ["no-baseline", "no-baseline"]
        assert said(found.reasons)[0] == ("no-baseline", "the first run", None)
        assert found.outcomes[1].state == "pass"

    def test_no_baseline_with_floors_only(self) -> None:
        assert verdict(NoBaseline("the first run"), PASS).verdict == "no_baseline"
        assert verdict(NoBaseline("the first run"), LOW, record=WORSE.candidate).verdict == "fail"

    def test_an_unknown_baseline_is_not_none(self) -> None:
        found = verdict(BaselineUnknown("the API did not answer"), PASS)
        assert (found.verdict, found.exit_code, codes(found)) == ("cannot_measure", 3, ["baseline-unknown"])
        found = verdict(BaselineUnknown("the API did not answer"), LOW, record=WORSE.candidate)
        assert (found.verdict, found.exit_code) == ("fail", 1)

    def test_latency_that_only_informs_decides_nothing(self) -> None:
        found = verdict(SAME, PASS, LatencyGate(stage="total", max_ratio=1.1))
        assert found.verdict == "pass"
        assert full(found.reasons[0]) == "1 of 2 gates hold"


class TestStanding:
    def test_access_fails_whatever_else(self) -> None:
        for against in (SAME, NoBaseline("first"), BaselineUnknown("outage")):
            record = amended(BEFORE, acl_violations=1, errors=40)
            found = verdict(against, PASS, record=record)
            assert (found.verdict, found.exit_code) == ("fail", 1)
            assert said(found.reasons)[0] == ("acl", "1 hit that the query may not see came back", None)
        found = verdict(SAME, record=amended(BEFORE, acl_violations=3))
        assert full(found.reasons[0]) == "3 hits that the query may not see came back"

    @pytest.mark.parametrize(
        ("errors", "word"), [(0, "pass"), (4, "pass"), (5, "cannot_measure"), (40, "cannot_measure")]
    )
    def test_more_than_a_tenth_of_errors(self, errors: int, word: str) -> None:
        found = verdict(SAME, PASS, record=amended(BEFORE, errors=errors))
        assert found.verdict == word

    def test_the_share_of_errors_is_the_policy_s(self) -> None:
        record = amended(BEFORE, errors=12)
        assert verdict(SAME, PASS, record=record, max_errors=0.3).verdict == "pass"
        found = verdict(SAME, PASS, record=record, max_errors=0.29)
        assert said(found.reasons) == [("errors", "the retriever failed for 12 of 40 queries", None)]
        assert (
            verdict(SAME, PASS, record=amended(BEFORE, errors=1), max_errors=0.0).verdict == "cannot_measure"
        )
        third = amended(ranked([1, 1, 1]), errors=1)
        assert verdict(SAME, PASS, record=third, max_errors=1 / 3).verdict == "pass"

    def test_the_base_has_nothing_to_compare_by(self) -> None:
        corpus = plain_chunks(FILLERS)
        silent = run([row("q000", FILLERS, Unanswerable(), corpus)], corpus)
        found = verdict(compared(silent, silent), record=silent)
        assert (found.verdict, codes(found)) == ("cannot_measure", ["nothing-paired"])
        assert full(found.reasons[0]) == "the base branch has no answerable question to compare by"


class TestExam:
    """Which exam the verdict is shown by."""

    def test_the_worst_gate_s_exam(self) -> None:
        tags = {0: ["x"], 1: ["x"]}
        part = DropGate(measure="recall@5", max_drop=0.0, rule="observed", slice="tag:x")
        same = verdict(SAME, FAIL)
        assert same.exam == "base"
        old = verdict(compared(ranked([1] * 4, tags=tags), ranked([0, 1, 1, 1])), part)
        assert (old.verdict, old.exam) == ("fail", "base")
        new = verdict(compared(ranked([1] * 4), ranked([0, 1, 1, 1], tags=tags)), part, PASS)
        assert (new.verdict, new.exam) == ("fail", "head")
        tie = verdict(compared(ranked([1] * 4), ranked([0, 1, 1, 1], tags=tags)), part, FAIL)
        assert (tie.verdict, tie.exam) == ("fail", "base")

    def test_without_any_judging_gate_it_is_the_base_s(self) -> None:
        assert verdict(SAME).exam == "base"
        assert verdict(SAME, LatencyGate(stage="total", max_ratio=1.1)).exam == "base"


def test_precedence() -> None:
    """Every pair of words: the first in the order of the design wins, and reasons come worst first."""
    causes: dict[Word, Gate] = {
        "fail": FAIL,
        "cannot_measure": EMPTY,
        "inconclusive": UNCLEAR,
        "pass": PASS,
    }
    for one, other in itertools.permutations(causes, 2):
        found = verdict(WORSE, causes[one], causes[other])
        assert found.verdict == min(one, other, key=PRECEDENCE.index)
        assert len(found.reasons) == len({one, other} - {"pass"})
    found = verdict(WORSE, PASS, UNCLEAR, EMPTY, FAIL)
    assert codes(found) == ["drop", "empty-slice", "drop"]
    assert [one.state for one in found.outcomes] == ["pass", "inconclusive", "cannot_measure", "fail"]
    assert PRECEDENCE == ("fail", "cannot_measure", "inconclusive", "no_baseline", "pass")
    keep = KeepGate(tag="few", measure="hit@5")
    assert verdict(NoBaseline("first"), keep, record=amended(BEFORE, errors=40)).verdict == "cannot_measure"


class TestExitCodes:
    @pytest.mark.parametrize(
        ("words", "fail_on", "overridden", "code"),
        [
            (["pass"], "fail", False, 0),
            (["no_baseline"], "fail", False, 0),
            (["no_baseline"], "inconclusive", False, 0),
            (["inconclusive"], "fail", False, 0),
            (["inconclusive"], "inconclusive", False, 1),
            (["inconclusive"], "never", False, 0),
            (["fail"], "fail", False, 1),
            (["fail"], "inconclusive", False, 1),
            (["fail"], "never", False, 0),
            (["cannot_measure"], "fail", False, 3),
            (["cannot_measure"], "never", False, 3),
            (["fail", "cannot_measure"], "fail", False, 1),
            (["fail", "cannot_measure"], "never", False, 3),
            (["fail"], "fail", True, 0),
            (["inconclusive"], "inconclusive", True, 0),
            (["fail", "inconclusive"], "inconclusive", True, 0),
            (["cannot_measure"], "fail", True, 3),
            (["fail", "cannot_measure"], "fail", True, 3),
            (["cannot_measure", "inconclusive"], "inconclusive", False, 3),
            (["no_baseline"], "fail", True, 0),
            (["pass"], "inconclusive", True, 0),
        ],
    )
    def test_table(self, words: list[Word], fail_on: Any, overridden: bool, code: int) -> None:
        assert exit_code(words, policy(fail_on=fail_on), overridden=overridden) == code


class TestOverride:
    def test_lifts_a_fail_and_is_told(self) -> None:
        found = verdict(WORSE, FAIL, override=OVERRIDE)
        assert (found.verdict, found.exit_code, found.overridden) == ("fail", 0, OVERRIDE)
        assert codes(found) == ["drop"]

    def test_lifts_an_inconclusive_result(self) -> None:
        found = verdict(WORSE, UNCLEAR, override=OVERRIDE, fail_on="inconclusive")
        assert (found.verdict, found.exit_code, found.overridden) == ("inconclusive", 0, OVERRIDE)

    @pytest.mark.parametrize(
        ("against", "gate", "code"), [(SAME, PASS, 0), (SAME, EMPTY, 3), (NoBaseline("first"), PASS, 0)]
    )
    def test_is_not_told_where_it_lifts_nothing(self, against: Against, gate: Gate, code: int) -> None:
        found = verdict(against, gate, override=OVERRIDE)
        assert (found.exit_code, found.overridden) == (code, None)

    def test_what_was_not_measured_stays(self) -> None:
        found = verdict(WORSE, FAIL, EMPTY, override=OVERRIDE)
        assert (found.verdict, found.exit_code, found.overridden) == ("fail", 3, OVERRIDE)


class TestWaiverNotes:
    def waiver(self, until: datetime.date, **more: Any) -> Waiver:
        return Waiver(measure="recall@5", max_drop=0.5, until=until, owner="ana", reason="x", **more)

    def notes(self, *waivers: Waiver) -> list[tuple[str, str]]:
        return [
            (note.code, of_waiver(note).text) for note in verdict(SAME, FAIL, PASS, waivers=waivers).notes
        ]

    def test_a_live_one_needs_no_word(self) -> None:
        assert self.notes(self.waiver(TODAY)) == []

    def test_one_that_ran_out(self) -> None:
        yesterday = TODAY - datetime.timedelta(days=1)
        assert self.notes(self.waiver(yesterday)) == [
            ("waiver.expired", f"the waiver of recall@5 (ana) ran out on {yesterday}")
        ]

    def test_one_that_fits_no_gate(self) -> None:
        assert self.notes(self.waiver(TODAY, slice="tag:x")) == [
            ("waiver.no-gate", "the waiver of recall@5 of tag:x (ana) fits no gate")
        ]
        floor = FloorGate(measure="recall@5", min=0.1)
        mrr = DropGate(measure="mrr", max_drop=0.1)
        found = verdict(SAME, floor, mrr, waivers=(self.waiver(TODAY),))
        assert [note.code for note in found.notes] == ["waiver.no-gate"]
        found = verdict(SAME, floor, mrr, FAIL, waivers=(self.waiver(TODAY),))
        assert found.notes == ()
        later = datetime.date(2000, 1, 1)
        assert [code for code, _ in self.notes(self.waiver(later, slice="tag:x"))] == ["waiver.no-gate"]
