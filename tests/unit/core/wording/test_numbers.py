from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_action.core.wording import lists, numbers


@pytest.mark.parametrize(
    ("low", "high", "digits"),
    [
        (-0.112, -0.003, 3),
        (-0.31, -0.03, 2),
        (-0.0082, 0.0, 4),
        (0.0, 0.0, 3),
        (-1.0, 1.0, 2),
        (-0.0001, 0.0001, 4),
    ],
)
def test_an_interval_says_how_many_digits_are_worth_showing(low, high, digits):
    assert numbers.decimals(low, high) == digits


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (0.0, 3, "0"),
        (1e-12, 3, "0"),
        (0.0004, 3, "+<0.001"),
        (-0.0004, 3, "−<0.001"),
        (-0.0005, 3, "−0.001"),
        (0.05, 2, "+0.05"),
        (-0.004, 2, "−<0.01"),
    ],
)
def test_a_difference_never_rounds_to_nothing_in_silence(value, digits, shown):
    assert numbers.delta(value, digits) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.525, "0.53"),
        (0.725, "0.73"),
        (-0.225, "−0.23"),
        (0.575 - 0.5, "0.08"),
        (0.425, "0.43"),
        (-0.475, "−0.48"),
        (0.1249999, "0.12"),
        (-0.001, "0.00"),
        (1234.565, "1,234.57"),
        (float("inf"), "inf"),
    ],
)
def test_halves_go_away_from_zero_as_on_paper(value, shown):
    assert numbers.fixed(value, 2) == shown


@given(st.integers(-(10**6), 10**6), st.integers(0, 4))
def test_every_half_is_rounded_alike(whole, digits):
    """Whatever sum of tenths a half comes from, its sign is all that changes."""
    value = (whole + 0.5) / 10**digits
    assert numbers.rounded(value, digits) == -numbers.rounded(-value, digits)
    assert abs(numbers.rounded(value, digits)) >= abs(value) - 1e-12


def test_points_and_differences_agree_on_halves():
    assert numbers.delta(0.575 - 0.5, 2) == "+0.08"
    assert numbers.delta(-0.225, 2) == "−0.23"
    assert numbers.points(0.0225) == "2.3 points"
    assert numbers.share(0.125) == "13 %"


def test_both_ends_of_an_interval_are_signed():
    assert numbers.interval(-0.0314, 0.0004, 2) == "[−0.03, +<0.01]"
    assert numbers.interval(0.0, 0.0125) == "[0, +0.013]"


def test_an_undefined_score_is_a_word():
    assert numbers.score(None) == "not defined"
    assert numbers.score(0.69531) == "0.695"
    assert numbers.score(0.69531, 2) == "0.70"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.058, "5.8 points"), (-0.02, "2.0 points"), (0.0003, "less than 0.1 points"), (0.0, "0.0 points")],
)
def test_points(value, shown):
    assert numbers.points(value) == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(7, "7"), (99, "99"), (101, "110"), (2_431, "2,500"), (12_000, "12,000")]
)
def test_a_size_is_told_with_two_digits_and_never_too_small(count, shown):
    assert numbers.about(count) == shown


@given(st.integers(1, 10**9))
def test_about_is_at_least_the_count_and_at_most_ten_percent_more(count):
    told = int(numbers.about(count).replace(",", ""))
    assert count <= told <= count * 1.1 + 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0 %"), (0.001, "under 1 %"), (0.25, "25 %"), (0.999, "over 99 %"), (1.0, "100 %")],
)
def test_a_share_is_all_or_nothing_only_when_it_is(value, shown):
    assert numbers.share(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.521, "0.52 ms"), (9.96, "10.0 ms"), (99.94, "99.9 ms"), (1234.4, "1,234 ms")]
)
def test_milliseconds(value, shown):
    assert numbers.milliseconds(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (3, "less than a minute"),
        (60, "1 minute"),
        (7199, "1 hour"),
        (7200, "2 hours"),
        (3 * 86400 + 5, "3 days"),
    ],
)
def test_ages(seconds, shown):
    assert numbers.age(seconds) == shown


def test_lists_and_plurals():
    assert lists.listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert lists.listed(["a", "b"], 2) == "a, b"
    assert [lists.both(list("abcd")[:n], 3) for n in (1, 2, 3, 4)] == [
        "a", "a and b", "a, b and c", "a, b, c and 1 more"
    ]  # fmt: skip
    assert lists.queries(1) == "1 query"
    assert lists.queries(2_000) == "2,000 queries"
    assert numbers.ratio(3.0, 2.0) == "1.5 times"
    assert numbers.ratio(3.0, 0.0) == ""
