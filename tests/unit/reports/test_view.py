"""What a report says: the words of each verdict, and that every number has its sentence."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.core.document import BaselineInfo, ComparisonDocument, document
from rageval_action.core.gates import Against, BaselineUnknown, NoBaseline
from rageval_action.core.policy import DropGate, FloorGate, Gate, LatencyGate, Policy
from rageval_action.core.record import NoAnswer, Quantiles, RunRecord
from rageval_action.core.types import Notice
from rageval_action.core.verdict import Override, judge
from rageval_action.reports.view import ReportView, view
from tests.builders import TODAY, amended, compared, ranked

BASELINE = BaselineInfo(run_id="0123456789abcdef", sha="a" * 40, rung="exact", age_s=7200.0, distance=0)
GATE = DropGate(measure="recall@5", max_drop=0.02)


def told(
    before: RunRecord,
    after: RunRecord,
    *gates: Gate,
    baseline: BaselineInfo = BASELINE,
    override: Override | None = None,
    **more: Any,
) -> ReportView:
    comparison = compared(before, after)
    verdict = judge(Policy(gates=gates or (GATE,)), after.record, comparison, today=TODAY, override=override)
    made = document(verdict, after.record.k, comparison, baseline)
    return view(replace(made, **more), after.record)


def alone(against: Against, record: RunRecord, *gates: Gate) -> ReportView:
    verdict = judge(Policy(gates=gates or (GATE,)), record.record, against, today=TODAY)
    return view(document(verdict, record.record.k, None, None), record.record)


GOOD, BAD = ranked([1] * 40), ranked([0] * 4 + [1] * 36)


class TestHeadline:
    def test_pass(self) -> None:
        found = told(GOOD, GOOD)
        assert (found.alert, found.title, found.sentence) == (
            "TIP",
            "No retrieval regression",
            "every gate holds.",
        )

    def test_fail(self) -> None:
        found = told(GOOD, BAD)
        assert (found.alert, found.title) == ("CAUTION", "Retrieval got worse")
        assert (
            found.sentence
            == "recall@5 dropped by 10.0 points (2.0 points allowed, observed): more than allowed."
        )

    def test_more_reasons_are_counted(self) -> None:
        found = told(GOOD, BAD, GATE, FloorGate(measure="mrr", min=0.95))
        assert found.sentence.endswith(": more than allowed; and 1 other reason.")
        found = told(GOOD, BAD, GATE, FloorGate(measure="mrr", min=0.95), FloorGate(measure="mrr", min=0.99))
        assert found.sentence.endswith("; and 2 other reasons.")

    def test_a_fail_that_is_no_drop(self) -> None:
        assert told(GOOD, BAD, FloorGate(measure="mrr", min=0.95)).title == "Retrieval is below its floor"
        leaky = amended(GOOD, acl_violations=2)
        assert told(GOOD, leaky).title == "Retrieval returned what a query may not see"
        fast = amended(GOOD, hardware={"node": "x"}, latency_ms={"total": Quantiles(p50=1.0, p95=2.0, n=40)})
        slow = amended(GOOD, hardware={"node": "x"}, latency_ms={"total": Quantiles(p50=9.0, p95=9.0, n=40)})
        assert told(fast, slow, LatencyGate(stage="total", max_ratio=2.0)).title == "Retrieval got slower"
        tagged = ranked([1] * 40, tags={0: ["x"]}), ranked([0] + [1] * 39)
        gate = DropGate(measure="recall@5", max_drop=0.02, slice="tag:x")
        assert told(*tagged, gate).title == "Whether retrieval got worse depends on the labels"

    def test_inconclusive(self) -> None:
        found = told(GOOD, BAD, DropGate(measure="recall@5", max_drop=0.05, rule="non-inferior"))
        assert (found.alert, found.title) == ("WARNING", "Cannot tell whether retrieval got worse")

    def test_cannot_measure(self) -> None:
        found = alone(BaselineUnknown("the API did not answer"), GOOD)
        assert (found.alert, found.title) == ("WARNING", "Retrieval could not be measured")
        assert found.baseline == "No baseline: the API did not answer."

    def test_no_baseline(self) -> None:
        found = alone(NoBaseline("this is the first run"), GOOD)
        assert (found.alert, found.title) == ("NOTE", "No baseline to compare with")
        assert found.baseline == "No baseline: this is the first run."

    def test_accepted(self) -> None:
        found = told(GOOD, BAD, override=Override(by="bob", reason="agreed"))
        assert (found.alert, found.title) == ("NOTE", "Retrieval got worse (accepted)")
        assert found.overridden == "accepted by bob: agreed"

    def test_accepted_but_not_measured_stays_an_alarm(self) -> None:
        gates = (GATE, DropGate(measure="recall@5", max_drop=0.1, slice="tag:none"))
        found = told(GOOD, BAD, *gates, override=Override(by="bob", reason="agreed"))
        assert (found.alert, found.title) == ("CAUTION", "Retrieval got worse")

    def test_nothing_to_accept(self) -> None:
        assert told(GOOD, GOOD, override=Override(by="bob", reason="agreed")).overridden == ""


class TestBaseline:
    @pytest.mark.parametrize(
        ("more", "text"),
        [
            ({}, "Baseline: the exact base commit at commit aaaaaaaaaaaa, 2 hours older (run 0123456789ab)."),
            (
                {"rung": "ancestor", "distance": 3, "age_s": 90_000.0},
                (
                    "Baseline: the nearest ancestor of the base commit with a record at commit aaaaaaaaaaaa, "
                    "3 commits before the base, 1 day older (run 0123456789ab)."
                ),
            ),
            (
                {"rung": "snapshot", "sha": "", "age_s": 3.0, "distance": None},
                "Baseline: the baseline snapshot, evaluated in this job (run 0123456789ab).",
            ),
            (
                {"rung": "base-branch-record", "distance": 1, "age_s": -90.0},
                (
                    "Baseline: the record file on the base branch at commit aaaaaaaaaaaa, 1 commit before the base "
                    "(run 0123456789ab)."
                ),
            ),
            (
                {"rung": "file", "sha": "", "age_s": 60.0},
                "Baseline: the record that was given, 1 minute older (run 0123456789ab).",
            ),
        ],
    )
    def test_where_it_is_from(self, more: dict[str, Any], text: str) -> None:
        assert told(GOOD, GOOD, baseline=replace(BASELINE, **more)).baseline == text

    def test_none_without_a_reason(self) -> None:
        leaky = amended(GOOD, acl_violations=2)
        found = alone(NoBaseline("none was given"), leaky, FloorGate(measure="mrr", min=0.1))
        assert found.baseline == "No baseline: none was given."
        made = ComparisonDocument(
            verdict="pass",
            exit_code=0,
            overridden=None,
            reasons=(),
            baseline=None,
            pairing=compared(GOOD, GOOD).pairing,
            k=5,
        )
        assert view(made, GOOD.record).baseline == "No baseline: none was given."


class TestRows:
    def test_compared(self) -> None:
        row = told(GOOD, BAD).measures[1]
        assert (row.measure, row.slice, row.n, row.before, row.after, row.delta) == (
            "recall@5",
            "",
            "40",
            "1.000",
            "0.900",
            "−0.100",
        )
        assert row.interval.startswith("[−0.")
        assert (row.reading, row.counts, row.note) == ("worse", "0 better, 4 worse, 36 same", "")

    def test_alone(self) -> None:
        found = alone(NoBaseline("first"), BAD)
        row = found.measures[1]
        assert (row.measure, row.n, row.before, row.after, row.delta, row.interval) == (
            "recall@5",
            "40",
            "",
            "0.900",
            "",
            "",
        )
        assert (row.reading, row.counts, row.note, row.slice) == ("", "", "", "")
        assert found.power == ""
        assert found.blast == ""

    def test_label_effect_and_kept_labels_are_said_in_the_row(self) -> None:
        comparison = compared(GOOD, GOOD)
        rows = tuple(replace(row, label_effect=-0.031, stored=2) for row in comparison.view.rows)
        found = told(GOOD, GOOD, measures=rows)
        assert found.measures[0].note == (
            "changed labels alone moved the baseline by −0.031; 2 queries with the baseline's own labels"
        )
        rows = tuple(replace(row, label_effect=1e-10, stored=1) for row in comparison.view.rows)
        assert told(GOOD, GOOD, measures=rows).measures[0].note == "1 query with the baseline's own labels"

    def test_slices_show_the_headline_measure_and_small_ones_their_counts(self) -> None:
        tags = {number: ["big"] if number < 25 else ["little"] for number in range(40)}
        found = told(ranked([1] * 40, tags=tags), ranked([0] * 4 + [1] * 35 + [0], tags=tags))
        assert [(row.slice, row.measure) for row in found.slices] == [("tag:big", "recall@5")]
        (small,) = found.small_slices
        assert small.name == "tag:little"
        assert (
            small.text == "15 queries: 0 better, 1 worse, 14 same (fewer than 20: no percentage, no verdict)"
        )


class TestQueries:
    def test_lost_gained_and_missed(self) -> None:
        found = told(ranked([1, 1, 0, 0, 7]), ranked([9, 0, 2, 0, 8]))
        assert [(row.id, row.move, row.cause) for row in found.lost] == [
            ("q000", "1 → 9", "outranked"),
            ("q001", "1 → not ranked", "below-depth"),
        ]
        assert [(row.id, row.move, row.cause) for row in found.gained] == [
            ("q002", "not ranked → 2", "below-depth")
        ]
        assert found.missed == "2 queries find nothing relevant on either side: q004, q003."
        assert (
            found.blast == "2 queries lost the last relevant result in the top 5, 1 recovered: net −1 of 5."
        )
        row = found.lost[0]
        assert (row.query, row.line, row.item, row.tags) == ("question q000", 1, "r0", ("close",))
        assert row.explanation == "other documents rank above it"
        assert row.by == ("f1", "f2", "f3", "f4", "f5")

    def test_reworded_queries_have_no_move(self) -> None:
        found = told(ranked([1, 1]), ranked([1, 1], fields={1: {"query": "other"}}))
        assert [(row.id, row.move, row.cause) for row in found.lost] == [("q001", "", "query-changed")]

    def test_at_most_ten_and_the_rest_counted(self) -> None:
        found = told(ranked([1] * 13 + [0] * 12 + [0] * 11), ranked([0] * 13 + [1] * 12 + [0] * 11))
        assert (len(found.lost), found.lost_more, len(found.gained), found.gained_more) == (10, 3, 10, 2)
        assert found.missed.endswith("q034 and 1 more.")
        assert found.missed.startswith("11 queries find nothing relevant on either side: q025, ")

    @pytest.mark.parametrize(
        ("before", "after", "text"),
        [
            ([1, 1], [1, 1], "No query lost or gained its last relevant result in the top 5."),
            ([1, 0], [0, 1], "1 query lost the last relevant result in the top 5, 1 recovered: net 0 of 2."),
            (
                [0, 0, 1],
                [1, 1, 0],
                "1 query lost the last relevant result in the top 5, 2 recovered: net +1 of 3.",
            ),
            (
                [1, 1],
                [0, 0],
                "2 queries lost the last relevant result in the top 5, 0 recovered: net −2 of 2.",
            ),
        ],
    )
    def test_blast_radius(self, before: list[int], after: list[int], text: str) -> None:
        assert told(ranked(before), ranked(after)).blast == text

    def test_no_blast_without_pairs(self) -> None:
        assert told(ranked([1]), ranked([1], fields={0: {"query": "other"}})).blast == ""

    def test_one_missed(self) -> None:
        assert told(ranked([0]), ranked([0])).missed == "1 query finds nothing relevant on either side: q000."
        assert told(ranked([1]), ranked([1])).missed == ""


class TestFacts:
    def test_gates(self) -> None:
        gates = (
            GATE,
            DropGate(measure="recall@5", max_drop=0.1, slice="tag:none"),
            LatencyGate(stage="total", max_ratio=2.0),
        )
        assert [gate.name for gate in told(GOOD, GOOD, *gates).gates] == ["pass", "cannot measure", "informs"]
        assert [gate.name for gate in alone(NoBaseline("x"), GOOD).gates] == ["no baseline"]

    def test_changes(self) -> None:
        found = told(GOOD, amended(GOOD, model="big", chunker=""))
        assert [(fact.name, fact.text) for fact in found.changes] == [
            ("model", "mini 8 dimensions → big 8 dimensions"),
            ("chunker", "split 400 → none"),
        ]
        assert told(amended(GOOD, chunker=""), GOOD).changes[0].text == "none → split 400"

    def test_latency(self) -> None:
        timed = amended(GOOD, latency_ms={"total": Quantiles(p50=1.234, p95=250.4, n=40)})
        (fact,) = told(GOOD, timed).latency
        assert (fact.name, fact.text) == ("total", "p50 1.2 ms, p95 250 ms (40 queries timed)")

    def test_access(self) -> None:
        assert told(GOOD, GOOD).acl == "No hit that a query may not see (enforce mode)."
        leaky = amended(GOOD, acl_violations=1, acl_mode="audit")
        assert told(GOOD, leaky).acl == "1 hit that the query may not see (audit mode)."

    @pytest.mark.parametrize(
        ("track", "text"),
        [
            (NoAnswer(n=0), ""),
            (
                NoAnswer(n=3, reason="no score threshold was given"),
                "3 unanswerable queries: not measured, no score threshold was given.",
            ),
            (
                NoAnswer(n=1, threshold=0.25, false_retrieval_rate=0.0),
                "1 unanswerable query: 0 % return something at or above the score 0.25.",
            ),
        ],
    )
    def test_no_answer(self, track: NoAnswer, text: str) -> None:
        assert told(GOOD, amended(GOOD, no_answer=track)).no_answer == text

    def test_power(self) -> None:
        assert told(GOOD, GOOD).power == "40 queries compared; none changed in recall@5."
        assert told(GOOD, BAD).power.startswith("40 queries of this spread can prove a change of 13.")
        assert told(GOOD, BAD).power.endswith(" points or more in recall@5 (80 % power).")

    def test_footer(self) -> None:
        assert told(GOOD, GOOD).footer == (
            "40 queries, unit document; 52 chunks of 52 documents; dense, depth 100; run run-1."
        )
        assert told(GOOD, GOOD).golden_path == "golden.jsonl"


class TestNotes:
    def test_caveats_stand_beside_the_numbers_in_their_order(self) -> None:
        notes = tuple(
            Notice(code=code, text=code)
            for code in ("corpus.small", "other", "golden.synthetic", "several-factors", "corpus.rechunked")
        )
        found = told(GOOD, amended(GOOD, warnings=notes[::-1]))
        assert found.caveats == ("corpus.rechunked", "several-factors", "golden.synthetic", "corpus.small")
        assert found.warnings == ("other",)

    def test_each_note_once_with_its_place(self) -> None:
        note = Notice(code="x", text="odd", where="golden.jsonl:3")
        found = told(
            GOOD, amended(GOOD, warnings=(note, note)), warnings=(note, Notice(code="y", text="first"))
        )
        assert found.warnings == ("golden.jsonl:3: odd", "first")
        assert found.caveats == ()
