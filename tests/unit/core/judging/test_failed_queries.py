"""Failed queries: a few cost what they cost, many may neither fail a gate nor hold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pytest

from rageval_action.core.judging.failed_queries import outcomes
from rageval_action.core.judging.outcomes import NoBaseline, Outcome
from rageval_action.core.judging.policy import DropGate, FloorGate, Gate, KeepGate, LatencyGate, Policy
from rageval_action.core.judging.sentences.gate_text import full
from rageval_action.core.judging.verdict import Verdict, judge
from rageval_action.core.model.record import Quantiles, RunRecord
from tests.synthetic_runs import TODAY, amended, compared, ranked

DROP = DropGate(measure="recall@5", max_drop=0.02, rule="observed")
FLOOR = FloorGate(measure="recall@5", min=0.8)
KEEP = KeepGate(tag="critical", measure="hit@5")
TIMED = LatencyGate(stage="total", max_ratio=1.5)

CRITICAL = {number: ["critical"] for number in (0, 10)}


def made(
    failed: Iterable[int] = (), *, lost: Iterable[int] = (), tags: Mapping[int, Sequence[str]] = CRITICAL
) -> RunRecord:
    """Twenty queries, each found first but for those that failed and those that were lost."""
    bad, gone = set(failed), set(lost)
    return ranked(
        [0 if at in bad | gone else 1 for at in range(20)],
        tags=tags,
        fields={at: {"error": "timed out"} for at in bad},
    )


def gates(before: RunRecord, after: RunRecord, *asked: Gate, **more: float) -> list[Outcome]:
    policy = Policy(gates=asked, **more)  # type: ignore[arg-type]
    return list(outcomes(policy, after, compared(before, after), TODAY))


def verdict(before: RunRecord, after: RunRecord, *asked: Gate) -> Verdict:
    return judge(Policy(gates=asked), after, compared(before, after), today=TODAY)


class TestCandidate:
    def test_all_failed_is_no_regression(self) -> None:
        found = verdict(made(), made(range(20)), DROP, FLOOR, KEEP)
        assert (found.verdict, found.exit_code) == ("cannot_measure", 3)
        assert [full(one) for one in found.reasons] == ["the retriever failed for 20 of 20 queries"]
        assert [full(one) for one in found.outcomes] == [
            "recall@5 cannot be told: 20 of 20 queries failed",
            "recall@5 cannot be told: 20 of 20 queries failed",
            "hit@5 of tag:critical cannot be told: 20 of 20 queries failed",
        ]
        assert {(one.state, one.code) for one in found.outcomes} == {("cannot_measure", "errors")}

    def test_the_zeros_alone_fail_nothing(self) -> None:
        found = verdict(made(), made(range(5)), DROP, FLOOR, KEEP)
        assert (found.verdict, found.exit_code) == ("cannot_measure", 3)
        assert [one.state for one in found.outcomes] == ["cannot_measure"] * 3

    def test_what_the_answered_ones_lost_still_fails(self) -> None:
        after = made(range(5), lost=(10, 11, 12, 13))
        found = verdict(made(), after, DROP, FLOOR, KEEP)
        assert (found.verdict, found.exit_code) == ("fail", 1)
        assert [one.state for one in found.outcomes] == ["fail"] * 3
        drop, floor, keep = (full(one) for one in found.outcomes)
        assert drop.startswith("recall@5 dropped by 26.7 points")
        assert drop.endswith("more than allowed; over the queries that were answered")
        assert floor.startswith("recall@5 is 0.733, below the 0.8 needed;")
        assert keep.startswith("hit@5 got worse for query q010 of tag:critical, which must not be lost;")
        assert found.reasons[-1].code == "errors"

    def test_at_the_allowed_share_a_failed_query_scores_nothing(self) -> None:
        found = gates(made(), made(range(2)), DROP, KEEP)
        assert [one.state for one in found] == ["fail", "fail"]
        assert (
            full(found[0])
            == "recall@5 dropped by 10.0 points (2.0 points allowed, observed): more than allowed"
        )
        assert [one.state for one in gates(made(), made(range(5)), DROP, max_errors=0.25)] == ["fail"]

    def test_a_gate_that_holds_despite_the_zeros_holds(self) -> None:
        wide = DropGate(measure="recall@5", max_drop=0.5)
        (found,) = gates(made(), made(range(5)), wide)
        assert found.state == "pass"
        assert verdict(made(), made(range(5)), wide).verdict == "cannot_measure"

    def test_slices_are_judged_the_same_way(self) -> None:
        tags = {number: ["a"] for number in range(10)}
        part = FloorGate(measure="recall@5", min=0.8, slice="tag:a")
        (found,) = gates(made(tags=tags), made(range(5), tags=tags), part)
        assert full(found) == "recall@5 of tag:a cannot be told: 5 of 20 queries failed"
        (found,) = gates(made(tags=tags), made(range(10, 15), lost=range(5), tags=tags), part)
        assert found.state == "fail"

    def test_a_floor_without_a_baseline(self) -> None:
        policy = Policy(gates=(FLOOR, DROP))
        for after, state in ((made(range(5)), "cannot_measure"), (made(range(5), lost=range(5, 12)), "fail")):
            found = outcomes(policy, after, NoBaseline("first"), TODAY)
            assert [one.state for one in found] == [state, "no_baseline"]


class TestBaseline:
    def test_its_zeros_make_nothing_better(self) -> None:
        found = verdict(made(range(20)), made(), DROP, KEEP, FLOOR)
        assert (found.verdict, found.exit_code) == ("cannot_measure", 3)
        assert [one.code for one in found.reasons] == ["baseline-errors"]
        assert (
            full(found.reasons[0])
            == "the baseline's retriever failed for 20 of 20 queries, so it cannot be compared with"
        )
        assert [one.state for one in found.outcomes] == ["cannot_measure", "cannot_measure", "pass"]
        assert full(found.outcomes[0]) == "recall@5 cannot be told: 20 of 20 queries of the baseline failed"

    def test_they_do_not_hide_a_loss_behind_a_gate_that_holds(self) -> None:
        (found,) = gates(made(range(10)), made(lost=range(10, 14)), DROP)
        assert found.state == "cannot_measure"

    def test_a_loss_on_both_countings_fails(self) -> None:
        found = verdict(made(range(5)), made(range(5), lost=range(10, 14)), DROP)
        assert found.verdict == "fail"
        (found_,) = gates(made(range(3)), made(lost=range(3, 20)), DROP)
        assert full(found_).startswith("recall@5 dropped by 100.0 points")

    def test_both_sides_out_are_no_unchanged_run(self) -> None:
        found = verdict(made(range(20)), made(range(20)), DROP)
        assert (found.verdict, found.outcomes[0].state) == ("cannot_measure", "cannot_measure")

    def test_a_floor_does_not_ask_it(self) -> None:
        (found,) = gates(made(range(5)), made(lost=range(5, 10)), FLOOR)
        assert full(found) == "recall@5 is 0.750, below the 0.8 needed"


@pytest.mark.parametrize(("before", "after"), [((), range(5)), (range(5), ())])
@pytest.mark.parametrize("slow", [100.0, 900.0])
def test_too_few_are_timed(before: Sequence[int], after: Sequence[int], slow: float) -> None:
    def timed(run: RunRecord, p50: float) -> RunRecord:
        return amended(
            run, latency_ms={"total": Quantiles(p50=p50, p95=p50, n=20)}, hardware={"node": "runner-1"}
        )

    (found,) = gates(timed(made(before), 100.0), timed(made(after), slow), TIMED)
    assert (found.state, found.code) == ("cannot_measure", "errors")
    assert full(found).startswith("total p50 cannot be told: 5 of 20 queries")
    (untimed,) = gates(made(before), made(after), TIMED)
    assert untimed.state == "informs"
