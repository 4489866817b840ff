"""Sums of resampled and of sign-flipped values: the random part of the paired comparison.

Values must be on the grid of `exact`, on which every sum is exact: neither the order of summation nor the number of
threads moves a result. A seed, the number of values and their multiset decide what is drawn.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

_BOOTSTRAP, _SIGN_FLIP = 1, 2  # one random stream each
_CELLS = 240_000  # counted at once: they stay in the processor's cache
_STRIDE = 40  # every so many sums are looked at to see where the outer tenths begin


def exact(values: Floats) -> Floats:
    """`values` on a binary grid so coarse that any sum of n of them is exact, so fine that nobody sees it."""
    scale = 2.0 ** (52 - math.frexp(values.size * float(np.abs(values).max()))[1])
    return np.rint(values * scale) / scale


def resampled_sums(samples: Floats, resamples: int, seed: int) -> Floats:
    """Sums of bootstrap resamples of each sample; shape (samples, n) -> (samples, resamples), in no order.

    The samples are sorted; they share their draws, and none depends on which others there are. Every draw serves eight
    times: under four orders of the items, with the values in order and in reverse. Items are drawn alike, so that any
    fixed exchange of them makes another resample. Exchanging high values with low ones makes up for the likeness of
    resamples of one draw (Hall 1989, "Antithetic resampling for the bootstrap"); `bench/bootstrap.py` shows that the
    ends of intervals are hardly less steady than those of separate draws.
    """
    number, n = samples.shape
    generator = np.random.default_rng((seed, _BOOTSTRAP, n))
    orders = np.array([generator.permutation(n) for _ in range(4)])
    turned = np.concatenate((samples[:, orders], samples[:, ::-1][:, orders]), axis=1).reshape(-1, n)
    sums = np.empty((len(turned), math.ceil(resamples / 8)))
    columns = math.ceil(_CELLS / n)
    for start in range(0, sums.shape[1], columns):
        part = sums[:, start : start + columns]
        np.matmul(turned, _counts(n, part.shape[1], generator), out=part)
    return sums.reshape(number, -1)[:, :resamples]


def order_statistics(sums: Floats, place: int) -> tuple[float, float]:
    """The values at `place` from either end of the sorted sums, quick where that is in the outer tenth."""
    return _lower(sums, place), -_lower(-sums, place)


def _lower(sums: Floats, place: int) -> float:
    sample = np.sort(sums[::_STRIDE])
    low = sums.compress(sums <= sample[sample.size // 10])
    return float(np.partition(low if low.size > place else sums, place)[place])


def flipped_sums(magnitudes: Floats, resamples: int, seed: int) -> Floats:
    """Sums under random signs, eight signs a byte: a table has the 256 sums of each eight; (resamples,)."""
    eights = np.pad(magnitudes, (0, -magnitudes.size % 8)).reshape(-1, 8)
    every_byte = np.frombuffer(bytes(range(256)), dtype=np.uint8)
    signs = np.unpackbits(every_byte[:, None], axis=1) * 2.0 - 1.0
    generator = np.random.default_rng((seed, _SIGN_FLIP))
    sums = np.zeros(resamples)
    for table in eights @ signs.T:
        sums += table.take(np.frombuffer(generator.bytes(resamples), dtype=np.uint8))
    return sums


def _counts(n: int, resamples: int, generator: np.random.Generator) -> Floats:
    """How often each of n items occurs in n draws; shape (n, resamples)."""
    cells = generator.integers(0, n, size=(n, resamples))
    cells *= resamples
    cells += np.arange(resamples)
    return np.bincount(cells.ravel(), minlength=n * resamples).reshape(n, resamples).astype(np.float64)
