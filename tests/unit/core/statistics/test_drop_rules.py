"""Every rule at its borders, at both ends of what is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_action.core.statistics.drop_rules import (
    Decision,
    Drop,
    Rule,
    above,
    decide,
    decide_floor,
    is_clear,
)

EPS = 1e-9


def drop(before: Sequence[float], after: Sequence[float], unknown: Sequence[float] = ()) -> Drop:
    return Drop(
        known_before=np.array(before, dtype=float),
        known_after=np.array(after, dtype=float),
        unknown_before=np.array(unknown, dtype=float),
    )


def changed(n: int, worse: int, better: int = 0, unknown: Sequence[float] = ()) -> Drop:
    """`n` queries of which some went from 1 to 0 and some from 0 to 1."""
    before, after = np.ones(n), np.ones(n)
    after[:worse] = 0.0
    before[worse : worse + better] = 0.0
    return drop(before, after, unknown)


def judged(rule: Rule, scores: Drop, allowed: float = 0.02, **more: Any) -> Decision:
    values: dict[str, Any] = {
        "is_slice": False,
        "ci": (-1.0, 1.0),
        "p": 1.0,
        "p_adjusted": None,
        "bounds": (-1.0, 1.0),
        "small": False,
    }
    return decide(rule, scores, allowed, **{**values, **more})


class TestClear:
    @pytest.mark.parametrize(
        ("worse", "better", "state"),
        [
            (2, 0, "fail"),
            (5, 1, "fail"),
            (18, 10, "fail"),
            (1, 0, "inconclusive"),
            (4, 1, "inconclusive"),
            (15, 12, "inconclusive"),
            (0, 5, "pass"),
            (3, 3, "pass"),
        ],
    )
    def test_two_stands_against_the_number_of_changed(self, worse: int, better: int, state: str) -> None:
        assert judged("clear", changed(40, worse, better)).state == state

    @pytest.mark.parametrize(
        ("worse", "better", "state"),
        [
            (6, 0, "fail"),
            (9, 1, "fail"),
            (5, 0, "inconclusive"),
            (8, 1, "inconclusive"),
            (2, 0, "inconclusive"),
        ],
    )
    def test_on_a_slice_it_is_six(self, worse: int, better: int, state: str) -> None:
        assert judged("clear", changed(40, worse, better), is_slice=True).state == state

    def test_a_clear_loss_within_what_is_allowed_passes(self) -> None:
        found = judged("clear", changed(100, 2))
        assert (found.state, found.code) == ("pass", "within")
        assert judged("clear", changed(99, 2)).code == "clear"

    def test_parts_of_a_score_count_by_their_size(self) -> None:
        halves = drop([1.0] * 10, [0.5] * 2 + [1.0] * 8)
        assert judged("clear", halves).state == "fail"
        uneven = drop([1.0] * 10, [0.0, 0.9, *[1.0] * 8])
        assert judged("clear", uneven).code == "not-clear"

    def test_the_tolerance_is_on_its_side(self) -> None:
        assert is_clear(2.0 - 0.5 * EPS, 4.0, 1.0)
        assert not is_clear(2.0 - 2 * EPS, 4.0, 1.0)

    def test_arrays_are_judged_one_by_one(self) -> None:
        assert is_clear(np.array([2.0, 1.0]), np.array([2.0, 1.0]), 2.0).tolist() == [True, False]
        assert above(np.array([2.0, 3.0]), 100, 0.02).tolist() == [False, True]


class TestObserved:
    @pytest.mark.parametrize(
        ("fell", "state"), [(0.0, "pass"), (0.02 + 0.9 * EPS, "pass"), (0.02 + 1.1 * EPS, "fail")]
    )
    def test_border(self, fell: float, state: str) -> None:
        assert judged("observed", drop([0.5], [0.5 - fell])).state == state

    def test_one_of_many_is_enough(self) -> None:
        found = judged("observed", changed(40, 1))
        assert (found.state, found.code) == ("fail", "more-than-allowed")


class TestSignificant:
    @pytest.mark.parametrize(
        ("high", "p", "code"),
        [
            (-0.01, 0.049, "beyond-chance"),
            (-0.01, 0.05, "chance"),
            (-0.9 * EPS, 0.01, "chance"),
            (-1.1 * EPS, 0.01, "beyond-chance"),
            (0.0, 0.01, "chance"),
        ],
    )
    def test_the_interval_and_p_together(self, high: float, p: float, code: str) -> None:
        found = judged("significant", changed(40, 8), ci=(-0.5, high), p=p)
        assert found.code == code
        assert found.state == ("fail" if code == "beyond-chance" else "inconclusive")

    @pytest.mark.parametrize(
        ("adjusted", "code"), [(0.049, "beyond-chance"), (0.05, "chance"), (None, "chance")]
    )
    def test_a_slice_goes_by_its_adjusted_p(self, adjusted: float | None, code: str) -> None:
        found = judged(
            "significant", changed(40, 8), is_slice=True, ci=(-0.5, -0.1), p=0.001, p_adjusted=adjusted
        )
        assert found.code == code

    def test_a_small_slice_is_too_few_only_where_it_fell(self) -> None:
        assert judged("significant", changed(10, 5), small=True).code == "too-few"
        assert judged("significant", changed(10, 0, 5), small=True).code == "within"


class TestNonInferior:
    @pytest.mark.parametrize(
        ("low", "high", "state", "code"),
        [
            (-0.02, 0.1, "pass", "ruled-out"),
            (-0.02 - 0.9 * EPS, 0.1, "pass", "ruled-out"),
            (-0.02 - 1.1 * EPS, 0.1, "inconclusive", "cannot-rule-out"),
            (-0.5, -0.02 - 0.9 * EPS, "inconclusive", "cannot-rule-out"),
            (-0.5, -0.02 - 1.1 * EPS, "fail", "ruled-in"),
        ],
    )
    def test_border(self, low: float, high: float, state: str, code: str) -> None:
        found = judged("non-inferior", changed(40, 1, 1), bounds=(low, high))
        assert (found.state, found.code) == (state, code)

    def test_small_slices_are_too_few(self) -> None:
        assert judged("non-inferior", changed(10, 1), small=True, bounds=(0.0, 0.0)).code == "too-few"

    def test_where_nothing_changed_the_guard_is_skipped(self) -> None:
        found = judged("non-inferior", changed(10, 0), small=True, bounds=(-0.9, 0.9))
        assert (found.state, found.code) == ("pass", "unchanged")

    def test_an_unknown_score_moves_the_bounds_by_what_it_may_cost(self) -> None:
        known = changed(99, 1, 1, unknown=[1.0])
        assert judged("non-inferior", known, bounds=(-0.005, 0.005)).code == "ruled-out"
        assert judged("non-inferior", known, bounds=(-0.011, 0.005)).code == "unknown-decides"
        alone = changed(40, 0, unknown=[1.0])
        assert judged("non-inferior", alone, 0.03, bounds=(0.0, 0.0)).state == "pass"
        assert judged("non-inferior", alone, 0.02, bounds=(0.0, 0.0)).code == "unknown-decides"
        assert judged("non-inferior", alone, 0.02, bounds=(0.0, 0.0), small=True).state == "inconclusive"


class TestUnknown:
    def test_it_passes_where_it_holds_with_nothing_found(self) -> None:
        found = judged("clear", changed(60, 0, unknown=[1.0]))
        assert (found.state, found.code) == ("pass", "within")
        assert (found.at_best, found.at_worst, found.n, found.unknown) == (
            0.0,
            pytest.approx(1 / 61),
            60,
            1,
        )

    def test_it_fails_where_it_fails_with_the_baselines_score(self) -> None:
        assert judged("clear", changed(35, 29, unknown=[1.0] * 5)).code == "clear"

    def test_between_it_is_inconclusive_and_says_who_decides(self) -> None:
        found = judged("clear", changed(5, 0, unknown=[1.0] * 35))
        assert (found.state, found.code) == ("inconclusive", "unknown-decides")

    def test_what_the_baseline_did_not_find_cannot_be_lost(self) -> None:
        assert judged("clear", changed(5, 0, unknown=[0.0] * 35)).state == "pass"

    def test_unclear_at_both_ends_says_why(self) -> None:
        assert judged("clear", changed(40, 4, 1, unknown=[0.0])).code == "not-clear"

    def test_nothing_but_unknown_scores(self) -> None:
        found = judged("clear", drop([], [], [1.0, 1.0]))
        assert (found.code, found.n, found.unknown, found.changed) == ("unknown-decides", 0, 2, 0)

    def test_unchanged_is_said_only_where_every_score_is_known(self) -> None:
        assert judged("clear", changed(5, 0)).code == "unchanged"
        assert judged("clear", changed(5, 0, unknown=[0.0])).code == "within"


def test_counts() -> None:
    found = judged("clear", drop([0.5, 0.5, 1.0, 1.0], [1.0, 0.0, 0.5, 1.0 - 0.9 * EPS], [0.5]))
    assert (found.n, found.unknown, found.better, found.worse, found.changed) == (4, 1, 1, 2, 3)


class TestFloor:
    @pytest.mark.parametrize(
        ("least", "state", "code"),
        [
            (0.5, "pass", "reached"),
            (0.5 + 0.9 * EPS, "pass", "reached"),
            (0.5 + 1.1 * EPS, "fail", "below"),
        ],
    )
    def test_border(self, least: float, state: str, code: str) -> None:
        found = decide_floor(np.array([1.0, 0.0]), np.zeros(0), least)
        assert (found.state, found.code, found.at_best, found.at_worst) == (state, code, 0.5, 0.5)

    @pytest.mark.parametrize(
        ("least", "state", "code"),
        [(0.4, "pass", "reached"), (0.6, "inconclusive", "unknown-decides"), (0.95, "fail", "below")],
    )
    def test_unknown_scores_are_bounded(self, least: float, state: str, code: str) -> None:
        found = decide_floor(np.array([1.0, 1.0]), np.array([0.8, 0.8]), least)
        assert (found.state, found.code) == (state, code)
        assert (found.at_best, found.at_worst) == (pytest.approx(0.9), 0.5)


def test_a_gate_needs_queries_that_pair_up() -> None:
    with pytest.raises(ValueError, match="at least one query"):
        judged("clear", drop([], []))
    with pytest.raises(ValueError, match="at least one query"):
        decide_floor(np.zeros(0), np.zeros(0), 0.5)
    with pytest.raises(ValueError, match=r"pair up: shapes \(1,\), \(2,\)"):
        judged("clear", drop([1.0], [1.0, 0.0]))


SCORE = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@settings(max_examples=200)
@given(
    st.lists(st.tuples(SCORE, SCORE), max_size=8),
    st.lists(st.tuples(SCORE, st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=4),
    st.sampled_from(["clear", "observed"]),
    st.sampled_from([0.0, 0.02, 0.2]),
)
def test_no_score_that_is_learnt_later_turns_a_decision(
    known: list[tuple[float, float]], later: list[tuple[float, float]], rule: Rule, allowed: float
) -> None:
    """A pass or a fail with unknown scores holds whatever share of the baseline's score they turn out to have."""
    before, after = [old for old, _ in known], [new for _, new in known]
    decided = judged(rule, drop(before, after, [old for old, _ in later]), allowed)
    told = judged(
        rule,
        drop([*before, *(old for old, _ in later)], [*after, *(old * share for old, share in later)]),
        allowed,
    )
    if decided.state == "pass":
        assert told.state == "pass"
    if decided.state == "fail":
        assert told.state != "pass"
