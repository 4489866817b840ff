"""Gate rules: worked examples by hand, what more losses may do, and what unknown scores may hide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_action.core.statistics.drop_rules import (
    CLEAR,
    CLEAR_ON_SLICE,
    DEFAULT_RULE,
    Code,
    Decision,
    Drop,
    Rule,
    above,
    decide,
    decide_floor,
    is_clear,
)
from rageval_action.core.statistics.paired_comparison import guarded_bounds, paired

RULES: tuple[Rule, ...] = get_args(Rule)
SCORES = st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0])
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=30)
ALLOWED = st.sampled_from([0.0, 0.02, 0.05, 0.2, 1 / 3])
ANY: dict[str, Any] = {
    "is_slice": False, "ci": (-1.0, 1.0), "p": 1.0, "p_adjusted": None, "bounds": (-1.0, 1.0), "small": False,
}  # fmt: skip


def scores(pairs: Sequence[tuple[float, float]], unknown: Sequence[float] = ()) -> Drop:
    before, after = zip(*pairs, strict=True) if pairs else ((), ())
    return Drop(
        known_before=np.array(before, dtype=float),
        known_after=np.array(after, dtype=float),
        unknown_before=np.array(unknown, dtype=float),
    )


def counted(lost: int, gained: int, n: int, unknown: Sequence[float] = ()) -> Drop:
    """Whole documents: `lost` queries fall from 1 to 0, `gained` rise, the others keep 1."""
    return scores([(1, 0)] * lost + [(0, 1)] * gained + [(1, 1)] * (n - lost - gained), unknown)


def whole(rule: Rule, drop: Drop, allowed: float, *, is_slice: bool = False) -> Decision:
    """The decision with the statistics that the tool computes of the known queries; no other slice is looked at."""
    stats = paired(drop.known_before, drop.known_after, resamples=400)
    bounds = guarded_bounds(drop.known_after - drop.known_before, resamples=400)
    return decide(
        rule,
        drop,
        allowed,
        is_slice=is_slice,
        ci=(stats.ci.low, stats.ci.high),
        p=stats.p,
        p_adjusted=stats.p if is_slice else None,
        bounds=(bounds.low, bounds.high),
        small=is_slice and drop.known_before.size < 20,
    )


def said(rule: Rule, drop: Drop, allowed: float = 0.02, **numbers: Any) -> tuple[str, str]:
    found = decide(rule, drop, allowed, **(ANY | numbers))
    return found.state, found.code


def test_the_default() -> None:
    assert DEFAULT_RULE == "clear"
    assert RULES[0] == DEFAULT_RULE


class TestClear:
    @pytest.mark.parametrize(
        ("lost", "gained", "n", "state"),
        [
            (2, 0, 50, "fail"),
            (5, 1, 100, "fail"),
            (18, 10, 200, "fail"),
            (1, 0, 20, "inconclusive"),
            (4, 1, 100, "inconclusive"),
            (15, 12, 100, "inconclusive"),
            (1, 0, 50, "pass"),
            (2, 0, 100, "pass"),
            (3, 0, 100, "fail"),
            (3, 0, 200, "pass"),
            (1, 0, 6, "inconclusive"),
            (2, 0, 6, "fail"),
            (1, 0, 1, "inconclusive"),
            (0, 9, 10, "pass"),
        ],
    )
    def test_worked_by_hand(self, lost: int, gained: int, n: int, state: str) -> None:
        codes = {"fail": "clear", "inconclusive": "not-clear", "pass": "within"}
        assert said("clear", counted(lost, gained, n)) == (state, codes[state])

    @pytest.mark.parametrize(
        ("lost", "gained", "state"),
        [
            (6, 0, "fail"),
            (5, 0, "inconclusive"),
            (8, 1, "inconclusive"),
            (9, 1, "fail"),
            (2, 0, "inconclusive"),
        ],
    )
    def test_a_slice_needs_six_times(self, lost: int, gained: int, state: str) -> None:
        assert said("clear", counted(lost, gained, 40), is_slice=True)[0] == state

    def test_sizes_count_not_only_signs(self) -> None:
        # One document lost whole and two of three gained by a third: 1/3 over all, against √2 times the square root of 11/9.
        assert said("clear", scores([(1, 0), (0, 1 / 3), (0, 1 / 3)]))[1] == "not-clear"
        assert said("clear", scores([(1 / 3, 0), (1, 2 / 3)] + [(1, 1)] * 8))[1] == "clear"
        assert said("clear", scores([(1 / 3, 0), (1, 2 / 3)] + [(1, 1)] * 8), is_slice=True)[1] == "not-clear"

    def test_one_tiny_loss_is_not_clear_however_little_is_allowed(self) -> None:
        assert said("clear", scores([(0.5, 0.5 - 1e-5), (1, 1)]), 0.0) == ("inconclusive", "not-clear")

    def test_it_is_the_largest_factor_at_which_two_losses_are_clear(self) -> None:
        assert is_clear(2.0, 2.0, CLEAR)
        assert not is_clear(2.0, 2.0, CLEAR + 1e-6)
        assert is_clear(6.0, 6.0, CLEAR_ON_SLICE)
        assert is_clear(2.0 - 5e-10, 2.0, CLEAR)
        assert not is_clear(2.0 - 2e-9, 2.0, CLEAR)

    @given(PAIRS)
    def test_it_is_the_formula(self, pairs: list[tuple[float, float]]) -> None:
        d = np.array([a - b for a, b in pairs])
        wanted = "pass" if d.mean() <= 0.02 else "inconclusive"
        if wanted != "pass" and d.sum() ** 2 >= 2 * (d**2).sum() - 1e-6:
            wanted = "fail"
        assert said("clear", scores(pairs))[0] == wanted

    def test_columns_are_judged_as_each_alone(self) -> None:
        totals, squares = np.array([2.0, 1.0, 4.0, 3.0]), np.array([2.0, 1.0, 6.0, 5.0])
        assert is_clear(totals, squares, CLEAR).tolist() == [True, False, True, False]
        assert above(totals, 100, 0.02).tolist() == [False, False, True, True]


class TestObserved:
    @pytest.mark.parametrize(("lost", "n", "state"), [(2, 100, "pass"), (3, 100, "fail"), (1, 49, "fail")])
    def test_every_larger_drop_fails(self, lost: int, n: int, state: str) -> None:
        for part in (True, False):
            assert said("observed", counted(lost, 0, n), is_slice=part, small=part)[0] == state

    def test_the_tolerance(self) -> None:
        assert said("observed", scores([(0.5, 0.48 - 5e-10)])) == ("pass", "within")
        assert said("observed", scores([(0.5, 0.48 - 2e-9)])) == ("fail", "more-than-allowed")
        assert said("observed", scores([(0.5, 0.5 - 9e-10)]), 0.0) == ("pass", "unchanged")


class TestSignificant:
    DROP = counted(8, 1, 100)

    @pytest.mark.parametrize(
        ("high", "p", "said_of_it"),
        [
            (-0.01, 0.01, ("fail", "beyond-chance")),
            (-0.01, 0.05, ("inconclusive", "chance")),
            (-0.01, 0.05 - 1e-10, ("inconclusive", "chance")),
            (-0.01, 0.05 - 2e-9, ("fail", "beyond-chance")),
            (-2e-9, 0.01, ("fail", "beyond-chance")),
            (-1e-9, 0.01, ("inconclusive", "chance")),
            (0.01, 0.01, ("inconclusive", "chance")),
        ],
    )
    def test_it_needs_interval_and_p(self, high: float, p: float, said_of_it: tuple[str, str]) -> None:
        assert said("significant", self.DROP, ci=(-0.2, high), p=p) == said_of_it
        part = {"is_slice": True, "ci": (-0.2, high)}
        assert said("significant", self.DROP, p=0.5, p_adjusted=p, **part) == said_of_it
        assert said("significant", self.DROP, p=p, p_adjusted=0.5, **part)[1] == "chance"
        assert said("significant", self.DROP, p=p, p_adjusted=None, **part)[1] == "chance"

    def test_what_is_allowed_passes_however_sure(self) -> None:
        assert said("significant", self.DROP, 0.07, ci=(-0.2, -0.1), p=0.001) == ("pass", "within")

    def test_a_small_slice(self) -> None:
        sure: dict[str, Any] = {
            "is_slice": True,
            "ci": (-1.0, -0.5),
            "p": 0.0,
            "p_adjusted": 0.0,
            "small": True,
        }
        assert said("significant", counted(12, 0, 19), **sure) == ("inconclusive", "too-few")
        assert said("significant", counted(0, 2, 19), **sure) == ("pass", "within")

    def test_one_and_three_of_three_lost_are_chance(self) -> None:
        for n in (1, 3, 5):
            assert whole("significant", counted(n, 0, n), 0.02).code == "chance"
        assert whole("significant", counted(6, 0, 6), 0.02).code == "beyond-chance"


class TestNonInferior:
    @pytest.mark.parametrize(
        ("bounds", "said_of_it"),
        [
            ((-0.019, 0.1), ("pass", "ruled-out")),
            ((-0.02 - 5e-10, 0.1), ("pass", "ruled-out")),
            ((-0.02 - 2e-9, 0.1), ("inconclusive", "cannot-rule-out")),
            ((-0.3, -0.02 - 5e-10), ("inconclusive", "cannot-rule-out")),
            ((-0.3, -0.02 - 2e-9), ("fail", "ruled-in")),
        ],
    )
    def test_the_bounds_decide(self, bounds: tuple[float, float], said_of_it: tuple[str, str]) -> None:
        assert said("non-inferior", counted(2, 1, 40), bounds=bounds) == said_of_it
        assert said("non-inferior", counted(2, 1, 40), bounds=bounds, is_slice=True) == said_of_it
        assert (
            said("non-inferior", counted(2, 1, 19), bounds=bounds, is_slice=True, small=True)[1] == "too-few"
        )

    def test_unknown_losses_move_both_bounds(self) -> None:
        # 40 known and 10 unknown: bounds of -.01 and .01 over the known are -.008 and .008 over all, or .02·u lower.
        def of(unknown: float, bounds: tuple[float, float]) -> tuple[str, str]:
            return said("non-inferior", counted(2, 1, 40, [unknown] * 10), bounds=bounds)

        assert of(0.06, (-0.01, 0.01)) == ("pass", "ruled-out")
        assert of(0.061, (-0.01, 0.01)) == ("inconclusive", "unknown-decides")
        assert of(1.0, (-0.9, -0.026)) == ("fail", "ruled-in")
        assert of(1.0, (-0.9, -0.024)) == ("inconclusive", "unknown-decides")
        assert of(0.0, (-0.9, -0.024)) == ("inconclusive", "cannot-rule-out")


class TestUnchanged:
    @pytest.mark.parametrize("rule", RULES)
    @pytest.mark.parametrize("small", [False, True])
    def test_every_rule_passes(self, rule: Rule, small: bool) -> None:
        for n in (1, 19, 400):
            quiet = scores([(0.5, 0.5 + 9e-10), (0.5, 0.5 - 9e-10)] * n)
            found = decide(rule, quiet, 0.0, **(ANY | {"is_slice": small, "small": small}))
            assert (found.state, found.code, found.changed, found.at_best) == ("pass", "unchanged", 0, 0.0)

    @pytest.mark.parametrize("rule", RULES)
    def test_it_is_not_claimed_of_queries_that_were_not_asked(self, rule: Rule) -> None:
        part: dict[str, Any] = {"is_slice": True, "small": True}
        assert said(rule, counted(0, 0, 30, [0.0])) == (
            "pass",
            "ruled-out" if rule == "non-inferior" else "within",
        )
        assert said(rule, counted(0, 0, 3, [0.0]), **part)[0] == "pass"
        assert said(rule, counted(0, 0, 10, [1.0]), **part) == ("inconclusive", "unknown-decides")
        assert said(rule, counted(0, 0, 0, [1.0])) == ("inconclusive", "unknown-decides")

    @pytest.mark.parametrize("rule", RULES)
    def test_too_few_unknown_to_matter(self, rule: Rule) -> None:
        assert said(rule, counted(0, 0, 99, [1.0]))[0] == "pass"


class TestUnknown:
    @pytest.mark.parametrize(
        ("rule", "drop", "said_of_it"),
        [
            ("observed", counted(2, 0, 99, [1.0]), ("inconclusive", "unknown-decides")),
            ("observed", counted(3, 0, 99, [1.0]), ("fail", "more-than-allowed")),
            ("observed", counted(1, 0, 99, [1.0]), ("pass", "within")),
            ("clear", counted(2, 0, 99, [1.0]), ("inconclusive", "unknown-decides")),
            ("clear", counted(1, 0, 40, [1.0]), ("inconclusive", "unknown-decides")),
            ("clear", counted(4, 1, 99, [1.0]), ("inconclusive", "unknown-decides")),
            ("clear", counted(9, 6, 99, [1.0]), ("inconclusive", "not-clear")),
            ("clear", counted(3, 0, 99, [1.0]), ("fail", "clear")),
            ("significant", counted(1, 0, 60, [1.0]), ("inconclusive", "unknown-decides")),
            ("significant", counted(3, 0, 99, [1.0]), ("inconclusive", "chance")),
        ],
    )
    def test_both_ends_are_tried(self, rule: Rule, drop: Drop, said_of_it: tuple[str, str]) -> None:
        assert said(rule, drop) == said_of_it

    def test_a_clear_drop_stays_one_whatever_the_unknown_lost(self) -> None:
        # One great loss more makes the losses less even: Σd 1.2, and √(2·1.02) = 1.43. The gate does not turn yellow.
        even = [(1.0, 0.9), (1.0, 0.9)]
        assert said("clear", scores(even, [1.0])) == said("clear", scores(even)) == ("fail", "clear")
        assert said("clear", scores([*even, (1.0, 0.0)])) == ("inconclusive", "not-clear")

    def test_the_numbers_of_a_decision(self) -> None:
        found = decide("observed", counted(3, 1, 38, [1.0, 0.5]), 0.02, **ANY)
        assert (found.n, found.unknown, found.better, found.worse, found.changed) == (38, 2, 1, 3, 4)
        assert (found.at_best, found.at_worst) == (2 / 40, 3.5 / 40)


@st.composite
def holes(draw: st.DrawFn) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Known pairs, and pairs of which the candidate's score is unknown and at most the baseline's."""
    asked = draw(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=24))
    pairs = draw(st.lists(st.tuples(SCORES, SCORES).map(lambda pair: (max(pair), min(pair))), max_size=6))
    return asked, pairs


