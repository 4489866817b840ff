"""What caps a verdict whatever the gates say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.comparison import Comparison, compare
from rageval_action.core.comparing.golden_changes import BaseCommit
from rageval_action.core.judging.outcomes import NotAsked, Outcome, Withdrawn
from rageval_action.core.judging.policy import DropGate, KeepGate, Policy
from rageval_action.core.judging.sentences.gate_text import full
from rageval_action.core.judging.verdict import Verdict, judge
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.model.access_names import asker_of
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.types import ChunkAcl, Grades, QueryAcl
from tests.synthetic_runs import MEASURES, TODAY, amended, compared, plain_chunks, ranked, row, run

GATE = DropGate(measure="recall@5", max_drop=0.5)
KEEP = KeepGate(tag="critical", measure="hit@5")
CRITICAL = {0: ["critical"]}


def judged(found: Comparison, *gates: Any) -> Verdict:
    return judge(Policy(gates=gates or (GATE,)), found.candidate, found, today=TODAY)


def limits(found: Verdict) -> list[Outcome]:
    """The reasons that no gate gave."""
    return [one for one in found.reasons if one.gate is None and one.state != "pass"]


def only(found: Verdict, state: str, code: str) -> Outcome:
    assert [(one.state, one.code) for one in limits(found)] == [(state, code)]
    assert found.verdict == state
    return limits(found)[0]


def dropped(made: RunRecord, gone: Sequence[int], **more: Any) -> RunRecord:
    """The run without these questions; what is given is asked for the base."""
    left = tuple(one for at, one in enumerate(made.queries) if at not in gone)
    unasked = more.pop("base_unasked", {})
    record = amended(made, queries=len(left), base_unasked=unasked).record
    return RunRecord(record=record, queries=left, corpus=made.corpus, **more)


def removed(made: RunRecord, gone: Sequence[int]) -> RunRecord:
    """The run whose golden set no longer has these questions, which were asked all the same."""
    asked = tuple(replace(made.queries[at], asked_for="base") for at in gone)
    return dropped(made, gone, asked_for_base=asked)


def relabelled(made: RunRecord, changed: Sequence[int]) -> RunRecord:
    rows = tuple(
        replace(one, judgments=Grades({**one.judgments.grades, "f1": 1})) if at in changed else one
        for at, one in enumerate(made.queries)
    )
    return RunRecord(record=made.record, queries=rows, corpus=made.corpus)


ALL = ranked([1] * 40, tags=CRITICAL)


class TestNotAsked:
    def test_more_than_a_tenth_is_no_measurement(self) -> None:
        found = judged(compared(ALL, dropped(ALL, range(1, 6))))
        assert (found.verdict, [one.code for one in limits(found)]) == (
            "cannot_measure",
            ["exam.not-asked", "exam.withdrawn"],
        )
        reason = found.reasons[0]
        assert isinstance(reason.finding, NotAsked)
        assert (len(reason.finding.ids), reason.finding.queries) == (5, 40)
        assert full(reason) == "35 of 40 queries of the base branch were asked: this run did not ask them (5)"

    def test_a_tenth_is_bounded_by_its_gates(self) -> None:
        assert judged(compared(ALL, dropped(ALL, range(1, 5)))).verdict == "pass"

    def test_it_says_why_and_names_the_cure(self) -> None:
        why = {f"q00{at}": "no-vector" for at in range(1, 5)} | {"q005": "no-text"}
        reason = judged(compared(ALL, dropped(ALL, range(1, 6), base_unasked=why))).reasons[0]
        assert full(reason) == (
            "35 of 40 queries of the base branch were asked: the snapshot has no query vector (4); "
            "the baseline's record keeps no text (1) (rageval snapshot add-queries --from-record adds the vectors)"
        )

    def test_what_was_asked_and_cannot_be_marked_is_another_matter(self) -> None:
        before = ranked([1] * 10)
        twice = plain_chunks([*(f"f{n}" for n in range(1, 13)), "y", "z"])
        twice = tuple(replace(one, text="text of r0") if one.doc in "yz" else one for one in twice)
        rows = [row(f"q{n:03}", ["f1"], [f"r{n}"], twice, line=n + 1) for n in range(10)]
        found = compared(before, run(rows, twice))
        assert {one.unknown for one in found.base_questions} == {"several-successors", ""}
        assert "exam.not-asked" not in [one.code for one in judged(found).reasons]


class TestWithdrawn:
    @pytest.mark.parametrize("change", [removed, relabelled])
    def test_more_than_a_tenth(self, change: Any) -> None:
        assert judged(compared(ALL, change(ALL, range(1, 5)))).verdict == "pass"
        found = judged(compared(ALL, change(ALL, range(1, 6))))
        reason = only(found, "inconclusive", "exam.withdrawn")
        assert isinstance(reason.finding, Withdrawn)
        assert reason.finding.ids == tuple(f"q00{at}" for at in range(1, 6))
        assert full(reason) == (
            "this pull request removed or changed 5 of 40 queries of the base branch; "
            "check them, then merge: the next pull request is judged by the new ones"
        )

    @pytest.mark.parametrize("change", [removed, relabelled])
    def test_any_that_a_gate_protects(self, change: Any) -> None:
        reason = only(judged(compared(ALL, change(ALL, [0])), GATE, KEEP), "inconclusive", "exam.withdrawn")
        assert full(reason) == (
            "this pull request removed or changed query q000, which a gate protects; "
            "once merged, the next pull request is judged by the new questions and labels"
        )
        assert judged(compared(ALL, change(ALL, [0]))).verdict == "pass"
        assert judged(compared(ALL, change(ALL, [1])), GATE, KEEP).verdict == "pass"

    def test_taking_the_protecting_tag_off(self) -> None:
        both = ranked([1] * 40, tags={0: ["critical", "x"], 1: ["critical"]})
        bare = ranked([1] * 40, tags={0: ["x"], 1: ["critical"]})
        reason = only(judged(compared(both, bare), GATE, KEEP), "inconclusive", "exam.withdrawn")
        assert isinstance(reason.finding, Withdrawn)
        assert reason.finding.named == ("q000",)
        assert judged(compared(both, bare)).verdict == "pass"
        other = ranked([1] * 40, tags={0: ["critical"], 1: ["critical"]})
        assert judged(compared(both, other), GATE, KEEP).verdict == "pass"

    def test_rewording_and_another_asker(self) -> None:
        words = ranked([1] * 40, fields={at: {"query": f"new {at}"} for at in range(5)})
        asked = tuple(replace(one, asked_for="base") for one in ALL.queries[:5])
        after = RunRecord(
            record=words.record, queries=words.queries, corpus=words.corpus, asked_for_base=asked
        )
        only(judged(compared(ALL, after)), "inconclusive", "exam.withdrawn")
        ann = asker_of(QueryAcl(principal="ann"))
        rows = tuple(replace(one, acl=ann) if at < 5 else one for at, one in enumerate(ALL.queries))
        after = RunRecord(record=ALL.record, queries=rows, corpus=ALL.corpus, asked_for_base=asked)
        only(judged(compared(ALL, after)), "inconclusive", "exam.withdrawn")

    def test_what_the_base_branch_did_since_the_baseline_is_not_counted(self) -> None:
        left = frozenset((one.query_sha256, one.acl) for one in ALL.queries[6:])
        base = BaseCommit(asks=left, unchanged=frozenset())
        found = compare(
            ALL, removed(ALL, range(1, 6)), parse_measures(MEASURES), cutoff="documents", base_commit=base
        )
        assert found.golden.pairing.since_baseline == tuple(f"q00{at}" for at in range(1, 6))
        assert judged(found).verdict == "pass"

    def test_a_rename_withdraws_nothing(self) -> None:
        rows = tuple(replace(one, query_id=f"new-{one.query_id}") for one in ALL.queries)
        after = RunRecord(record=ALL.record, queries=rows, corpus=ALL.corpus)
        assert judged(compared(ALL, after), GATE, KEEP).verdict == "pass"

    def test_a_fail_stands_above_it(self) -> None:
        lost = removed(ranked([0] * 30 + [1] * 10), range(1, 6))
        assert judged(compared(ALL, lost)).verdict == "fail"


class TestShrunk:
    def made(self, documents: int, prefix: str = "d") -> RunRecord:
        corpus = plain_chunks([*(f"{prefix}{at}" for at in range(documents)), "r"])
        corpus = tuple(replace(one, text=one.text.replace(f"of {prefix}", "of d")) for one in corpus)
        return run([row("q", ["r"], ["r"], corpus)], corpus)

    def test_fewer_than_half_of_the_documents(self) -> None:
        before = self.made(9)
        assert judged(compared(before, self.made(4))).verdict == "pass"
        reason = only(judged(compared(before, self.made(3))), "inconclusive", "corpus.shrunk")
        assert full(reason) == "the index holds 4 of the base branch's 10 documents"

    def test_renamed_ones_are_held(self) -> None:
        assert judged(compared(self.made(9), self.made(9, prefix="x"))).verdict == "pass"

    def test_a_growing_corpus_is_welcome(self) -> None:
        assert judged(compared(self.made(3), self.made(30))).verdict == "pass"


def test_a_record_without_an_exam_is_at_best_inconclusive() -> None:
    older = amended(ALL, exam=None)
    reason = only(judged(compared(older, ALL)), "inconclusive", "baseline.no-exam")
    assert full(reason) == (
        "the baseline is of an older version, which kept no questions: record it again on the base branch"
    )
    assert judged(compared(older, ranked([0] * 40))).verdict == "fail"


def test_hits_that_only_the_base_forbids_are_each_named() -> None:
    who = asker_of(QueryAcl(principal="ben"))
    plain = plain_chunks("ab")
    guarded = tuple(replace(one, acl=ChunkAcl(principals=("ann",))) for one in plain)
    before = run([row("q", ["a", "b"], ["b"], guarded, acl=who)], guarded)
    reason = only(
        judged(compared(before, run([row("q", ["a", "b"], ["b"], plain, acl=who)], plain))),
        "inconclusive",
        "acl-base",
    )
    assert full(reason) == (
        "2 results may not be seen by the base branch's access lists: a#0 for query q, b#0 for query q"
    )
