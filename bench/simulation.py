"""How often each gate rule is red, yellow and green: a seeded simulation, by size, churn and true change.

A data set is n differences. Four questions in five have one document, so that a change is worth ±1; one in five has
three, and a change is worth ±1/3, ±2/3 or ±1 alike. A share of the questions changes ("churn"), with as many losses
more than gains as the true change asks for; where the churn is too small for that, all changes are losses and there are
as many as it takes. One measure is gated over all questions, and `max_drop` is 2 points.

All differences are thirds, so the bootstrap and the sign flips need no resampling: their distributions are computed
by Fourier transform, which is what 10,000 resamples estimate. Some data sets of every cell are judged again by the
product's own intervals and rules, and the program ends with 1 where these disagree, or where a rate on harmless
changes is more than two points and three standard errors from published ones, counted by another program. Its rates at
a true fall of 5 points are shown beside ours: it does not say how large the losses of its questions were.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.statistics.drop_rules import (
    CLEAR,
    CLEAR_ON_SLICE,
    Drop,
    Rule,
    State,
    above,
    decide,
    is_clear,
)
from rageval_action.core.statistics.paired_comparison import (
    SIGNIFICANT,
    TOLERANCE,
    guarded_bounds,
    paired,
)

RULES: tuple[Rule, ...] = get_args(Rule)
SIZES = (6, 10, 20, 50, 100, 200, 500, 2000)
CHURNS = (0.02, 0.05, 0.10, 0.27)
CHANGES = (0.0, -0.01, -0.02, -0.03, -0.05, -0.10)
MAX_DROP = 0.02
SLICE_DROP = 0.05

DATA_SETS = {"clear": 100_000, "observed": 100_000, "significant": 4_000, "non-inferior": 4_000}
QUICK = 20  # times fewer
CHECKED = 2  # data sets of every cell that the product judges again

THIRDS = np.array([-3, -2, -1, 0, 1, 2, 3])
SHARE_OF_SIZES = np.array([0.2 / 3, 0.2 / 3, 0.8 + 0.2 / 3])  # of a change worth 1/3, 2/3, 1
MEAN_SIZE = float(SHARE_OF_SIZES @ (1, 2, 3)) / 3
LENGTH = 2048  # most points of a transform: the sums of 2,000 differences spread over far fewer

Counts: TypeAlias = NDArray[np.int64]
"""Questions by difference, shape (data sets, 7), in the order of `THIRDS`."""
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]


# --- data sets ------------------------------------------------------------------------------------------------------


def losses_and_gains(churn: float, change: float) -> tuple[float, float]:
    """Shares of the questions that lose and that gain, for a true mean change (at most 0)."""
    net = -change / MEAN_SIZE
    changed = max(churn, net)
    return (changed + net) / 2, (changed - net) / 2


@lru_cache(maxsize=1)
def draw(n: int, churn: float, change: float, data_sets: int) -> Counts:
    """Data sets of a cell, shape (data_sets, 7); the seed is the cell."""
    lost, gained = losses_and_gains(churn, change)
    shares = np.concatenate((lost * SHARE_OF_SIZES[::-1], [1 - lost - gained], gained * SHARE_OF_SIZES))
    seed = (41, n, round(churn * 1000), round(-change * 1000))
    return np.random.default_rng(seed).multinomial(n, shares / shares.sum(), size=data_sets)


# --- what the rules look at -----------------------------------------------------------------------------------------


def points(n: int) -> int:
    """Points of a transform for sums of n differences."""
    return int(min(1 << (6 * n).bit_length(), LENGTH))


def spread(transform: NDArray[Any], centre: Counts, length: int) -> Floats:
    """Probabilities of the sums within length / 2 of `centre` (m,), from their transform: shape (m, length)."""
    places = centre[:, None] + np.arange(-length // 2, length // 2)
    return np.take_along_axis(np.fft.irfft(transform, length), places % length, axis=1)


def bootstrap_ends(counts: Counts, tail: float) -> tuple[Floats, Floats]:
    """Means that cut off `tail` of all resamples below and above."""
    n, totals = int(counts[0].sum()), counts @ THIRDS
    length = points(n)
    one = np.zeros((len(counts), length))
    one[:, THIRDS % length] = counts / n
    below = np.cumsum(spread(np.fft.rfft(one) ** n, totals, length), axis=1)
    least = (below < tail - 1e-12).sum(axis=1)
    most = (below <= 1 - tail + 1e-12).sum(axis=1)
    first = totals - length // 2
    return (first + least) / (3 * n), (first + np.minimum(most, length - 1)) / (3 * n)


def sign_flip_p(counts: Counts) -> Floats:
    """Two-sided p over all sign vectors: their transform is a product of cosines, one for each changed question."""
    length = points(int(counts[0].sum()))
    sizes = (counts[:, 4:] + counts[:, 2::-1]).astype(float)
    waves = np.cos(2 * np.pi * np.outer((1, 2, 3), np.arange(length // 2 + 1)) / length)
    turned = (sizes @ (waves < 0)) % 2
    transform = np.exp(sizes @ np.log(np.abs(waves))) * (1 - 2 * turned)
    sums = spread(transform, np.zeros(len(counts), dtype=np.int64), length)
    extreme = np.abs(np.arange(-length // 2, length // 2)) >= np.abs(counts @ THIRDS)[:, None]
    return np.where(extreme, sums, 0.0).sum(axis=1)


def judge(
    rule: Rule, counts: Counts, allowed: float = MAX_DROP, factor: float = CLEAR
) -> tuple[Flags, Flags]:
    """Which data sets are red and which green; the others are yellow."""
    n = int(counts[0].sum())
    totals, squares = -(counts @ THIRDS) / 3, counts @ (THIRDS**2) / 9
    larger = np.asarray(above(totals, n, allowed))
    if rule == "observed":
        return larger, ~larger
    if rule == "clear":
        return larger & is_clear(totals, squares, factor), ~larger
    distinct, back = np.unique(counts, axis=0, return_inverse=True)
    by_interval = significant if rule == "significant" else non_inferior
    parts = [by_interval(distinct[at : at + 256], allowed) for at in range(0, len(distinct), 256)]
    red, green = (np.concatenate(flags)[back.reshape(-1)] for flags in zip(*parts, strict=True))
    return red, green


def significant(counts: Counts, allowed: float) -> tuple[Flags, Flags]:
    larger = np.asarray(above(-(counts @ THIRDS) / 3, int(counts[0].sum()), allowed))
    red = larger.copy()
    if larger.any():
        _, high = bootstrap_ends(counts[larger], 0.025)
        red[larger] = (high < -TOLERANCE) & (sign_flip_p(counts[larger]) < SIGNIFICANT)
    return red, ~larger


def non_inferior(counts: Counts, allowed: float) -> tuple[Flags, Flags]:
    guard = np.array([1, 0, 0, 0, 0, 0, 1])
    low, high = bootstrap_ends(counts + guard, 0.05)
    quiet = counts[:, 3] == counts.sum(axis=1)
    return (high < -allowed - TOLERANCE) & ~quiet, (low >= -allowed - TOLERANCE) | quiet


def shares(rule: Rule, counts: Counts, allowed: float = MAX_DROP, factor: float = CLEAR) -> list[float]:
    """Red, yellow and green, to four decimals."""
    red, green = (float(flags.mean()) for flags in judge(rule, counts, allowed, factor))
    return [round(red, 4), round(abs(1 - red - green), 4), round(green, 4)]


# --- the product, on a few of them ----------------------------------------------------------------------------------


def product_states(counts: Counts) -> dict[Rule, State]:
    """The product's own word on one data set, shape (7,), by each rule."""
    d = np.repeat(THIRDS, counts) / 3
    before, after = np.maximum(-d, 0.0), np.maximum(d, 0.0)
    stats, bounds = paired(before, after), guarded_bounds(after - before)
    drop = Drop(known_before=before, known_after=after, unknown_before=np.zeros(0))
    return {
        rule: decide(
            rule,
            drop,
            MAX_DROP,
            is_slice=False,
            ci=(stats.ci.low, stats.ci.high),
            p=stats.p,
            p_adjusted=None,
            bounds=(bounds.low, bounds.high),
            small=False,
        ).state
        for rule in RULES
    }


