"""Numbers as people read them. The only place where anything is rounded."""

from __future__ import annotations

MINUS, PLUS = "\u2212", "+"


def score(value: float | None) -> str:
    """A score with three decimals, the digits that papers and trec_eval users compare."""
    return "not defined" if value is None else f"{value:.3f}"


def delta(value: float) -> str:
    """A signed difference; a difference that rounds to nothing but is not nothing says so."""
    if abs(value) <= 1e-9:
        return "0"
    sign = PLUS if value > 0 else MINUS
    return f"{sign}{abs(value):.3f}" if abs(value) >= 0.0005 else f"{sign}<0.001"


def interval(low: float, high: float) -> str:
    """Both ends of an interval, signed."""
    return f"[{delta(low)}, {delta(high)}]"


def points(value: float) -> str:
    """A size in points (one point is 0.01), without sign."""
    return f"{abs(100 * value):.1f} points"


def share(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.0f} %"


def milliseconds(value: float) -> str:
    """A duration with the digits that a clock justifies."""
    return f"{value:.1f} ms" if value < 100 else f"{value:.0f} ms"


def age(seconds: float) -> str:
    """A span of time in its largest whole unit."""
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' if count != 1 else ''}"
    return "less than a minute"


def plural(count: int, one: str, many: str = "") -> str:
    """`1 query`, `2 queries`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
