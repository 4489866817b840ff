"""The sticky comment: found, updated, never stolen, never spoofed, never doubled."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rageval_action.core.wording.limits import SENT_COMMENT_BYTES
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.comment import (
    ACTIONS_BOT,
    Marker,
    Posted,
    own_login,
    parse_marker,
    post_comment,
)
from rageval_action.github.runner import Token
from tests.fakes.github_server import PERSON_TOKEN, READ_TOKEN, FakeGitHub

SHA = "a" * 40


def marker(run: int = 500, attempt: int = 1, evaluation: str = "default", sha: str = SHA) -> Marker:
    return Marker(run=run, attempt=attempt, id=evaluation, sha=sha)


def post(api: Api, made: Marker, text: str = "result", login: str = ACTIONS_BOT) -> Posted:
    return post_comment(api, 7, made, text, login)


def bodies(github: FakeGitHub) -> list[str]:
    return [comment["body"] for _, comment in sorted(github.state.comments.items())]


def test_created_then_updated(github: FakeGitHub, api: Api) -> None:
    first = post(api, marker(), "one")
    second = post(api, marker(501), "two")
    assert (first.outcome, second.outcome) == ("created", "updated")
    assert bodies(github) == [marker(501).line() + "\ntwo"]
    assert second.url


def test_one_that_was_deleted_meanwhile_is_made_anew(github: FakeGitHub, api: Api) -> None:
    old = post(api, marker(), "one")
    github.always = lambda name: (name.startswith("PATCH") and github.state.comments.clear()) or ""
    made = post(api, marker(501), "two")
    assert (old.outcome, made.outcome) == ("created", "created")
    assert bodies(github) == [marker(501).line() + "\ntwo"]


def test_ours_is_found_on_a_late_page(github: FakeGitHub, api: Api) -> None:
    for number in range(130):
        github.state.comment(7, "dev", f"chat {number}")
    github.state.comment(7, ACTIONS_BOT, marker().line() + "\nold")
    for number in range(130):
        github.state.comment(7, "dev", f"more {number}")
    assert post(api, marker(501)).outcome == "updated"
    assert len(github.state.comments) == 261


@pytest.mark.parametrize("newer", [marker(501), marker(500, 2)], ids=["a newer run", "a newer attempt"])
def test_a_newer_comment_is_never_overwritten(newer: Marker, github: FakeGitHub, api: Api) -> None:
    post(api, newer, "new")
    kept = post(api, marker(), "old")
    assert kept.outcome == "kept"
    assert bodies(github) == [newer.line() + "\nnew"]


def test_two_steps_with_one_id_are_told(github: FakeGitHub, api: Api) -> None:
    assert not post(api, marker()).shared
    assert post(api, marker()).shared


def test_evaluations_do_not_touch_each_other(github: FakeGitHub, api: Api) -> None:
    post(api, marker(evaluation="en"), "english")
    post(api, marker(evaluation="zh"), "chinese")
    post(api, marker(501, evaluation="en"), "english 2")
    assert bodies(github) == [
        marker(501, evaluation="en").line() + "\nenglish 2",
        marker(evaluation="zh").line() + "\nchinese",
    ]


SPOOFS = {
    "another author": ("mallory", marker(9**9).line() + "\nfake"),
    "another bot": ("evil-app[bot]", marker(9**9).line() + "\nfake"),
    "not the first line": (ACTIONS_BOT, "see\n" + marker(9**9).line()),
    "inside a line": (ACTIONS_BOT, "x " + marker(9**9).line()),
    "something after it": (ACTIONS_BOT, marker(9**9).line() + " x\nfake"),
}


@pytest.mark.parametrize("case", sorted(SPOOFS))
def test_a_spoofed_marker_neither_blocks_nor_is_touched(case: str, github: FakeGitHub, api: Api) -> None:
    login, body = SPOOFS[case]
    spoof = github.state.comment(7, login, body)
    assert post(api, marker()).outcome == "created"
    assert github.state.comments[spoof]["body"] == body
    assert post(api, marker(501)).outcome == "updated"
    assert github.state.comments[spoof]["body"] == body


def test_extra_copies_are_removed(github: FakeGitHub, api: Api) -> None:
    for run in (1, 2, 3):
        github.state.comment(7, ACTIONS_BOT, marker(run).line())
    github.state.comment(7, "mallory", marker(4).line())
    made = post(api, marker(501), "now")
    assert made.removed == 2
    assert bodies(github) == [marker(501).line() + "\nnow", marker(4).line()]


def test_two_jobs_that_create_at_once_end_with_one(
    github: FakeGitHub, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = api.send
    rivals = [marker(502)]

    def send(method: str, *args: object) -> object:
        if method == "POST" and rivals:
            github.state.comment(7, ACTIONS_BOT, rivals.pop().line() + "\nrival")
        return real(method, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(api, "send", send)
    assert post(api, marker(501)).outcome == "created"
    assert bodies(github) == [marker(502).line() + "\nrival"]


@pytest.mark.parametrize("arrived", [True, False])
def test_a_post_of_unknown_fate_is_looked_for_first(
    arrived: bool, github: FakeGitHub, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = api.send
    failing = [True]

    def send(method: str, *args: object) -> object:
        if method == "POST" and failing.pop() if failing else False:
            if arrived:
                real(method, *args)  # type: ignore[arg-type]
            raise ApiError("outage", "lost", delivered=True)
        return real(method, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(api, "send", send)
    post(api, marker(), "once")
    assert bodies(github) == [marker().line() + "\nonce"]


def test_an_app_with_an_unknown_name_learns_it(github: FakeGitHub, api: Api) -> None:
    """With another app's token the old comment is not recognised; the new one tells the name, the old one goes."""
    github.state.comment(7, ACTIONS_BOT, marker(1).line() + "\nold")
    made = post(api, marker(), login="somebody-else[bot]")
    assert (made.outcome, made.removed) == ("created", 1)
    assert len(github.state.comments) == 1


def test_long_comments_are_cut_on_a_line_in_bytes(github: FakeGitHub, api: Api) -> None:
    post(api, marker(), "| 語語語語 |\n" * 9_000)
    body = bodies(github)[0]
    assert len(body.encode()) <= SENT_COMMENT_BYTES
    assert set(body.splitlines()[1:-3]) == {"| 語語語語 |"}
    assert "job summary" in body


def test_a_read_only_token_is_final(github: FakeGitHub, make_api: Callable[..., Api]) -> None:
    with pytest.raises(ApiError) as error:
        post(make_api(READ_TOKEN), marker())
    assert error.value.failure == "forbidden"
    assert github.log.count("POST /repos/acme/docs/issues/7/comments") == 1


def test_who_we_are(github: FakeGitHub, make_api: Callable[..., Api]) -> None:
    assert own_login(make_api(), Token("ghs_full"), "") == ACTIONS_BOT
    assert own_login(make_api(), Token("ghs_full"), "my-app[bot]") == "my-app[bot]"
    assert own_login(make_api(PERSON_TOKEN), Token(PERSON_TOKEN), "") == "robot-person"
    assert github.log == ["GET /user"]


def test_markers_parse_back() -> None:
    assert parse_marker(marker().line() + "\r\nbody") == marker()
    assert parse_marker("") is None
    assert parse_marker("<!-- rageval id=x run=1 attempt=1 sha=zz -->") is None