def disagreements() -> dict[Rule, int]:
    """How often the product says otherwise, by rule, over `CHECKED` data sets of every cell."""
    found = dict.fromkeys(RULES, 0)
    for cell in cells():
        counts = draw(*cell, CHECKED)
        judged = {rule: judge(rule, counts) for rule in RULES}
        for at, row in enumerate(counts):
            for rule, state in product_states(row).items():
                red, green = (flags[at] for flags in judged[rule])
                found[rule] += state != ("fail" if red else "pass" if green else "inconclusive")
    return found


# --- the table ------------------------------------------------------------------------------------------------------


def cells() -> Iterator[tuple[int, float, float]]:
    return ((n, churn, change) for n in SIZES for churn in CHURNS for change in CHANGES)


def one_cell(rule: Rule, n: int, churn: float, change: float, fewer: int = 1) -> list[float]:
    """Red, yellow and green of one cell."""
    counts = draw(n, churn, change, max(DATA_SETS.values()) // fewer)
    return shares(rule, counts[: DATA_SETS[rule] // fewer])


def table(fewer: int = 1) -> dict[str, Any]:
    """Everything that the docs state: rule -> size -> churn -> change -> [red, yellow, green]."""
    found: dict[str, Any] = {rule: {} for rule in RULES}
    for n, churn, change in cells():
        for rule in RULES:
            part = found[rule].setdefault(str(n), {}).setdefault(str(churn), {})
            part[str(change)] = one_cell(rule, n, churn, change, fewer)
    return {
        "max_drop": MAX_DROP,
        "data_sets": {rule: number // fewer for rule, number in DATA_SETS.items()},
        "rules": found,
        "slices": slices(fewer),
    }


SLICES = (20, 24, 27, 31, 35, 38, 42, 45, 49, 53, 56, 60)


def slices(fewer: int = 1) -> dict[str, Any]:
    """What gates on slices say, 5 points allowed each; `any_…`: at least one of twelve, in a harmless pull request."""

    def one(rule: Rule, n: int, churn: float, change: float) -> list[float]:
        counts = draw(n, churn, change, DATA_SETS[rule] // fewer)
        return shares(rule, counts, SLICE_DROP, CLEAR_ON_SLICE)

    def any_slice(rule: Rule, churn: float, colour: int) -> float:
        return round(1 - math.prod(1 - one(rule, n, churn, 0.0)[colour] for n in SLICES), 4)

    return {
        "max_drop": SLICE_DROP,
        "sizes": SLICES,
        "clear_any_red": {str(churn): any_slice("clear", churn, 0) for churn in CHURNS[1:]},
        "clear_red_at_15_points": {str(n): one("clear", n, 0.0, -0.15)[0] for n in (20, 40, 60)},
        "non_inferior_any_yellow": {
            str(churn): any_slice("non-inferior", churn, 1) for churn in (0.005, 0.01)
        },
        "non_inferior_green": {
            str(n): {str(churn): one("non-inferior", n, churn, 0.0)[2] for churn in CHURNS}
            for n in (40, 80, 150, 250, 600)
        },
    }


# --- the published table --------------------------------------------------------------------------------------------

PUBLISHED: dict[float, dict[Rule, dict[int, tuple[int, ...]]]] = {
    0.0: {
        "observed": {
            6: (13, 22, 37), 20: (28, 36, 43), 50: (18, 27, 38), 100: (14, 23, 33), 200: (8, 16, 27),
            500: (2, 7, 18), 2000: (0, 0, 3),
        },
        "clear": {
            6: (1, 3, 10), 20: (6, 10, 9), 50: (11, 9, 8), 100: (7, 9, 8), 200: (6, 8, 8), 500: (2, 6, 8),
            2000: (0, 0, 3),
        },
        "significant": {
            6: (0, 0, 0), 20: (0, 0, 1), 50: (0, 0, 2), 100: (0, 2, 2), 200: (2, 2, 2), 500: (1, 2, 3),
            2000: (0, 0, 2),
        },
    },
    -0.05: {
        "clear": {20: (30, 31, 19), 50: (76, 47, 26), 100: (92, 67, 37), 200: (98, 88, 54), 500: (100, 99, 84)},
        "significant": {
            20: (0, 0, 2), 50: (6, 9, 8), 100: (48, 34, 16), 200: (97, 67, 31), 500: (100, 97, 65),
        },
    },
}  # fmt: skip
"""Red, in %, at 5, 10 and 27 % churn (a fall of 5 points takes 5.4 %: losses alone)."""


def unlike(found: dict[str, Any], change: float) -> list[str]:
    """Rates at a true change that are not as published, each in words."""
    lines = []
    for rule, sizes in PUBLISHED[change].items():
        for n, row in sizes.items():
            for churn, stated in zip(CHURNS[1:], row, strict=True):
                got = 100 * found["rules"][rule][str(n)][str(churn)][str(change)][0]
                error = 300 * math.sqrt(stated / 100 * (1 - stated / 100) / found["data_sets"][rule])
                if abs(got - stated) > 2.5 + error:
                    where = f"{rule}, n = {n}, churn {churn:.0%}, change {100 * change:.0f}"
                    lines.append(f"{where}: {got:.1f} % red, published {stated} %")
    return lines


# --- what is printed ------------------------------------------------------------------------------------------------


def whole(rule: dict[str, Any]) -> list[str]:
    """One rule as a Markdown table of red/yellow/green: sizes and churn down, true change across."""
    lines = [f"| questions | churn | {' | '.join(map(points_of, CHANGES))} |"]
    lines += ["|" + "---:|" * (2 + len(CHANGES))]
    for n, churns in rule.items():
        for churn, changes in churns.items():
            told = " | ".join("/".join(percent(share) for share in cell) for cell in changes.values())
            lines.append(f"| {int(n):,} | {percent(float(churn))} % | {told} |")
    return lines


def harmless(found: dict[str, Any], colour: int) -> list[str]:
    """Red (0) or yellow (1) where nothing changed in truth, a row for each size, at 5, 10 and 27 % churn."""
    lines = ["| questions | " + " | ".join(f"`{rule}`" for rule in RULES) + " |"]
    lines += ["|" + "---:|" * (1 + len(RULES))]
    for n in SIZES:
        told = [
            "/".join(percent(found["rules"][rule][str(n)][str(churn)]["0.0"][colour]) for churn in CHURNS[1:])
            for rule in RULES
        ]
        lines.append(f"| {n:,} | {' | '.join(told)} |")
    return lines


def caught(found: dict[str, Any], rule: Rule) -> list[str]:
    """Red at true falls of 3, 5 and 10 points: losses alone, and at 10 and 27 % churn."""
    falls, churns = CHANGES[3:], (CHURNS[0], *CHURNS[2:])
    lines = [f"| questions | {' | '.join(f'{points_of(fall)} points' for fall in falls)} |"]
    lines += ["|" + "---:|" * (1 + len(falls))]
    for n in SIZES:
        part = found["rules"][rule][str(n)]
        told = ["/".join(percent(part[str(churn)][str(fall)][0]) for churn in churns) for fall in falls]
        lines.append(f"| {n:,} | {' | '.join(told)} |")
    return lines


def percent(share: float) -> str:
    return f"{100 * share:.0f}"


def points_of(change: float) -> str:
    return f"−{-100 * change:.0f}" if change else "0"


def page_tables(found: dict[str, Any]) -> dict[str, list[str]]:
    """The tables of docs/gates.md, by what they show."""
    tables = {
        f"harmless changes: {colour}": harmless(found, at) for at, colour in enumerate(("red", "yellow"))
    }
    tables |= {f"what {rule} catches": caught(found, rule) for rule in ("clear", "significant")}
    return tables | {f"all of {rule}: red/yellow/green": whole(found["rules"][rule]) for rule in RULES}


def as_json(found: dict[str, Any]) -> str:
    """The table with a line for each cell, so that a changed figure shows in a diff."""
    text = json.dumps(found, indent=1)
    return re.sub(r"\[[^\[\]]*\]", lambda cell: re.sub(r"\s+", " ", cell[0]), text) + "\n"


def main() -> None:
    """Print the tables; end with 1 when the product or the published rates say otherwise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} times fewer data sets")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table to FILE")
    options = parser.parse_args()
    found = table(QUICK if options.quick else 1)
    if options.json:
        options.json.write_text(as_json(found), encoding="utf-8")
    for name, lines in page_tables(found).items():
        print(f"\n{name} (%)\n", *lines, sep="\n")
    print("\nslices", as_json(found["slices"]), sep="\n")
    broken = unlike(found, 0.0)
    print("at -5 points, shown and not held to:", *unlike(found, -0.05), sep="\n  ")
    total = CHECKED * sum(1 for _ in cells())
    for rule, wrong in disagreements().items():
        print(f"{rule}: the product says otherwise on {wrong} of {total} data sets")
        if wrong > (0 if rule in {"clear", "observed"} else 0.02 * total):
            broken.append(f"{rule}: the product and the simulation disagree")
    print("\n".join(broken) or "as published")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
