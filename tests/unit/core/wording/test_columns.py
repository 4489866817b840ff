"""Columns of text stand in line, whatever the script."""

from __future__ import annotations

import pytest

from rageval_action.core.wording.columns import in_line, width


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("請假", 4),
        ("ｶﾅ", 2),
        ("カナ", 4),
        ("휴가", 4),
        ("e\u0301", 1),
        ("“a”", 3),
        ("Ａ", 2),
    ],
)
def test_wide_characters_take_two_columns_and_combining_ones_none(text, columns):
    assert width(text) == columns


def test_cells_stand_in_line():
    rows = [["id", "n", "text"], ["請假", "7", "x"], ["e\u0301", "1,200", "y"]]
    assert list(in_line(rows, right={1})) == ["id        n  text", "請假      7  x", "e\u0301     1,200  y"]


def test_nothing_is_left_behind_the_last_cell():
    assert list(in_line([["a", "long"], ["b", ""]])) == ["a  long", "b"]
