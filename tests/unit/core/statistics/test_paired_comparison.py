"""Intervals, p-values and readings: against enumeration and published anchors, and what must not move them."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_action.core.measuring.measures import parse_measure
from rageval_action.core.measuring.scoring import batch, score
from rageval_action.core.measuring.trec_files import parse_qrels, parse_run
from rageval_action.core.model.types import Grades
from rageval_action.core.statistics.paired_comparison import (
    SEED,
    Interval,
    Paired,
    bootstrap_interval,
    bootstrap_intervals,
    guarded_bounds,
    guarded_bounds_all,
    holm,
    paired,
    paired_all,
    queries_needed,
    read,
    sign_flip_p,
    smallest_detectable,
)
from rageval_action.core.statistics.resampling import exact, resampled_sums
from tests.real_corpora import shared

SCORES = st.lists(
    st.tuples(*[st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0])] * 2), min_size=1, max_size=40
).map(lambda pairs: (np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])))

FEW = {"resamples": 400}


def _differences(n: int, share: float, *, seed: int = 1, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < share, np.clip(rng.normal(shift, 0.5, n), -1, 1), 0.0)


def _plain_interval(differences: np.ndarray, level: float, resamples: int = 40_000) -> tuple[float, float]:
    """The textbook recipe."""
    rng = np.random.default_rng(7)
    n = differences.size
    means = np.concatenate(
        [differences[rng.integers(0, n, (resamples // 20, n))].mean(axis=1) for _ in range(20)]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _plain_p(differences: np.ndarray) -> float:
    changed = [d for d in differences if d]
    observed = abs(math.fsum(changed))
    flips = list(itertools.product((-1, 1), repeat=len(changed)))
    extreme = sum(
        abs(math.fsum(s * d for s, d in zip(flip, changed, strict=True))) >= observed - 1e-9 for flip in flips
    )
    return extreme / len(flips)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return json.loads((shared("conformance") / "stats.json").read_text())


@pytest.fixture(scope="module")
def cranfield() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    folder = shared("conformance") / "cranfield"
    qrels = parse_qrels((folder / "qrels.txt").read_bytes(), where="qrels")
    measures = {
        "recall_10": parse_measure("recall@10"),
        "recip_rank_10": parse_measure("mrr@10"),
        "success_10": parse_measure("hit@10"),
    }
    sides = []
    for name in ("bm25", "lsa"):
        run = parse_run((folder / f"{name}.run.txt").read_bytes(), where=name).rankings
        ranked = [run[query].ids if query in run else () for query in qrels]
        sides.append(
            score(batch(ranked, [Grades(grades) for grades in qrels.values()]), list(measures.values()))
        )
    return {name: (sides[0][measure], sides[1][measure]) for name, measure in measures.items()}


class TestAnchors:
    @pytest.mark.parametrize("name", ["recall_10", "recip_rank_10", "success_10"])
    def test_cranfield(
        self, name: str, expected: dict[str, Any], cranfield: dict[str, tuple[np.ndarray, np.ndarray]]
    ) -> None:
        want = expected[f"cranfield bm25->lsa {name}"]
        tolerance = want["mc_tolerance_for_10k_resamples"]
        got = paired(*cranfield[name])
        assert (got.n, got.better, got.worse, got.same) == (
            want["n"],
            want["wins"],
            want["losses"],
            want["ties"],
        )
        assert got.baseline == pytest.approx(want["mean_a"], abs=1e-8)
        assert got.candidate == pytest.approx(want["mean_b"], abs=1e-8)
        assert got.delta == pytest.approx(want["mean_diff"], abs=1e-8)
        assert got.sd == pytest.approx(want["sd_diff"], abs=1e-8)
        low, high = want["bootstrap_percentile_ci95_200k"]
        assert got.ci.low == pytest.approx(low, abs=tolerance["ci_end"])
        assert got.ci.high == pytest.approx(high, abs=tolerance["ci_end"])
        assert got.p == pytest.approx(want["signflip_p_two_sided_200k"], abs=tolerance["p"] + 1e-12)
        baseline, candidate = cranfield[name]
        # For success_10 this is the toss of a coin: the sums are whole, and the next lower one has a share of .0502.
        lower = bootstrap_interval(candidate - baseline, level=0.90).low
        assert lower == pytest.approx(want["bootstrap_lower95_one_sided_200k"], abs=tolerance["ci_end"])

    def test_exact_p(self, expected: dict[str, Any]) -> None:
        small, ties = expected["exact small"], expected["float ties"]
        assert sign_flip_p(np.array(small["differences"])) == small["signflip_p_two_sided_exact"]
        assert sign_flip_p(np.array(ties["differences"])) == ties["p_exact_two_sided"]


class TestBootstrap:
    @pytest.mark.parametrize(
        ("n", "share", "shift"),
        [
            (5, 0.9, 0.1),
            (40, 0.3, 0.0),
            (249, 0.5, -0.1),
            (250, 0.2, 0.2),
            (251, 0.2, -0.2),
            (260, 1.0, 0.0),
            (700, 0.9, 0.1),
        ],
    )
    @pytest.mark.parametrize("guard", [False, True])
    @pytest.mark.parametrize("step", [0.0, 0.25])
    def test_it_agrees_with_the_textbook(
        self, n: int, share: float, shift: float, guard: bool, step: float
    ) -> None:
        differences = _differences(n, share, shift=shift)
        if step:
            differences = np.round(differences / step) * step
        if guard:
            got = guarded_bounds(differences, resamples=40_000)
            differences = np.concatenate((differences, (-1.0, 1.0)))
            low, high = _plain_interval(differences, 0.90)
        else:
            got = bootstrap_interval(differences, resamples=40_000)
            low, high = _plain_interval(differences, 0.95)
        # Six standard errors of a quantile of 40,000 draws, and one step of the grid on which means lie.
        error = (
            0.06 * float(differences.std()) / math.sqrt(differences.size) * 1.5
            + 1.01 * step / differences.size
        )
        error += 0.02 * (n == 5)
        assert got.low == pytest.approx(low, abs=error)
        assert got.high == pytest.approx(high, abs=error)

    def test_equal_differences_give_their_value(self) -> None:
        assert bootstrap_interval(np.full(7, 0.25)) == Interval(0.25, 0.25)
        assert bootstrap_interval(np.array([-0.5])) == Interval(-0.5, -0.5)
        for n in (3, 7, 400):
            assert bootstrap_interval(np.full(n, 0.1)) == Interval(0.1, 0.1)
        low, high = (
            bootstrap_interval(np.array([0.3, 0.3 + 5e-10])).low,
            bootstrap_interval(np.array([0.3])).high,
        )
        assert (low, high) == pytest.approx((0.3, 0.3))

    @pytest.mark.parametrize("n", [4, 400])
    def test_rounding_errors_are_no_change(self, n: int) -> None:
        noise = np.resize([1e-10, -9e-10, 9e-10, 0.0], n)
        assert bootstrap_interval(noise) == Interval(0.0, 0.0)
        assert guarded_bounds(noise) == Interval(0.0, 0.0)
        assert sign_flip_p(noise) == 1.0
        scores = np.full(n, 0.5)
        got = paired(scores, scores + noise)
        assert (got.delta, got.ci, got.p, got.sd, got.mde, got.same) == (
            0.0,
            Interval(0.0, 0.0),
            1.0,
            0.0,
            0.0,
            n,
        )

    def test_ends_are_order_statistics_from_both_sides(self) -> None:
        # One query in two lost: sums of two draws are -2, -1 and 0 with weights 1, 2 and 1.
        assert bootstrap_interval(np.array([-1.0, 0.0])) == Interval(-1.0, 0.0)
        assert bootstrap_interval(np.array([1.0, 0.0])) == Interval(0.0, 1.0)
        assert bootstrap_interval(np.array([1.0, 0.0]), level=0.4) == Interval(0.5, 0.5)
        values = np.linspace(-1, 1, 101)
        few = bootstrap_interval(values, resamples=19, level=0.9)
        drawn = np.sort(resampled_sums(np.sort(exact(values))[None, :], 19, SEED)[0])
        assert few == Interval(float(drawn[0]) / 101, float(drawn[18]) / 101)
        assert bootstrap_interval(values, resamples=19, level=0.99) == few
        few = bootstrap_interval(values, resamples=19, level=0.7)
        assert few == Interval(float(drawn[2]) / 101, float(drawn[16]) / 101)
        drawn = np.sort(resampled_sums(np.sort(exact(values))[None, :], 38, SEED)[0])
        few = bootstrap_interval(values, resamples=38, level=0.9)
        assert few == Interval(float(drawn[0]) / 101, float(drawn[37]) / 101)

    @pytest.mark.parametrize("n", [50, 400, 4000])
    def test_a_seed_decides_and_another_seed_hardly_matters(self, n: int) -> None:
        values = _differences(n, 0.9)
        first, again, other = (bootstrap_interval(values, seed=seed) for seed in (1, 1, 2))
        assert first == again
        assert first != other
        assert first.low == pytest.approx(other.low, abs=0.1 * (first.high - first.low))


class TestSignFlips:
    @pytest.mark.parametrize("seed", range(4))
    def test_few_changes_are_enumerated(self, seed: int) -> None:
        differences = np.concatenate((np.round(_differences(9, 1.0, seed=seed, shift=0.3), 1), np.zeros(3)))
        assert sign_flip_p(differences) == _plain_p(differences)

    def test_enumeration_ends_where_the_flips_reach_the_resamples(self) -> None:
        lost = np.full(4, -0.5)
        assert sign_flip_p(lost, resamples=17) == 2 / 16
        assert sign_flip_p(lost, resamples=16) != 2 / 16
        assert sign_flip_p(np.full(13, 1.0)) == 2 / 2**13
        assert sign_flip_p(np.full(14, 1.0)) != 2 / 2**14

    def test_many_changes_are_sampled(self) -> None:
        differences = np.round(_differences(15, 1.0, shift=0.15), 1)
        assert 0.02 < _plain_p(differences) < 0.9
        assert sign_flip_p(differences, resamples=20_000) == pytest.approx(_plain_p(differences), abs=0.015)
        assert sign_flip_p(np.full(200, 0.1)) == 1 / 10_001
        assert sign_flip_p(np.resize([0.25, -0.25], 400)) == 1.0

    def test_ties_by_rounding_count(self) -> None:
        # 0.1 + 0.2 - 0.3 is not 0 in floating point, nor are its flips equal in size.
        assert sign_flip_p(np.array([0.1, 0.2, -0.3])) == 1.0
        assert sign_flip_p(np.array([1e-3, 5e-10])) == 1.0

    def test_a_sum_short_by_more_than_the_tolerance_is_no_tie(self) -> None:
        assert sign_flip_p(np.array([0.5, 3e-9])) == 0.5
        assert sign_flip_p(np.array([0.5, -3e-9])) == 1.0


@given(SCORES, st.randoms())
@settings(max_examples=40)
def test_the_order_of_the_queries_changes_nothing(scores: tuple[np.ndarray, np.ndarray], random: Any) -> None:
    baseline, candidate = scores
    order = list(range(baseline.size))
    random.shuffle(order)
    assert paired(baseline[order], candidate[order], **FEW) == paired(baseline, candidate, **FEW)
    moved = (candidate - baseline)[order]
    assert guarded_bounds(moved, **FEW) == guarded_bounds(candidate - baseline, **FEW)


@given(SCORES)
@settings(max_examples=40)
def test_swapping_the_sides_negates(scores: tuple[np.ndarray, np.ndarray]) -> None:
    there, back = paired(*scores, **FEW), paired(*reversed(scores), **FEW)
    assert back.delta == -there.delta
    assert (back.p, back.sd, back.mde, back.same) == (there.p, there.sd, there.mde, there.same)
    assert (back.better, back.worse) == (there.worse, there.better)
    if abs(there.delta) > 1e-9:
        assert back.ci == Interval(-there.ci.high, -there.ci.low)
        bounds, mirror = (
            guarded_bounds(scores[1] - scores[0], **FEW),
            guarded_bounds(scores[0] - scores[1], **FEW),
        )
        assert mirror == Interval(-bounds.high, -bounds.low)


@given(SCORES)
@settings(max_examples=40)
def test_every_number_keeps_its_bounds(scores: tuple[np.ndarray, np.ndarray]) -> None:
    got = paired(*scores, **FEW)
    differences = scores[1] - scores[0]
    assert got.better + got.worse + got.same == got.n == differences.size
    least, most = (-1.0, 1.0) if differences.size == 1 else (differences.min(), differences.max())
    assert least - 1e-9 <= got.ci.low <= got.ci.high <= most + 1e-9
    assert 0 < got.p <= 1
    assert math.copysign(1.0, got.ci.low) == 1.0 or got.ci.low < 0
    assert math.copysign(1.0, got.ci.high) == 1.0 or got.ci.high < 0


@given(st.integers(1, 3000), st.sampled_from([0.0, 1 / 3, 0.7, 1.0]), st.sampled_from([0.0, 0.02]))
@settings(max_examples=30)
def test_identical_runs_show_no_change_at_any_size(n: int, value: float, margin: float) -> None:
    scores = np.full(n, value)
    scores[::2] = 0.5
    same = paired(scores, scores.copy())
    assert (same.delta, same.ci, same.p, same.sd, same.mde) == (0.0, Interval(0.0, 0.0), 1.0, 0.0, 0.0)
    assert (same.better, same.worse, same.same) == (0, 0, n)
    bounds = guarded_bounds(scores - scores)
    assert bounds == Interval(0.0, 0.0)
    assert read(same, bounds, margin=margin) == "unchanged"


def test_nothing_else_that_is_computed_moves_a_result() -> None:
    values = _differences(90, 0.3)
    alone = (bootstrap_interval(values), guarded_bounds(values), sign_flip_p(values))
    for n in (90, 300):
        paired(np.zeros(n), _differences(n, 0.4, seed=5))
    assert (bootstrap_interval(values), guarded_bounds(values), sign_flip_p(values)) == alone


class TestPaired:
    def test_many_at_once_are_as_each_alone(self) -> None:
        pairs = [
            (np.zeros(n), _differences(n, share, seed=n)) for n in (20, 30, 260) for share in (0.0, 0.4, 1.0)
        ]
        pairs += [(np.ones(4), np.zeros(4)), pairs[1], (pairs[1][1], pairs[1][0])]
        together = paired_all(pairs, resamples=500, seed=9)
        assert together == [paired(*pair, resamples=500, seed=9) for pair in pairs]
        differences = [candidate - baseline for baseline, candidate in pairs]
        assert bootstrap_intervals(differences, level=0.8) == [
            bootstrap_interval(sample, level=0.8) for sample in differences
        ]
        assert guarded_bounds_all(differences, resamples=500, seed=9) == [
            guarded_bounds(sample, resamples=500, seed=9) for sample in differences
        ]
        assert paired_all([]) == bootstrap_intervals([]) == guarded_bounds_all([]) == []

    def test_it_counts_and_averages(self) -> None:
        got = paired(np.array([0.5, 0.5, 1.0, 0.0, 0.25]), np.array([1.0, 0.0, 1.0, 1.0, 0.25 + 5e-10]))
        assert (got.n, got.better, got.worse, got.same) == (5, 2, 1, 2)
        assert (got.baseline, got.candidate) == (0.45, pytest.approx(0.65))
        assert got.delta == got.candidate - got.baseline
        assert got.sd == pytest.approx(np.std([0.5, -0.5, 0, 1, 0], ddof=1))
        assert got.mde == pytest.approx(2.8016 * got.sd / math.sqrt(5), rel=1e-4)
        assert got.p == sign_flip_p(np.array([0.5, -0.5, 1.0]))
        assert got.ci == bootstrap_interval(np.array([0.5, -0.5, 0, 1, 5e-10]))

    def test_resamples_and_seed_reach_both_methods(self) -> None:
        baseline, candidate = np.zeros(40), _differences(40, 0.9)
        got = paired(baseline, candidate, resamples=500, seed=9)
        assert got.ci == bootstrap_interval(candidate, resamples=500, seed=9)
        assert got.p == sign_flip_p(candidate, resamples=500, seed=9)
        assert got.p != sign_flip_p(candidate, resamples=500)

    @pytest.mark.parametrize("after", [0.0, 0.5, 1.0 - 2e-9])
    def test_one_query_has_neither_deviation_nor_interval(self, after: float) -> None:
        got = paired(np.array([1.0]), np.array([after]))
        assert (got.delta, got.sd, got.mde, got.p) == (after - 1.0, 0.0, 0.0, 1.0)
        assert got.ci == Interval(-1.0, 1.0)
        assert paired(np.array([1.0]), np.array([1.0 - 5e-10])).ci == Interval(0.0, 0.0)

    @pytest.mark.parametrize(
        ("baseline", "candidate"),
        [(np.zeros(0), np.zeros(0)), (np.zeros(2), np.zeros(1)), (np.zeros((2, 2)), np.zeros((2, 2)))],
    )
    def test_columns_that_do_not_fit_are_a_bug(self, baseline: np.ndarray, candidate: np.ndarray) -> None:
        with pytest.raises(ValueError, match="two equal") as caught:
            paired(baseline, candidate)
        assert str(caught.value) == (
            f"two equal, non-empty columns of scores are needed: {baseline.shape}, {candidate.shape}"
        )

    def test_the_tolerance_itself_is_no_difference(self) -> None:
        got = paired(np.zeros(3), np.array([1e-9, -1e-9, 0.5]))
        assert (got.better, got.worse, got.same) == (1, 0, 2)
        assert bootstrap_interval(np.array([1e-9, -1e-9])) == Interval(0.0, 0.0)
        assert sign_flip_p(np.full(3, 1e-9)) == 1.0

    def test_the_deviation_of_a_run_that_only_lost(self) -> None:
        assert paired(np.ones(4), np.array([1.0, 0.0, 1.0, 1.0])).sd == pytest.approx(0.5)

    def test_results_cannot_be_changed(self) -> None:
        got = paired(np.zeros(3), np.ones(3))
        for value, name in ((got, "delta"), (got.ci, "low")):
            with pytest.raises(AttributeError):
                setattr(value, name, 0.0)
        with pytest.raises(TypeError):
            Paired(*[getattr(got, name) for name in got.__struct_fields__])


class TestPower:
    @pytest.mark.parametrize(("n", "published"), [(50, 0.119), (100, 0.084), (300, 0.049)])
    def test_smallest_detectable_difference(self, n: int, published: float) -> None:
        assert smallest_detectable(0.3, n) == pytest.approx(published, abs=5e-4)
        assert smallest_detectable(0.3, n) == pytest.approx(
            (1.9599639845 + 0.8416212336) * 0.3 / math.sqrt(n)
        )

    @given(st.floats(0.01, 0.9), st.integers(1, 5000))
    def test_queries_needed_is_its_inverse(self, sd: float, n: int) -> None:
        drop = smallest_detectable(sd, n)
        assert queries_needed(sd, drop) == n
        assert queries_needed(sd, drop * 1.0001) <= n
        assert queries_needed(sd, drop * 0.9999) == n + 1 + (n > 4999)

    def test_at_least_one_query_is_needed(self) -> None:
        assert queries_needed(0.0, 0.02) == 1
        assert queries_needed(0.3, 0.02) == 1766


class TestHolm:
    @pytest.mark.parametrize(
        ("ps", "adjusted"),
        [
            ([], []),
            ([0.2], [0.2]),
            ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
            ([0.5, 0.6, 0.01], [1.0, 1.0, 0.03]),
            ([0.02, 0.02], [0.04, 0.04]),
            ([0.4, 0.9], [0.8, 0.9]),
        ],
    )
    def test_known_values(self, ps: list[float], adjusted: list[float]) -> None:
        assert holm(ps) == pytest.approx(adjusted)

    @given(st.lists(st.floats(0, 1), max_size=20))
    def test_it_never_lowers_never_exceeds_one_and_keeps_the_order(self, ps: list[float]) -> None:
        adjusted = holm(ps)
        assert all(p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))
        assert [q for _, q in sorted(zip(ps, adjusted, strict=True))] == sorted(adjusted)


def _stats(low: float, high: float, *, p: float = 0.01, changed: int = 5) -> Paired:
    return Paired(
        n=10, baseline=0.5, candidate=0.5, delta=0.0, ci=Interval(low, high), p=p,
        better=changed, worse=0, same=10 - changed, mde=0.1, sd=0.1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ci", "lower", "margin", "reading"),
    [
        ((-0.2, -0.1), -0.3, 0.02, "worse"),
        ((-0.2, -2e-9), -0.001, 0.02, "worse"),
        ((-0.2, -5e-10), -0.001, 0.02, "not_worse"),
        ((0.1, 0.2), -0.3, 0.02, "better"),
        ((2e-9, 0.2), -0.3, 0.02, "better"),
        ((5e-10, 0.2), -0.3, 0.02, "unclear"),
        ((-0.2, -1e-9), -0.3, 0.02, "unclear"),
        ((1e-9, 0.2), -0.3, 0.02, "unclear"),
        ((-0.1, 0.1), 1e-9, 0.0, "unclear"),
        ((-0.1, 0.1), -0.019, 0.02, "not_worse"),
        ((-0.1, 0.1), -0.02, 0.02, "unclear"),
        ((-0.1, 0.1), -0.02 + 5e-10, 0.02, "unclear"),
        ((-0.1, 0.1), -0.02 + 2e-9, 0.02, "not_worse"),
        ((-0.1, 0.1), -0.021, 0.02, "unclear"),
        ((-0.1, 0.1), 0.0, 0.0, "unclear"),
        ((-0.1, 0.1), 0.01, 0.0, "not_worse"),
    ],
)
def test_readings(ci: tuple[float, float], lower: float, margin: float, reading: str) -> None:
    assert read(_stats(*ci), Interval(lower, 0.3), margin=margin) == reading


@pytest.mark.parametrize(
    ("p", "sure"), [(0.05, False), (0.05 - 1e-10, False), (0.05 - 2e-9, True), (0.5, False)]
)
@pytest.mark.parametrize(("ci", "reading"), [((-0.2, -0.1), "worse"), ((0.1, 0.2), "better")])
def test_worse_and_better_need_the_test_beside_the_interval(
    ci: tuple[float, float], reading: str, p: float, sure: bool
) -> None:
    assert read(_stats(*ci, p=p), Interval(-0.3, 0.3), margin=0.02) == (reading if sure else "unclear")
    assert read(_stats(*ci, p=p), Interval(-0.01, 0.3), margin=0.02) == (reading if sure else "not_worse")


def test_no_change_at_all_is_unchanged_whatever_the_margin() -> None:
    for margin in (0.0, 0.02):
        assert read(_stats(0.0, 0.0, changed=0), Interval(0.0, 0.0), margin=margin) == "unchanged"
    assert read(_stats(0.0, 0.0, changed=1), Interval(0.0, 0.0), margin=0.0) == "unclear"


def _read(lost: int, gained: int, n: int) -> str:
    """The reading of whole documents lost and gained."""
    differences = np.repeat([-1.0, 1.0, 0.0], [lost, gained, n - lost - gained])
    return read(
        paired(np.maximum(-differences, 0.0), np.maximum(differences, 0.0)),
        guarded_bounds(differences),
        margin=0.02,
    )


@pytest.mark.parametrize(
    ("lost", "gained", "beyond_chance"),
    [
        (4, 0, False),
        (5, 0, False),
        (7, 1, False),
        (9, 2, False),
        (11, 3, False),
        (14, 5, False),
        (6, 0, True),
        (8, 1, True),
    ],
)
def test_an_interval_on_one_side_of_0_is_not_enough(lost: int, gained: int, beyond_chance: bool) -> None:
    low = bootstrap_interval(np.repeat([1.0, -1.0, 0.0], [lost, gained, 100 - lost - gained])).low
    assert low > 0.0
    assert _read(lost, gained, 100) == ("worse" if beyond_chance else "unclear")
    assert _read(gained, lost, 100) == ("better" if beyond_chance else "not_worse")


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 200))
def test_up_to_five_changed_queries_are_neither_worse_nor_better(lost: int, gained: int, same: int) -> None:
    gained = min(gained, 5 - lost)
    if lost + gained + same:
        allowed = {"not_worse", "unclear"} if lost + gained else {"unchanged"}
        assert _read(lost, gained, lost + gained + same) in allowed


@pytest.mark.parametrize("n", [1, 3, 5])
def test_all_of_very_few_lost(n: int) -> None:
    assert _read(n, 0, n) == "unclear"
    assert _read(6, 0, 6) == "worse"


def _steps(n: int, changed: int) -> np.ndarray:
    """Differences of hundredths, the same everywhere: `changed` of `n` are not 0."""
    steps = (np.arange(n) * 37 % 101 - 40.0) / 100
    steps[steps == 0.0] = 0.5
    steps[changed:] = 0.0
    return steps


@pytest.mark.parametrize(
    ("differences", "ci", "bounds", "p"),
    [
        (
            _steps(20, 6),
            (-0.0674999999999999, 0.08050000000000015),
            (-0.11409090909090867, 0.12545454545454568),
            0.78125,
        ),
        (
            _steps(80, 30),
            (-0.0027500000000005185, 0.07962499999999988),
            (-0.007317073170733024, 0.08121951219512191),
            0.0817918208179182,
        ),
        (
            _steps(250, 250),
            (0.0672400000000016, 0.14040000000000033),
            (0.07154761904761804, 0.1345238095238092),
            9.999000099990002e-05,
        ),
        (
            _steps(251, 100),
            (0.01804780876494013, 0.06541832669322716),
            (0.01913043478260927, 0.06276679841897209),
            0.0014998500149985001,
        ),
        (
            _steps(400, 90),
            (0.008649999999999807, 0.037574999999998936),
            (0.009626865671642651, 0.036144278606966236),
            0.0030996900309969004,
        ),
        (
            _steps(400, 400),
            (0.07580000000000027, 0.1323750000000007),
            (0.07883084577114612, 0.12828358208954954),
            9.999000099990002e-05,
        ),
        (
            np.sign(_steps(600, 60)),
            (-0.005, 0.045),
            (-0.0016611295681063123, 0.04152823920265781),
            0.1521847815218478,
        ),
    ],
)
def test_a_published_number_can_be_computed_again(
    differences: np.ndarray, ci: tuple[float, float], bounds: tuple[float, float], p: float
) -> None:
    """Every stream of random numbers is pinned: who draws otherwise changes all verdicts a little, and must say so."""
    interval, guarded = bootstrap_interval(differences), guarded_bounds(differences)
    assert (interval.low, interval.high) == pytest.approx(ci, abs=1e-12)
    assert (guarded.low, guarded.high) == pytest.approx(bounds, abs=1e-12)
    assert sign_flip_p(differences) == pytest.approx(p, abs=1e-12)
