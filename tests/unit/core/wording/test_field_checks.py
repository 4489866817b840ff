"""Questions after the known name."""

from __future__ import annotations

from rageval_action.core.wording.field_checks import near


def test_the_known_name_that_looks_most_alike_is_asked_for() -> None:
    assert near("recal", ["recall", "mrr"]) == " (did you mean recall?)"


def test_where_none_is_like_it_the_first_are_listed_and_the_others_counted() -> None:
    names = [f"n{number:02}" for number in range(14)]
    assert near("zzz", names[:12]) == f" (there are {', '.join(names[:12])})"
    assert near("zzz", names) == f" (there are {', '.join(names[:12])} and 2 more)"


def test_where_nothing_is_known_nothing_is_asked() -> None:
    assert near("zzz", []) == ""
