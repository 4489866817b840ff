"""Each kind of finding has its sentence, in full, in brief and as a line of the table."""

from __future__ import annotations

import datetime
from typing import get_args

import pytest
from msgspec.structs import replace

from rageval_action.core.judging.outcomes import (
    BaselineUnknown,
    ByBothLabels,
    DropFinding,
    Finding,
    FloorFinding,
    Ground,
    KeepFinding,
    LabelsMoved,
    NoBaseline,
    Outcome,
)
from rageval_action.core.judging.policy import DropGate, FloorGate, KeepGate, LatencyGate, Rule, Waiver
from rageval_action.core.judging.sentences import gate_text
from rageval_action.core.judging.sentences.gate_text import brief, fallen, full, line

DROP = DropGate(measure="recall@5", max_drop=0.02, slice="tag:x")
FLOOR = FloorGate(measure="mrr", min=0.8)
KEEP = KeepGate(tag="critical", measure="hit@5")
TIMED = LatencyGate(stage="total", max_ratio=2.0)


def found(delta: float = -0.058, rule: Rule = "observed", ground: Ground = "exceeded") -> DropFinding:
    return DropFinding(
        rule=rule,
        ground=ground,
        delta=delta,
        allowed=0.02,
        n=40,
        better=1,
        worse=4,
        bounds=(-0.1, 0.05),
        p=0.012,
        p_adjusted=0.034,
    )


def failed(finding: Finding, **more: object) -> Outcome:
    return Outcome(**{"gate": DROP, "state": "fail", "code": "drop", "finding": finding, **more})  # type: ignore[arg-type]


def test_every_kind_of_finding_has_a_sentence() -> None:
    assert set(gate_text._SENTENCES) == set(get_args(Finding))


@pytest.mark.parametrize("ground", get_args(Ground))
def test_every_ground_has_words(ground: Ground) -> None:
    text = full(failed(found(ground=ground)))
    assert text.startswith("recall@5 of tag:x dropped by 5.8 points (2.0 points allowed, observed): ")
    assert not text.endswith(": ")


def test_a_drop_in_brief_leaves_out_the_rule() -> None:
    outcome = failed(found())
    assert (
        brief(outcome) == line(outcome) == "recall@5 of tag:x dropped by 5.8 points; 2.0 points are allowed"
    )
    held = replace(outcome, state="pass")
    assert line(held) == full(held)
    assert brief(failed(found(rule="significant"))) == full(failed(found(rule="significant")))


def test_a_rise_is_no_drop() -> None:
    assert fallen(failed(found(0.05))) == fallen(failed(found(0.0))) == ""
    assert brief(failed(found(0.05))) == full(failed(found(0.05)))


def test_a_waiver_that_is_not_enough_stands_for_the_limit() -> None:
    waiver = Waiver(
        measure="recall@5", max_drop=0.03, until=datetime.date(2031, 6, 30), owner="ana", reason="moving"
    )
    text = "a waiver of 3.0 points until 2031-06-30 by ana is in force and exceeded"
    assert brief(failed(found(), short_waiver=waiver)) == f"recall@5 of tag:x dropped by 5.8 points; {text}"
    assert full(failed(found(), short_waiver=waiver)).endswith(f"more than allowed; {text}")


def test_labels_that_decide_are_not_said_twice_below_their_title() -> None:
    new, old = failed(found(0.0)), failed(found())
    both = failed(ByBothLabels(new, old), code="labels-decide")
    assert full(both) == f"the labels decide: under the new ones {full(new)}; under the old ones {full(old)}"
    assert brief(both) == f"under the new labels {full(new)}; under the old labels {full(old)}"
    floor = failed(FloorFinding(value=0.9, floor=0.8, under_old_labels=0.7), gate=FLOOR, code="labels-decide")
    assert full(floor) == (
        "the labels decide: mrr is 0.900, at least the 0.8 needed; under the old ones it is 0.700"
    )
    assert brief(floor) == "mrr is 0.900, at least the 0.8 needed; under the old labels it is 0.700"
    assert brief(failed(FloorFinding(value=None, floor=0.8, under_old_labels=0.7), gate=FLOOR)) == (
        "mrr: no query; under the old labels it is 0.700"
    )


@pytest.mark.parametrize(
    "finding", [LabelsMoved(in_place=True), NoBaseline("recall@5"), BaselineUnknown("an outage")]
)
def test_a_line_names_the_gate_where_its_sentence_does_not(finding: Finding) -> None:
    """By the kind of the finding: that a reason happens to hold the measure's name changes nothing."""
    outcome = failed(finding, state="cannot_measure", code="x")
    assert line(outcome) == f"recall@5 of tag:x: {full(outcome)}"
    assert line(replace(outcome, gate=TIMED)) == f"total p50: {full(outcome)}"


def test_a_query_that_is_gone_is_named_with_its_measure() -> None:
    gone = failed(
        KeepFinding(measure="hit@5", tag="critical", n=1, gone=("q1",)), gate=KEEP, code="must-not-lose-gone"
    )
    assert line(gone) == (
        "hit@5 of tag:critical: query q1 of tag:critical cannot be compared: "
        "removed from the golden set or reworded"
    )


def test_where_no_gate_is_involved_nothing_is_named() -> None:
    assert gate_text.about(None) == ""
