"""Every event has a defined outcome, on payloads of our own and on GitHub's example payloads."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rageval_action.errors import ConfigError
from rageval_action.github.event import NoPullRequest, PullRequest, RunPlan, plan_run, read_payload
from rageval_action.github.webhook_types import Payload
from tests.fakes.github_runner import runner_for
from tests.fakes.npm import npm_package

HEAD, BASE = "a" * 40, "b" * 40


def decide(event: str, payload: dict[str, Any], **runner: Any) -> RunPlan:
    decoded = msgspec.json.decode(json.dumps(payload).encode(), type=Payload)
    return plan_run(runner_for("http://127.0.0.1", event_name=event, **runner), decoded)


def pull_request(**given: Any) -> dict[str, Any]:
    request = {
        "number": 7,
        "state": "open",
        "draft": False,
        "user": {"login": "dev", "id": 1, "type": "User"},
        "head": {"sha": HEAD, "ref": "topic", "repo": {"id": 4242}},
        "base": {"sha": BASE, "ref": "main", "repo": {"id": 4242}},
        "labels": [{"name": "unknown fields are fine"}],
    }
    return {
        "action": given.pop("action", "synchronize"),
        "pull_request": request | given,
        "repository": {"id": 4242, "default_branch": "main"},
        "sender": {"login": "dev"},
    }


def test_a_pull_request_of_this_repository() -> None:
    made = decide("pull_request", pull_request(), sha="c" * 40)
    assert (made.mode, made.code, made.writing, made.comment) == (
        "evaluate",
        "pull_request",
        "expected",
        True,
    )
    assert (made.tested_sha, made.report_sha, made.base_ref) == ("c" * 40, HEAD, "main")
    assert isinstance(made.pull_request, PullRequest)
    assert made.pull_request.number == 7


@pytest.mark.parametrize("repo", [{"id": 9999, "full_name": "mallory/docs"}, None])
def test_a_fork_is_known_by_id_and_never_written_to(repo: dict[str, Any] | None) -> None:
    head = {"sha": HEAD, "ref": "main", "repo": repo}
    made = decide("pull_request", pull_request(head=head))
    assert (made.mode, made.code, made.writing, made.comment) == (
        "evaluate",
        "pull_request.fork",
        "never",
        False,
    )


def test_dependabot_draft_and_other_base() -> None:
    made = decide("pull_request", pull_request(), actor="dependabot[bot]")
    assert (made.mode, made.code, made.writing, made.comment) == (
        "evaluate",
        "pull_request.dependabot",
        "unlikely",
        True,
    )
    made = decide("pull_request", pull_request(draft=True))
    assert (made.mode, made.code, made.comment) == ("evaluate", "pull_request.draft", True)
    base = {"sha": BASE, "ref": "release/2", "repo": {"id": 4242}}
    made = decide("pull_request", pull_request(base=base))
    assert (made.mode, made.code, made.base_ref) == ("evaluate", "pull_request.other-base", "release/2")


def test_only_a_closed_pull_request_is_skipped() -> None:
    assert decide("pull_request", pull_request(action="closed", state="closed")).code == "pull_request.closed"
    for action in ("labeled", "edited", "review_requested", "unlocked", "something_new"):
        assert decide("pull_request", pull_request(action=action)).mode == "evaluate"


@pytest.mark.parametrize("action", ["submitted", "dismissed", "edited"])
def test_any_review_measures_again_so_that_none_can_turn_a_red_check_green(action: str) -> None:
    payload = pull_request(action=action) | {"review": {"state": "commented", "body": "nice"}}
    made = decide("pull_request_review", payload)
    assert (made.mode, made.code, made.report_sha) == ("evaluate", "pull_request_review", HEAD)


def test_pushes() -> None:
    made = decide("push", {"ref": "refs/heads/main"}, sha=BASE)
    assert (made.mode, made.base_ref, made.tested_sha, made.comment) == ("record", "main", BASE, False)
    assert decide("push", {"ref": "refs/heads/release/2"}).base_ref == "release/2"
    assert decide("push", {"ref": "refs/tags/v1"}).code == "push.tag"
    assert decide("push", {"ref": "refs/heads/x", "deleted": True}).code == "push.deleted"
    assert decide("push", {"ref": "refs/heads/gh-readonly-queue/main/pr-1-x"}).code == "push.queue"
    with pytest.raises(ConfigError):
        decide("push", {"ref": "strange"})


def test_a_merge_group_is_gated_without_a_comment() -> None:
    group = {"head_sha": HEAD, "base_sha": BASE, "base_ref": "refs/heads/main", "head_ref": "refs/heads/q"}
    made = decide("merge_group", {"action": "checks_requested", "merge_group": group}, sha=HEAD)
    assert (made.mode, made.base_ref, made.base_sha, made.comment) == ("evaluate", "main", BASE, False)
    assert decide("merge_group", {"action": "destroyed", "merge_group": group}).mode == "skip"


def workflow_run(**given: Any) -> dict[str, Any]:
    run = {
        "id": 99,
        "event": "pull_request",
        "head_sha": HEAD,
        "head_branch": "main",
        "conclusion": "failure",
        "head_repository": {"id": 9999, "owner": {"login": "mallory"}},
        "repository": {"id": 4242},
    }
    return {"action": given.pop("action", "completed"), "workflow_run": run | given}


def test_workflow_run_publishes_also_when_the_gate_failed() -> None:
    for conclusion in ("failure", "success"):
        made = decide("workflow_run", workflow_run(conclusion=conclusion))
        assert (made.mode, made.report_sha, made.comment) == ("publish", HEAD, True)
        assert isinstance(made.pull_request, NoPullRequest)
    assert decide("workflow_run", workflow_run(conclusion="cancelled")).code == "workflow_run.no-result"
    assert decide("workflow_run", workflow_run(event="push")).code == "workflow_run.other-event"
    assert decide("workflow_run", workflow_run(action="requested")).code == "workflow_run.unfinished"


@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch", "repository_dispatch"])
def test_drift(event: str) -> None:
    made = decide(event, {}, ref="refs/heads/main", sha=BASE)
    assert (made.mode, made.base_ref, made.base_sha, made.comment) == ("drift", "main", BASE, False)
    assert decide(event, {}, ref="refs/tags/v1").mode == "skip"


def test_other_events() -> None:
    assert decide("release", {"action": "published"}).code == "event.unsupported"
    with pytest.raises(ConfigError) as error:
        decide("pull_request_target", pull_request())
    assert error.value.code == "action.pull-request-target"


@pytest.mark.parametrize(
    "event", ["pull_request", "pull_request_review", "merge_group", "workflow_run", "push"]
)
def test_a_payload_without_its_subject_is_refused(event: str) -> None:
    with pytest.raises(ConfigError) as error:
        decide(event, {}, ref="")
    assert error.value.code == "action.bad-event"


def test_the_event_file(tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    for data in (b"not json", b"[1]", b'{"action": 3}', b'{"x":' * 5000):
        path.write_bytes(data)
        with pytest.raises(ConfigError) as error:
            read_payload(path)
        assert error.value.code == "action.bad-event"
    with pytest.raises(ConfigError):
        read_payload(tmp_path / "missing")
    path.write_bytes(json.dumps(pull_request()).encode())
    assert read_payload(path).action == "synchronize"


# GitHub's own examples -----------------------------------------------------------------------------------------------


@cache
def examples(event: str) -> list[dict[str, Any]]:
    folder = npm_package("@octokit/webhooks-examples")
    index = json.loads((folder / "api.github.com" / "index.json").read_text("utf-8"))
    return next(entry["examples"] for entry in index if entry["name"] == event)


EXPECTED = {
    "push": {"record", "skip"},
    "pull_request": {"evaluate", "skip"},
    "pull_request_review": {"evaluate"},
    "merge_group": {"evaluate"},
    "workflow_run": {"skip"},
    "workflow_dispatch": {"drift"},
}


@pytest.mark.parametrize("event", sorted(EXPECTED))
def test_github_examples(event: str) -> None:
    made = [decide(event, example, ref="refs/heads/main", sha=BASE) for example in examples(event)]
    assert {one.mode for one in made} == EXPECTED[event]
    for one, example in zip(made, examples(event), strict=True):
        if event == "pull_request":
            assert (one.mode == "skip") == (example["pull_request"]["state"] == "closed")
            assert one.mode == "skip" or one.report_sha == example["pull_request"]["head"]["sha"]
        if event == "push":
            assert (one.code == "push.tag") == example["ref"].startswith(
                "refs/tags/"
            ) or one.code == "push.deleted"
        if event == "merge_group":
            assert one.base_sha == example["merge_group"]["base_sha"]


def test_a_github_workflow_run_of_a_fork() -> None:
    """The published examples are of pushes: the fields of a fork's pull request are put into one."""
    example = copy.deepcopy(next(e for e in examples("workflow_run") if e["action"] == "completed"))
    example["workflow_run"] |= {"event": "pull_request", "conclusion": "failure", "pull_requests": []}
    made = decide("workflow_run", example)
    assert made.mode == "publish"
    assert made.source is not None
    assert made.source.id == example["workflow_run"]["id"]
