"""Each kind of finding has its sentence, in full, in brief and as a line of the table."""

from __future__ import annotations

import datetime
from typing import get_args

import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.access_audit import ForbiddenHit
from rageval_action.core.judging.outcomes import (
    BaseLeaks,
    BaselineLost,
    BaselineUnknown,
    CorpusShrunk,
    DropFinding,
    Finding,
    FloorFinding,
    KeepFinding,
    NoBaseline,
    NoExam,
    NotAsked,
    Outcome,
    StaleLabels,
    Withdrawn,
)
from rageval_action.core.judging.policy import DropGate, FloorGate, KeepGate, LatencyGate, Waiver
from rageval_action.core.judging.sentences import gate_text
from rageval_action.core.judging.sentences.gate_text import brief, fallen, full, line
from rageval_action.core.statistics.drop_rules import Code, Rule

DROP = DropGate(measure="recall@5", max_drop=0.02, slice="tag:x")
FLOOR = FloorGate(measure="mrr", min=0.8)
KEEP = KeepGate(tag="critical", measure="hit@5")
TIMED = LatencyGate(stage="total", max_ratio=2.0)


def found(delta: float = -0.058, rule: Rule = "observed", ground: Code = "more-than-allowed") -> DropFinding:
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


@pytest.mark.parametrize("ground", [code for code in get_args(Code) if code not in ("reached", "below")])
def test_every_ground_has_words(ground: Code) -> None:
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


@pytest.mark.parametrize("ground", gate_text.OPEN)
def test_what_decides_nothing_says_why_in_brief_too(ground: Code) -> None:
    undecided = failed(found(ground=ground), state="inconclusive")
    assert brief(undecided) == full(undecided)


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


def test_the_exam_is_named_only_where_the_other_one_says_something_else() -> None:
    by_base = failed(found(), exam="base", other="pass")
    assert full(by_base).startswith("by the base branch's questions and labels, recall@5 of tag:x dropped")
    assert brief(by_base).startswith("by the base branch's questions and labels, recall@5 of tag:x dropped")
    assert full(failed(found(), exam="head", other="pass")).startswith("by this pull request's questions")
    assert full(failed(found(), exam="base")) == full(failed(found()))


def test_a_floor_says_what_is_not_known_and_what_is_harder() -> None:
    unsure = FloorFinding(value=0.8, floor=0.75, unknown=5, at_best=0.8, at_worst=0.7)
    assert full(failed(unsure, gate=FLOOR, state="inconclusive", code="floor")) == (
        "mrr is between 0.700 and 0.800, 0.75 needed: 5 queries could not be marked"
    )
    harder = failed(FloorFinding(value=0.7, floor=0.8), gate=FLOOR, code="floor-new-questions")
    assert full(harder) == (
        "mrr is 0.700, below the 0.8 needed: the new questions are harder; the base's questions hold the floor"
    )


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"better": 0, "worse": 1}, "only 1 of 40 queries changed"),
        ({"better": 3, "worse": 5}, "5 got worse and 3 better: chance often does this"),
    ],
)
def test_a_drop_that_is_not_clear_says_how_many_changed(more: dict[str, int], text: str) -> None:
    assert full(failed(replace(found(ground="not-clear"), **more))).endswith(f": {text}")


def test_what_could_not_be_ruled_out_is_a_range_in_plain_words() -> None:
    open_ended = failed(found(ground="cannot-rule-out"))
    assert full(open_ended).endswith("anything from 10.0 points worse to 5.0 points better is possible")
    below = failed(replace(found(ground="cannot-rule-out"), bounds=(-0.25, -0.02)))
    assert full(below).endswith("the true change is between 2.0 points and 25.0 points worse")


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (Withdrawn(ids=("a", "b"), queries=9), "removed or changed 2 of 9 queries"),
        (Withdrawn(ids=("a",), queries=9, named=("a",)), "query a, which a gate protects"),
        (
            NotAsked(ids=("a",), queries=4, why={"no-vector": 1}),
            "3 of 4 queries of the base branch were asked",
        ),
        (StaleLabels(ids=("a",), queries=9), "the labels of 1 of 9 queries name ids"),
        (CorpusShrunk(left=3, documents=10), "the index holds 3 of the base branch's 10 documents"),
        (NoExam(), "an older version"),
        (BaseLeaks((ForbiddenHit(query_id="q", id="c", rank=1),)), "1 result may not be seen"),
    ],
)
def test_every_cap_says_what_it_is_about(finding: Finding, text: str) -> None:
    assert text in full(failed(finding, gate=None))


@pytest.mark.parametrize(
    "finding", [NoBaseline("recall@5"), BaselineUnknown("an outage"), BaselineLost("expired")]
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
    assert line(gone) == ("hit@5 of tag:critical: query q1 of tag:critical could not be marked")


def test_where_no_gate_is_involved_nothing_is_named() -> None:
    assert gate_text.about(None) == ""
