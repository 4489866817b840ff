"""Sums of resampled and sign-flipped values: exact, distributed as theory says, the same for ever."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from rageval_action.core.statistics.resampling import exact, flipped_sums, order_statistics, resampled_sums


def _values(n: int, share: float, step: float = 0.0) -> np.ndarray:
    generator = np.random.default_rng(n)
    values = np.where(generator.random(n) < share, np.clip(generator.normal(0.1, 0.5, n), -1, 1), 0.0)
    return np.sort(exact(np.round(values / step) * step if step else values))


def _counts(n: int, resamples: int, seed: int) -> np.ndarray:
    """How often each of n items is in each resample, read from sums whose digits they are; shape (n, resamples)."""
    base = n + 1
    sums = resampled_sums(float(base) ** np.arange(n)[None, :], resamples, seed)[0].astype(int)
    return np.array([sums // base**item % base for item in range(n)])


def _quarters(changed: int) -> np.ndarray:
    """Some of four values, and 200 times nothing."""
    return np.sort(np.concatenate((np.zeros(200), np.resize([-0.75, 0.25, 0.5, 1.0], changed))))


class TestExact:
    def test_sums_are_exact_in_any_order(self) -> None:
        drawn = np.random.default_rng(0).normal(size=10_000)
        values = exact(drawn)
        assert float(values.sum()) == math.fsum(values) == float(np.sort(values)[::-1].cumsum()[-1])
        assert np.abs(values - drawn).max() < 1e-10

    def test_the_grid_has_as_many_steps_as_a_sum_of_all_can_hold(self) -> None:
        # Sums reach 1 and 10; 2**52 steps must reach as far.
        assert exact(np.full(3, 1 / 3))[0] == round(2**51 / 3) / 2**51
        assert exact(np.full(100, 0.1))[0] == round(0.1 * 2**48) / 2**48


class TestOrderStatistics:
    @pytest.mark.parametrize("place", [0, 1, 24, 249, 499])
    @pytest.mark.parametrize("made", ["sorted", "few values", "misleading sample", "all alike", "short"])
    def test_they_are_those_of_the_sorted_sums(self, made: str, place: int) -> None:
        generator = np.random.default_rng(place)
        sums = {
            "sorted": np.arange(10_000.0),
            "few values": generator.integers(-2, 3, size=10_000).astype(float),
            "misleading sample": generator.normal(size=10_000),
            "all alike": np.ones(10_000),
            "short": generator.normal(size=place + 1),
        }[made]
        if made == "misleading sample":
            sums[::20] = -10.0 - np.arange(500)
        ordered = np.sort(sums)
        assert order_statistics(sums, place) == (ordered[place], ordered[-1 - place])

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_one_value_too_few_below_the_limit_is_noticed(self, sign: float) -> None:
        """Every looked-at sum is among the smallest, so that fewer than asked for lie below the limit."""
        sums = sign * np.arange(400.0)
        sums[::40], sums[:10] = sums[:10].copy(), sums[::40].copy()
        ordered = np.sort(sums)
        for place in range(60):
            assert order_statistics(sums, place) == (ordered[place], ordered[-1 - place])


class TestResampledSums:
    @pytest.mark.parametrize(
        ("n", "share", "step"), [(30, 0.7, 0.0), (200, 0.2, 0.0), (900, 0.7, 0.0), (900, 0.7, 0.5)]
    )
    def test_they_spread_as_the_theory_says(self, n: int, share: float, step: float) -> None:
        values = _values(n, share, step)
        means = resampled_sums(values[None, :], 20_000, 3)[0] / n
        assert means.size == 20_000
        assert means.mean() == pytest.approx(values.mean(), abs=5 * values.std() / math.sqrt(n * 20_000))
        assert means.std() == pytest.approx(values.std() / math.sqrt(n), rel=0.03)
        skew = np.mean(((means - means.mean()) / means.std()) ** 3)
        shape = np.mean(((values - values.mean()) / values.std()) ** 3)
        assert skew == pytest.approx(shape / math.sqrt(n), abs=0.08)

    @pytest.mark.parametrize("items", [(-0.5, 0.0, 0.25, 0.25), (-1.0, -0.5, 0.0, 0.25, 0.25, 1.0)])
    def test_they_are_distributed_as_enumeration_says(self, items: tuple[float, ...]) -> None:
        sums = [sum(drawn) for drawn in itertools.product(items, repeat=len(items))]
        resamples = 40_000
        drawn = resampled_sums(np.array([items]), resamples, 11)[0]
        for value in set(sums):
            share = sums.count(value) / len(sums)
            error = 4.5 * math.sqrt(share / resamples)
            assert np.mean(np.abs(drawn - value) < 1e-9) == pytest.approx(share, abs=error)

    @pytest.mark.parametrize("n", [7, 300])
    def test_a_sample_gets_the_same_whatever_stands_beside_it(self, n: int) -> None:
        values, other = _values(n, 0.9), _values(n, 0.4)[::-1].cumsum() / n
        alone = resampled_sums(values[None, :], 101, 3)[0]
        assert np.array_equal(resampled_sums(np.array([np.sort(other), values]), 101, 3)[1], alone)

    def test_a_draw_serves_under_four_orders_and_each_in_reverse(self) -> None:
        counts = _counts(5, 8 * 100, seed=1).reshape(5, 8, 100)  # 100 draws, each serving eight times
        assert np.array_equal(counts[:, :4], counts[::-1, 4:]), "high and low exchanged"
        ordered = np.sort(counts, axis=0)
        assert np.array_equal(ordered, np.broadcast_to(ordered[:, :1], ordered.shape)), "one draw"
        assert len({counts[:, turn].tobytes() for turn in range(8)}) == 8, "eight orders of it"

    def test_counts_are_of_n_even_draws(self) -> None:
        counts = _counts(7, 8 * 1001, seed=5)
        assert counts.shape == (7, 8 * 1001)
        assert (counts.sum(axis=0) == 7).all()
        assert counts.mean(axis=1) == pytest.approx(1, abs=0.15)
        assert counts.var() == pytest.approx(6 / 7, abs=0.05)
        assert np.corrcoef(counts)[0, 1:] == pytest.approx(-1 / 6, abs=0.1)

    def test_where_draws_are_made_block_by_block_all_blocks_are_filled(self) -> None:
        values = _values(300, 1.0)
        drawn = resampled_sums(values[None, :], 8 * 2000, 3)[0].reshape(8, 2000)  # 800 at a time
        deviation = values.std() * math.sqrt(300)
        for part in (drawn[:, :800], drawn[:, 800:1600], drawn[:, 1600:], drawn[:, -40:]):
            assert part.std() == pytest.approx(deviation, rel=0.15)
        assert len(np.unique(drawn)) > 15_900

    def test_more_values_than_are_counted_at_once(self) -> None:
        values = np.concatenate((np.zeros(250_000), np.ones(250_000)))
        sums = resampled_sums(values[None, :], 80, 3)[0]
        assert sums.mean() == pytest.approx(250_000, abs=4 * 354 / math.sqrt(80))
        assert sums.std() == pytest.approx(354, rel=0.3)

    def test_a_seed_gives_the_same_sums_for_ever(self) -> None:
        assert resampled_sums(np.array([[-1, 0.25, 0.5]]), 6, 1).tolist() == [
            [1.0, 1.0, -1.75, -0.5, -0.5, -0.5]
        ]
        assert resampled_sums(_quarters(100)[None, :], 6, 1).tolist() == [
            [33.75, 23.0, 13.0, 14.0, 16.0, 33.25]
        ]


class TestFlippedSums:
    def test_a_seed_gives_the_same_signs_for_ever(self) -> None:
        sums = flipped_sums(2.0 ** np.arange(9), 6, 1)
        assert sums.tolist() == [135.0, 443.0, -405.0, 75.0, -37.0, -171.0]

    def test_every_sign_is_drawn_evenly_and_by_itself(self) -> None:
        for size in (1, 8, 9, 17):
            powers = 2.0 ** np.arange(size)
            sums = flipped_sums(powers, 40_000, 1)
            signs = (((sums + powers.sum()) / 2).astype(int)[:, None] >> np.arange(size)) & 1
            assert signs.mean(axis=0) == pytest.approx(0.5, abs=0.02)
            assert len(set(sums)) == 2**size or size == 17
            if size > 1:
                assert np.abs(np.corrcoef(signs.T) - np.eye(size)).max() < 0.03
