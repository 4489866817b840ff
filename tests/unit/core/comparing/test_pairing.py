"""Which question of the base is which question of the candidate."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rageval_action.core.comparing.pairing import QuestionPairs, pair_questions
from rageval_action.core.measuring.record_summary import query_sha256
from rageval_action.core.model.access_names import Asker
from rageval_action.core.model.hashing import question_key
from rageval_action.core.model.record import QueryRow
from rageval_action.core.model.types import Grades


def asked(name: str, text: str, *relevant: str, acl: Asker | None = None) -> QueryRow:
    return QueryRow(
        query_id=name,
        query=text,
        query_sha256=query_sha256(text),
        query_key=question_key(text, acl),
        acl=acl,
        judgments=Grades(dict.fromkeys(relevant or ("a",), 1)),
    )


def paired(before: list[QueryRow], after: list[QueryRow], **more: Any) -> QuestionPairs:
    return pair_questions(before, after, by_asker=more.pop("by_asker", True))


def told(found: QuestionPairs) -> list[tuple[str, str, str]]:
    return [(one.before.query_id, one.after.query_id, one.how) for one in found.pairs]


def test_an_inserted_question_shifts_ids_and_no_pair() -> None:
    before = [asked(str(n), f"question {n}") for n in range(1, 5)]
    after = [asked("1", "inserted"), *(asked(str(n + 1), f"question {n}") for n in range(1, 5))]
    found = paired(before, after)
    assert told(found) == [(str(n), str(n + 1), "same") for n in range(1, 5)]
    assert [row.query_id for row in found.new] == ["1"]
    assert found.removed == ()


def test_the_text_comes_before_the_id() -> None:
    before = [asked("x", "one"), asked("y", "two")]
    after = [asked("x", "two"), asked("y", "one")]
    assert told(paired(before, after)) == [("x", "y", "same"), ("y", "x", "same")]


def test_an_id_with_another_text_is_reworded() -> None:
    found = paired([asked("x", "how to pay")], [asked("x", "how do I pay")])
    assert told(found) == [("x", "x", "reworded")]
    assert found.same == ()


def test_an_id_with_another_asker_is_the_same_text_for_somebody_else() -> None:
    ann, ben = Asker(principal="a" * 16), Asker(principal="b" * 16)
    found = paired([asked("x", "pay", acl=ann)], [asked("x", "pay", acl=ben)])
    assert told(found) == [("x", "x", "asker")]
    assert told(paired([asked("x", "pay", acl=ann)], [asked("x", "pay", acl=ben)], by_asker=False)) == [
        ("x", "x", "same")
    ]


def test_a_blank_or_a_hidden_character_is_found_by_the_folded_text_where_the_labels_agree() -> None:
    for spelled in ("Pay  now ", "pay now", "pa\u200by now"):
        assert told(paired([asked("x", "pay now")], [asked("other", spelled)]))[0][:2] == ("x", "other")
    found = paired([asked("x", "pay now")], [asked("other", "pay now ", "b")])
    assert told(found) == []
    assert [row.query_id for row in found.new] == ["other"]
    assert [row.query_id for row in found.removed] == ["x"]


def test_the_same_text_twice_goes_by_id_then_labels_then_order() -> None:
    before = [asked("p", "pay", "a"), asked("q", "pay", "b"), asked("r", "pay", "c")]
    after = [asked("z", "pay", "c"), asked("q", "pay", "a"), asked("y", "pay", "d")]
    assert told(paired(before, after)) == [("p", "y", "same"), ("q", "q", "same"), ("r", "z", "same")]


def test_an_older_record_without_keys_pairs_by_text_and_id() -> None:
    old = QueryRow(query_id="x", query_sha256=query_sha256("pay"), judgments=Grades({"a": 1}))
    assert told(paired([old], [asked("n", "pay")], by_asker=False)) == [("x", "n", "same")]


TEXTS = st.sampled_from(["one", "two", "One ", "three"])
ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), TEXTS, st.sampled_from("xy")), max_size=5, unique_by=lambda r: r[0]
)


@given(ROWS, ROWS)
def test_every_question_has_at_most_one_partner_and_none_is_lost(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]]
) -> None:
    found = paired([asked(*row) for row in before], [asked(*row) for row in after])
    left = [one.before.query_id for one in found.pairs] + [row.query_id for row in found.removed]
    right = [one.after.query_id for one in found.pairs] + [row.query_id for row in found.new]
    assert sorted(left) == sorted(name for name, _, _ in before)
    assert sorted(right) == sorted(name for name, _, _ in after)
    texts = dict.fromkeys(text for _, text, _ in after)
    alone = {row.query for row in found.removed}
    assert not any(text in alone and text in {row.query for row in found.new} for text in texts)
