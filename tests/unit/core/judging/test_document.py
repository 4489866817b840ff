"""The comparison as a document: the contract of `rageval compare --json`, and enough to draw every report again."""

from __future__ import annotations

import datetime

import msgspec
import pytest
from msgspec.structs import replace

from rageval_action.core.judging.document import (
    BaselineInfo,
    ComparisonDocument,
    UnknownScore,
    document,
    encode_document,
    failures,
)
from rageval_action.core.judging.outcomes import BaselineUnknown, NoBaseline
from rageval_action.core.judging.policy import DropGate, FloorGate, Gate, Policy, Waiver
from rageval_action.core.judging.verdict import Override, judge
from rageval_action.core.model.record import GitInfo, RunRecord
from tests.synthetic_runs import TODAY, amended, compared, ranked

BASELINE = BaselineInfo(run_id="run-0", sha="abc", rung="ancestor", age_s=3600.0, distance=2)
WAIVER = Waiver(measure="recall@5", max_drop=0.9, until=TODAY, owner="ana", reason="moving")
GATE = DropGate(measure="recall@5", max_drop=0.0, rule="observed")


def test_the_contract() -> None:
    before = ranked([1, 1, 1, 0, 2], tags={0: ["x"], 2: ["x"]})
    assert before.record.exam is not None
    before = amended(before, exam=replace(before.record.exam, sha="base-sha"))
    whole = ranked([1, 0, 2, 0, 2], tags={0: ["x"]})
    after = RunRecord(
        record=amended(whole, queries=4).record,
        queries=whole.queries[:4],
        corpus=whole.corpus,
        asked_for_base=(replace(whole.queries[4], asked_for="base"),),
    )
    comparison = compared(before, after)
    verdict = judge(
        Policy(gates=(GATE, FloorGate(measure="mrr", min=0.1))),
        after,
        comparison,
        today=TODAY,
        override=Override(by="bob", reason="known"),
    )
    made = document(verdict, after, comparison, BASELINE)
    written = msgspec.json.decode(msgspec.json.encode(made))
    assert written["schema"] == "rageval.comparison/1"
    assert (written["verdict"], written["exit_code"]) == ("fail", 0)
    assert written["overridden"] == {"by": "bob", "reason": "known", "sha": "", "at": ""}
    assert written["baseline"] == {
        "run_id": "run-0",
        "sha": "abc",
        "rung": "ancestor",
        "age_s": 3600.0,
        "distance": 2,
    }
    assert written["pairing"] == {
        "paired": 4,
        "new": [],
        "removed": ["q004"],
        "renamed": [],
        "reworded": [],
        "relabelled": [],
        "retagged": ["q002"],
        "access_changed": [],
        "since_baseline": [],
    }
    assert written["exam"] == "base"
    assert written["exams"] == {
        "base": {"sha": "base-sha", "queries": 5, "asked": 5, "unknown": []},
        "head": {"sha": "", "queries": 4, "asked": 4, "unknown": []},
    }
    assert set(written["reasons"][0]) == {
        *("code", "text", "gate"),
        *("state", "finding", "waiver", "short_waiver", "answered_only", "exam", "other"),
    }
    row = written["measures"][0]
    assert (row["slice"], row["exam"], row["unknown"]) == (None, "base", 0)
    assert (row["n"], row["better"], row["worse"], row["same"]) == (5, 0, 2, 3)
    assert {
        "measure",
        "baseline",
        "candidate",
        "delta",
        "ci",
        "p",
        "p_adjusted",
        "reading",
        "mde",
        "label_effect",
    } <= set(row)
    query = written["queries"][0]
    assert (query["id"], query["change"], query["measure"], query["cause"]) == (
        "q001",
        "lost",
        "recall@5",
        "below-depth",
    )
    assert (query["baseline_rank"], query["candidate_rank"]) == (1, None)
    assert query["by"] == ["f1", "f2", "f3", "f4", "f5"]
    assert [note["code"] for note in written["warnings"]] == [note.code for note in comparison.caveats]
    assert (written["k"], written["depth"]) == (5, 100)
    assert (query["exam"], query["baseline_id"]) == ("both", None)
    assert (written["cutoffs"], written["what_if"]) == ([], [])
    assert written["access"] == {"head": [], "base_only": []}
    assert [gate["state"] for gate in written["gates"]] == ["fail", "pass"]
    assert written["gates"][0]["gate"] == {
        "kind": "drop",
        "measure": "recall@5",
        "max_drop": 0.0,
        "rule": "observed",
        "slice": "",
    }
    assert {one["exam"] for one in written["other_exam_measures"]} == {"head"}
    assert written["turnover"]["new_ids"] == comparison.turnover.new_ids
    assert [factor["name"] for factor in written["factors"]] == [factor.name for factor in comparison.factors]
    assert msgspec.json.decode(encode_document(made), type=ComparisonDocument) == made


