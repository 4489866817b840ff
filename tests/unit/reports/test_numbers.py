"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from rageval_action.reports import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.000"), (1.0, "1.000"), (0.12345, "0.123"), (0.9996, "1.000"), (None, "not defined")],
)
def test_score(value: float | None, text: str) -> None:
    assert numbers.score(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1e-9, "0"),
        (-1e-9, "0"),
        (2e-9, "+<0.001"),
        (-2e-9, "−<0.001"),
        (0.000499, "+<0.001"),
        (0.0005, "+0.001"),
        (-0.03, "−0.030"),
        (1.0, "+1.000"),
        (-1.0, "−1.000"),
    ],
)
def test_delta(value: float, text: str) -> None:
    assert numbers.delta(value) == text


def test_interval() -> None:
    assert numbers.interval(-0.06, 0.01) == "[−0.060, +0.010]"
    assert numbers.interval(0.0, 0.0) == "[0, 0]"


def test_points_and_share() -> None:
    assert numbers.points(-0.0234) == "2.3 points"
    assert numbers.points(1.0) == "100.0 points"
    assert (numbers.share(0.0), numbers.share(0.505), numbers.share(1.0)) == ("0 %", "50 %", "100 %")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.04, "0.0 ms"), (3.14, "3.1 ms"), (99.94, "99.9 ms"), (100.0, "100 ms"), (1234.5, "1234 ms")],
)
def test_milliseconds(value: float, text: str) -> None:
    assert numbers.milliseconds(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5.0, "less than a minute"),
        (0.0, "less than a minute"),
        (59.9, "less than a minute"),
        (60.0, "1 minute"),
        (119.0, "1 minute"),
        (120.0, "2 minutes"),
        (3600.0, "1 hour"),
        (86399.0, "23 hours"),
        (86400.0, "1 day"),
        (864000.0, "10 days"),
    ],
)
def test_age(seconds: float, text: str) -> None:
    assert numbers.age(seconds) == text


def test_plural() -> None:
    assert [numbers.plural(count, "hit") for count in (0, 1, 2, 1234)] == [
        "0 hits",
        "1 hit",
        "2 hits",
        "1,234 hits",
    ]
    assert [numbers.plural(count, "query", "queries") for count in (1, 2)] == ["1 query", "2 queries"]


def test_no_rounding_turns_a_difference_into_none() -> None:
    assert all(numbers.delta(math.copysign(10.0**-power, -1)) != "0" for power in range(1, 9))