@given(holes(), st.sampled_from(RULES), ALLOWED, st.booleans())
@settings(max_examples=200)
def test_no_score_of_the_unknown_contradicts_the_decision(
    found: tuple[list[tuple[float, float]], list[tuple[float, float]]],
    rule: Rule,
    allowed: float,
    is_slice: bool,
) -> None:
    known, hidden = found
    guessed = whole(rule, scores(known, [before for before, _ in hidden]), allowed, is_slice=is_slice)
    seen = whole(rule, scores(known + hidden), allowed, is_slice=is_slice)
    assert {guessed.state, seen.state} != {"pass", "fail"}
    if rule in {"observed", "clear"} and guessed.state == "pass":
        assert seen.state == "pass"
    if rule == "observed" and guessed.state == "fail":
        assert seen.state == "fail"
    assert guessed.at_best - 1e-9 <= seen.at_best == seen.at_worst <= guessed.at_worst + 1e-9


@given(PAIRS, st.data(), st.sampled_from(RULES), ALLOWED, st.booleans())
@settings(max_examples=200)
def test_one_more_loss_never_makes_a_failing_gate_pass(
    pairs: list[tuple[float, float]], data: st.DataObject, rule: Rule, allowed: float, is_slice: bool
) -> None:
    at = data.draw(st.integers(0, len(pairs) - 1))
    before, after = pairs[at]
    lower = [*pairs[:at], (before, data.draw(st.sampled_from([0.0, after / 2]))), *pairs[at + 1 :]]
    first, then = (whole(rule, scores(rows), allowed, is_slice=is_slice) for rows in (pairs, lower))
    assert (first.state, then.state) != ("fail", "pass")
    if rule != "non-inferior":  # a lone gain may be unsure by the guard; taken back, nothing changed
        assert not (first.state != "pass" and then.state == "pass")
    assert then.at_best >= first.at_best - 1e-9


