from __future__ import annotations

from rageval_action.core.wording.lists import both, listed, plural, queries


def test_counts_agree_with_their_noun() -> None:
    assert queries(1) == "1 query"
    assert queries(2) == "2 queries"
    assert plural(0, "chunk") == "0 chunks"
    assert plural(1200, "chunk") == "1,200 chunks"


def test_the_first_names_are_listed_and_the_rest_counted() -> None:
    ids = [f"q{n}" for n in range(12)]
    assert listed(ids[:10]) == "q0, q1, q2, q3, q4, q5, q6, q7, q8, q9"
    assert listed(ids) == "q0, q1, q2, q3, q4, q5, q6, q7, q8, q9 and 2 more"
    assert listed(["a", "b", "c"], most=2) == "a, b and 1 more"
    assert listed(["a", "b"]) == "a, b"


def test_the_last_of_a_few_names_is_joined_by_and() -> None:
    assert both(["a"], 3) == "a"
    assert both(["a", "b"], 3) == "a and b"
    assert both(["a", "b", "c"], 3) == "a, b and c"
    assert both(["a", "b", "c", "d"], 2) == "a, b and 2 more"