def made(before: RunRecord, after: RunRecord, *gates: Gate) -> ComparisonDocument:
    comparison = compared(before, after)
    verdict = judge(Policy(gates=gates), after, comparison, today=TODAY)
    return document(verdict, after, comparison, BASELINE)


def test_one_exam_has_no_second_table() -> None:
    found = made(ranked([1]), ranked([1]), GATE)
    assert (found.other_exam_measures, found.exam) == ((), "base")
    assert (found.overridden, found.verdict) == (None, "pass")
    assert found.gates[0].waived == ""


def test_the_deciding_exam_is_shown_first() -> None:
    part = DropGate(measure="recall@5", max_drop=0.0, rule="observed", slice="tag:x")
    found = made(ranked([1] * 4), ranked([0, 1, 1, 1], tags={0: ["x"]}), part)
    assert (found.verdict, found.exam) == ("fail", "head")
    assert {one.exam for one in found.measures} == {"head"}
    assert {one.exam for one in found.other_exam_measures} == {"base"}


def test_a_question_that_was_not_asked_is_named_with_its_reason() -> None:
    after = amended(ranked([1]), base_unasked={"q001": "no-vector"})
    found = made(ranked([1, 1]), after).exams["base"]
    assert (found.queries, found.asked) == (2, 1)
    assert found.unknown == (UnknownScore(id="q001", why="no-vector"),)


def test_a_baseline_of_an_older_version_names_its_own_commit() -> None:
    older = amended(ranked([1]), exam=None, git=GitInfo(sha="abc"))
    assert made(older, ranked([1])).exams["base"].sha == "abc"


def test_a_waiver_is_named_with_its_gate() -> None:
    comparison = compared(ranked([1, 1]), ranked([1, 0]))
    policy = Policy(gates=(GATE,), waivers=(WAIVER,))
    made = document(judge(policy, ranked([1]), comparison, today=TODAY), ranked([1]), comparison, BASELINE)
    assert (made.gates[0].state, made.gates[0].waived) == ("pass", "ana: moving")


def test_notes_about_waivers_come_last() -> None:
    tomorrow = TODAY + datetime.timedelta(days=1)
    policy = Policy(gates=(GATE,), waivers=(WAIVER,))
    comparison = compared(ranked([1, 1]), ranked([1]))
    made = document(judge(policy, ranked([1]), comparison, today=tomorrow), ranked([1]), comparison, BASELINE)
    assert [note.code for note in made.warnings] == ["golden.removed", "waiver.expired"]


@pytest.mark.parametrize("against", [NoBaseline("first run"), BaselineUnknown("outage")])
def test_without_a_comparison(against: NoBaseline | BaselineUnknown) -> None:
    policy = Policy(gates=(GATE,), waivers=(WAIVER,))
    verdict = judge(policy, ranked([1]), against, today=TODAY + datetime.timedelta(days=1))
    made = document(verdict, ranked([1]), None, None)
    assert (made.baseline, made.measures, made.queries, made.turnover) == (None, (), (), None)
    assert made.pairing.paired == 0
    assert (made.k, made.depth) == (5, 0)
    assert made.reasons[0].text == against.reason
    assert [note.code for note in made.warnings] == ["waiver.expired"]
    assert [gate.state for gate in made.gates] == [verdict.verdict]


def test_failures_are_the_commonest_errors_in_their_own_words() -> None:
    errors = ["slow"] * 3 + ["gone"] * 2 + ["a\x1b[1m"] + ["b"] + [""] * 2
    run = ranked([1] * len(errors), fields={at: {"error": error} for at, error in enumerate(errors)})
    found = failures(run.queries)
    assert [(one.text, one.queries) for one in found[:2]] == [("slow", 3), ("gone", 2)]
    assert [one.text for one in found[2:]] == ["a [1m", "b"]
    assert failures(ranked([1, 2]).queries) == ()
