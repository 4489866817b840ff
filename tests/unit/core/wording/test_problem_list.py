"""Problems are collected, told in one message and counted where there are many."""

from __future__ import annotations

import pytest

from rageval_action.core.wording.problem_list import SHOWN, Problems
from rageval_action.errors import GoldenError, SnapshotError


def test_without_a_problem_nothing_happens() -> None:
    problems = Problems(GoldenError)
    problems.raise_if_any()
    assert len(problems) == 0


def test_the_first_gives_code_and_place_and_the_others_stand_below() -> None:
    problems = Problems(GoldenError)
    problems.add("golden.bad-row", "g.jsonl:3", "no query.")
    problems.add("golden.other", "g.jsonl:9", "no id.")
    with pytest.raises(GoldenError) as caught:
        problems.raise_if_any()
    assert (caught.value.code, caught.value.where) == ("golden.bad-row", "g.jsonl:3")
    assert caught.value.message == "no query.\ng.jsonl:9: no id."


def test_many_are_counted() -> None:
    problems, others = Problems(SnapshotError), Problems(SnapshotError)
    problems.add("snapshot.a", "a", "one.")
    for number in range(SHOWN + 5):
        others.add("snapshot.b", f"b:{number}", "two.")
    problems.extend(others)
    assert len(problems) == SHOWN + 6
    with pytest.raises(SnapshotError) as caught:
        problems.raise_if_any()
    lines = caught.value.message.split("\n")
    assert len(lines) == SHOWN + 1
    assert lines[-1] == f"… and 6 more problems ({SHOWN + 6} in all)."


def test_what_another_function_raised_keeps_its_way_out() -> None:
    problems = Problems(SnapshotError)
    problems.add_error(SnapshotError("snapshot.x", "broken.", hint="Mend it.", where="w"))
    with pytest.raises(SnapshotError, match=r"broken\. Mend it\.") as caught:
        problems.raise_if_any()
    assert (caught.value.code, caught.value.where) == ("snapshot.x", "w")
