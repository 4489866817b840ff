"""The comparison as a document: the contract of `rageval compare --json`, and enough to draw every report again."""

from __future__ import annotations

import datetime

import msgspec
import pytest

from rageval_action.core.judging.document import (
    BaselineInfo,
    ComparisonDocument,
    document,
    encode_document,
    failures,
)
from rageval_action.core.judging.outcomes import BaselineUnknown, NoBaseline
from rageval_action.core.judging.policy import DropGate, FloorGate, Policy, Waiver
from rageval_action.core.judging.verdict import Override, judge
from tests.synthetic_runs import TODAY, compared, ranked

BASELINE = BaselineInfo(run_id="run-0", sha="abc", rung="ancestor", age_s=3600.0, distance=2)
WAIVER = Waiver(measure="recall@5", max_drop=0.9, until=TODAY, owner="ana", reason="moving")
GATE = DropGate(measure="recall@5", max_drop=0.0)


def test_the_contract() -> None:
    before = ranked([1, 1, 1, 0, 2], tags={0: ["x"], 2: ["x"]})
    after = ranked([1, 0, 2, 0], tags={0: ["x"]})
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
    assert written["pairing"] == {"paired": 4, "new": [], "removed": ["q004"], "changed": []}
    assert set(written["reasons"][0]) == {
        *("code", "text", "gate"),
        *("state", "finding", "waiver", "short_waiver", "answered_only"),
    }
    row = written["measures"][0]
    assert row["slice"] is None
    assert (row["n"], row["better"], row["worse"], row["same"]) == (4, 0, 2, 2)
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
    assert (written["k"], written["depth"], written["relabelled"], written["retagged"]) == (
        5,
        100,
        [],
        ["q002"],
    )
    assert [gate["state"] for gate in written["gates"]] == ["fail", "pass"]
    assert written["gates"][0]["gate"] == {
        "kind": "drop",
        "measure": "recall@5",
        "max_drop": 0.0,
        "rule": "observed",
        "slice": "",
    }
    assert written["old_label_measures"] != []
    assert written["turnover"]["new_ids"] == comparison.turnover.new_ids
    assert [factor["name"] for factor in written["factors"]] == [factor.name for factor in comparison.factors]
    assert msgspec.json.decode(encode_document(made), type=ComparisonDocument) == made


def test_labels_that_agree_have_no_second_table() -> None:
    comparison = compared(ranked([1]), ranked([1]))
    made = document(
        judge(Policy(gates=(GATE,)), ranked([1]), comparison, today=TODAY), ranked([1]), comparison, BASELINE
    )
    assert (made.old_label_measures, made.relabelled, made.retagged) == ((), (), ())
    assert (made.overridden, made.verdict) == (None, "pass")
    assert made.gates[0].waived == ""


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
