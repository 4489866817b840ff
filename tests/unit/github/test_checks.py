"""Check runs and their stand-in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.checks import Annotation, CheckRun, publish_check
from tests.fakes.github import TokenKind
from tests.fakes.github_server import PERSON_TOKEN, READ_TOKEN, FakeGitHub

SHA = "a" * 40


def report(**given: Any) -> CheckRun:
    fields: dict[str, Any] = {
        "name": "rageval (default)",
        "head_sha": SHA,
        "conclusion": "failure",
        "title": "recall@5 dropped",
        "summary": "details",
        "details_url": "https://github.com/acme/docs/actions/runs/1",
    }
    return CheckRun(**(fields | given))


def notes(count: int) -> tuple[Annotation, ...]:
    return tuple(
        Annotation(path="golden.jsonl", line=n + 1, message=f"lost 🔥 {n}", title="lost")
        for n in range(count)
    )


@pytest.mark.parametrize(("count", "requests"), [(0, 2), (1, 2), (50, 2), (51, 3), (120, 4)])
def test_annotations_go_in_batches_and_the_last_completes(
    count: int, requests: int, github: FakeGitHub, api: Api
) -> None:
    shown = publish_check(api, report(annotations=notes(count)))
    (check,) = github.state.checks.values()
    assert (check["status"], check["conclusion"], check["name"], check["head_sha"]) == (
        "completed",
        "failure",
        "rageval (default)",
        SHA,
    )
    assert [note["start_line"] for note in check["annotations"]] == list(range(1, count + 1))
    assert len(github.log) == requests
    assert (shown.surface, shown.annotations) == ("check", count)


def test_annotation_text_is_plain_and_bounded(github: FakeGitHub, api: Api) -> None:
    hostile = Annotation(path="g", line=2, message="🔥" * 5000 + "\u202e", title="t" * 400)
    unusable = Annotation(path="", line=0, message="nowhere")
    publish_check(
        api, report(annotations=(hostile, unusable), title="x\ny" * 300, summary="| 行 |\n" * 20_000)
    )
    (check,) = github.state.checks.values()
    (note,) = check["annotations"]
    assert note["message"].startswith("\\U0001f525")
    assert len(note["message"].encode()) <= 8000
    assert len(note["title"]) <= 255
    assert "\n" not in check["output"]["title"]


@pytest.mark.parametrize("token", [READ_TOKEN, PERSON_TOKEN])
def test_a_refused_check_becomes_a_status(
    token: str, github: FakeGitHub, make_api: Callable[..., Api]
) -> None:
    github.state.tokens[READ_TOKEN] = TokenKind("github-actions[bot]", app=True, rights={"statuses": "write"})
    shown = publish_check(make_api(token), report(title="🔥" * 500))
    assert shown.surface == "status"
    (status,) = github.state.statuses
    assert (status["state"], status["context"], status["sha"]) == ("failure", "rageval (default)", SHA)
    publish_check(make_api(token), report(conclusion="neutral"))
    assert github.state.statuses[1]["state"] == "success"


def test_no_right_at_all(github: FakeGitHub, make_api: Callable[..., Api]) -> None:
    with pytest.raises(ApiError) as error:
        publish_check(make_api(READ_TOKEN), report())
    assert error.value.failure == "forbidden"


def test_a_broken_batch_still_completes_the_check(github: FakeGitHub, api: Api) -> None:
    github.faults = dict.fromkeys(range(1, 5), "500")
    shown = publish_check(api, report(annotations=notes(60)))
    (check,) = github.state.checks.values()
    assert check["status"] == "completed"
    assert shown.annotations == 0