@given(PAIRS, st.lists(SCORES, min_size=1, max_size=4), st.sampled_from(RULES), ALLOWED)
def test_to_hide_a_query_never_helps_more_than_to_keep_it(
    pairs: list[tuple[float, float]], hidden: list[float], rule: Rule, allowed: float
) -> None:
    """Queries that lost everything and are not asked: what fails with them does not pass without."""
    honest = whole(rule, scores(pairs + [(before, 0.0) for before in hidden]), allowed)
    evaded = whole(rule, scores(pairs, hidden), allowed)
    assert (honest.state, evaded.state) != ("fail", "pass")


@given(PAIRS, st.randoms(), st.sampled_from(RULES))
def test_the_order_of_the_queries_changes_nothing(
    pairs: list[tuple[float, float]], random: Any, rule: Rule
) -> None:
    turned = pairs.copy()
    random.shuffle(turned)
    assert whole(rule, scores(pairs), 0.02) == whole(rule, scores(turned), 0.02)


class TestFloor:
    @pytest.mark.parametrize(
        ("known", "unknown", "state", "code"),
        [
            ([1, 1, 1, 1, 0], [], "pass", "reached"),
            ([1, 1, 1, 0.2 - 4e-9, 0.8], [], "pass", "reached"),
            ([1, 1, 1, 0.2 - 6e-9, 0.8], [], "fail", "below"),
            ([1, 1, 1, 1], [1.0], "pass", "reached"),
            ([1, 1, 1], [1.0, 0.5], "inconclusive", "unknown-decides"),
            ([1, 1, 0], [1.0, 0.5], "fail", "below"),
            ([], [1.0], "inconclusive", "unknown-decides"),
        ],
    )
    def test_both_ends_are_tried(
        self, known: list[float], unknown: list[float], state: str, code: str
    ) -> None:
        found = decide_floor(np.array(known, dtype=float), np.array(unknown, dtype=float), 0.8)
        assert (found.state, found.code) == (state, code)
        assert (found.n, found.unknown, found.changed) == (len(known), len(unknown), 0)
        assert found.at_worst == pytest.approx(sum(known) / len(known + unknown))
        assert found.at_best == pytest.approx(sum(known + unknown) / len(known + unknown))

    @given(holes(), st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
    def test_no_score_of_the_unknown_contradicts_it(
        self, found: tuple[list[tuple[float, float]], list[tuple[float, float]]], minimum: float
    ) -> None:
        known, hidden = ([np.array([pair[at] for pair in pairs]) for at in (0, 1)] for pairs in found)
        guessed = decide_floor(known[1], hidden[0], minimum)
        seen = decide_floor(np.concatenate((known[1], hidden[1])), np.zeros(0), minimum)
        assert guessed.state in {seen.state, "inconclusive"}


class TestMisuse:
    def test_nothing_to_judge(self) -> None:
        for ask in (
            lambda: decide("clear", counted(0, 0, 0), 0.02, **ANY),
            lambda: decide_floor(np.zeros(0), np.zeros(0), 0.5),
        ):
            with pytest.raises(ValueError, match="a gate needs at least one query"):
                ask()

    def test_columns_that_do_not_pair_up(self) -> None:
        odd = Drop(known_before=np.zeros(2), known_after=np.zeros(3), unknown_before=np.zeros(0))
        with pytest.raises(ValueError, match=r"known scores must pair up: shapes \(2,\), \(3,\)"):
            decide("clear", odd, 0.02, **ANY)

    def test_every_code_can_be_reached(self) -> None:
        sure: dict[str, Any] = {"ci": (-1.0, -0.1), "p": 0.0, "bounds": (-1.0, -0.1)}
        lost, quiet = counted(3, 0, 9), counted(0, 0, 9)
        found = {said(rule, drop, **numbers)[1] for rule in RULES for drop in (lost, quiet, counted(0, 1, 9)) for numbers in (
            {}, sure, {"is_slice": True}, {"small": True, "is_slice": True}, {"bounds": (0.0, 0.1)},
        )}  # fmt: skip
        found |= {said("observed", counted(0, 0, 9, [1.0]))[1]}
        found |= {decide_floor(np.ones(1), np.zeros(0), minimum).code for minimum in (1.0, 1.1)}
        assert found == set(get_args(Code))
