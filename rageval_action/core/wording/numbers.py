"""Numbers as people read them. The only place where anything is rounded."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

MINUS, PLUS = "\u2212", "+"

DIGITS = 3
"""Decimals of a score that stands alone: what papers and trec_eval users compare."""


NOISE = 12
"""Decimals behind which a binary fraction is only noise: 0.725 is stored as 0.72499999999999998."""

LARGEST = 1e12
"""From this size on there are no decimals to round."""


def fixed(value: float, digits: int = DIGITS) -> str:
    """So many decimals, halves away from zero as on paper; thousands are separated. `charts.js` does the same."""
    if not abs(value) < LARGEST:
        return f"{value:,.{digits}f}"
    size = Decimal(repr(round(abs(value), NOISE))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{MINUS if value < 0 and size else ''}{size:,f}"


def rounded(value: float, digits: int) -> float:
    """The number that `fixed` shows."""
    return float(fixed(value, digits).replace(MINUS, "-").replace(",", ""))


def decimals(low: float, high: float) -> int:
    """Decimals that an interval justifies: its half-width keeps two significant digits, within 2 to 4 decimals.

    This is how measurements are reported elsewhere (JCGM 100:2008, §7.2.6); an interval of no width says nothing
    about precision, so the usual three decimals stand.
    """
    half = high / 2 - low / 2
    if not 1e-9 < half < 10:
        return DIGITS
    return min(max(1 - math.floor(math.log10(half)), 2), 4)


def score(value: float | None, digits: int = DIGITS) -> str:
    """A score between 0 and 1."""
    return "not defined" if value is None else fixed(value, digits)


def delta(value: float, digits: int = DIGITS) -> str:
    """A signed difference; a difference that rounds to nothing but is not nothing says so."""
    if abs(value) <= 1e-9:
        return "0"
    sign = PLUS if value > 0 else MINUS
    smallest = 10.0**-digits
    return (
        f"{sign}{fixed(abs(value), digits)}"
        if abs(value) >= smallest / 2 - 1e-12
        else f"{sign}<{smallest:.{digits}f}"
    )


def interval(low: float, high: float, digits: int = DIGITS) -> str:
    """Both ends of an interval, signed."""
    return f"[{delta(low, digits)}, {delta(high, digits)}]"


def points(value: float) -> str:
    """A size in points (one point is 0.01), without sign; `0.1 points`, `1.0 points`."""
    size = abs(100 * value)
    return f"{fixed(size, 1)} points" if size >= 0.05 - 1e-12 or size <= 1e-7 else "less than 0.1 points"


def about(count: int) -> str:
    """A count of which only the size is known: two significant digits."""
    if count < 100:
        return str(count)
    step = 10 ** (len(str(count)) - 2)
    return f"{-(-count // step) * step:,}"


def share(value: float) -> str:
    """A share as a percentage; what is not all and not nothing is never shown as 100 % or 0 %."""
    if 0 < value < 0.005:
        return "under 1 %"
    if 0.995 <= value < 1:
        return "over 99 %"
    return f"{fixed(100 * value, 0)} %"


def milliseconds(value: float) -> str:
    """A duration with the digits that a clock justifies."""
    return f"{fixed(value, 2 if value < 1 else 1 if value < 100 else 0)} ms"


def ratio(after: float, before: float) -> str:
    """How many times as much: `1.4 times`; empty when there is nothing to divide by."""
    return f"{fixed(after / before, 1)} times" if before > 0 else ""


def age(seconds: float) -> str:
    """A span of time in its largest whole unit."""
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' if count != 1 else ''}"
    return "less than a minute"
