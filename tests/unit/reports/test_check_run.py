"""A check run's texts: plain, short, on lines that exist."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rageval_action.core.wording.limits import COMMENT_BYTES, TITLE_CHARACTERS
from rageval_action.reports.check_run import MESSAGE, check
from rageval_action.reports.comment_and_summary import comment
from rageval_action.reports.view import ALL, view
from tests.unit.reports.situations import NASTY
from tests.unit.reports.test_hostile import MANY, ROWS


@pytest.fixture
def base(situation):
    told = situation("fail-drop")
    return view(told.document, told.after.record, before=told.before.record, most=ALL)


def spoilt(base, text):
    row = replace(base.lost[0], id=text, query=text, item=text, explanation=text, by=(text, text))
    return replace(base, sentence=text, lost=(row,))


@pytest.mark.parametrize("text", [*NASTY, "a\nb\x1b[31m\u202e", "字" * 9000])
def test_titles_and_messages_are_plain_and_short(text, base):
    made = check(spoilt(base, text))
    (remark,) = made.remarks
    for title in (made.title, remark.title):
        assert 0 < len(title) <= TITLE_CHARACTERS
        assert title.isprintable()
    assert len(remark.message) <= MESSAGE
    assert len(remark.message.split("\n")) <= 3
    assert remark.message.replace("\n", "").isprintable()


def test_the_summary_has_the_limit_of_a_check_run(base):
    many = replace(base, **{name: (row,) * MANY for name, row in ROWS.items()})
    assert len(comment(many, limit=10**9).encode()) > COMMENT_BYTES
    assert 0 < len(check(many).summary.encode()) <= COMMENT_BYTES


def test_remarks_are_on_lines_that_exist_and_not_too_many(base):
    assert len(check(replace(base, lost=base.lost[:1] * 900)).remarks) == 500
    assert len(check(replace(base, lost=base.lost[:1] * 9), most=3).remarks) == 3
    rows = (replace(base.lost[0], line=0), base.lost[0])
    assert len(check(replace(base, lost=rows)).remarks) == 1
    assert check(replace(base, golden_path="")).remarks == ()
