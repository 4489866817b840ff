from __future__ import annotations

import pytest

from rageval_action.core.model.listed_order import Trends, trend


@pytest.mark.parametrize(
    ("scores", "ranks", "found"),
    [
        ([], None, ("level", "list")),
        ([3], None, ("level", "list")),
        ([2, 2], None, ("level", "list")),
        ([3, 2, 2], None, ("falling", "list")),
        ([1, 1, 2], None, ("rising", "list")),
        ([1, 3, 2], None, ("mixed", "list")),
        ([1, 3, 2], [3, 1, 2], ("falling", "rank")),
        ([3, 2, 1], [3, 2, 1], ("rising", "rank")),
        ([1, 3, 2], [1, 1, 2], ("mixed", "rank")),
        ([2, 3, 1], [1, 1, 2], ("falling", "rank")),
        ([2, 3, 1], [0, 0, 0], ("mixed", "list")),
    ],
)
def test_how_scores_run(scores: list[float], ranks: list[float] | None, found: tuple[str, str]) -> None:
    assert trend(scores, ranks) == found


def test_level_queries_decide_nothing() -> None:
    trends = Trends()
    for one in ([1.0], [2.0, 2.0], [3.0, 1.0], [1.0, 2.0], [1.0, 2.0, 1.0]):
        trends.add(trend(one))
    assert (trends.decided, trends.count("rising"), trends.count("rising", "mixed")) == (3, 1, 2)
    assert trends.basis == "list"
