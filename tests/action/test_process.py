"""The whole Action as a process: environment and event file in; log, files, requests and exit code out."""

from __future__ import annotations

import json

import pytest

from tests.action.own_process import HEAD, MERGE, Ended, Workspace, pull_request
from tests.fakes.github import FORK_ID
from tests.fakes.github_results import FakeResults
from tests.fakes.github_server import READ_TOKEN, FakeGitHub


def push(workspace: Workspace, sha: str, **inputs: str) -> Ended:
    workspace.snapshot = "baseline"
    return workspace.run("push", {"ref": "refs/heads/main"}, sha, "refs/heads/main", **inputs)


def test_push_records_then_a_pull_request_fails_then_is_accepted(
    workspace: Workspace, base: str, github: FakeGitHub
) -> None:
    recorded = push(workspace, base)
    assert recorded.code == 0, recorded.log
    assert github.log == []
    assert recorded.outputs["record-path"] == "rageval-out/default/record"
    github.state.run(1, base)
    github.state.artifact(1, recorded.members())
    workspace.policy(base)
    workspace.snapshot = "candidate"

    failed = workspace.run("pull_request", pull_request(base), MERGE)
    assert failed.code == 1, failed.log
    assert failed.outputs["verdict"] == "fail"
    assert (failed.outputs["baseline-sha"], failed.outputs["baseline-rung"]) == (base, "exact")
    assert float(failed.outputs["primary-delta"]) < -0.02
    assert "Retrieval got worse" in failed.summary
    (comment,) = github.state.comments.values()
    assert comment["body"].startswith("<!-- rageval id=default run=500 attempt=1 ")
    assert "/rageval accept" in comment["body"]
    assert f"/blob/{HEAD}/golden.jsonl#L" in comment["body"]
    assert any(line.startswith("::error ") for line in failed.commands)
    assert (workspace.checkout / failed.outputs["comment-path"]).read_text() in comment["body"]

    github.state.permissions["ana"] = "write"
    github.state.review(7, "ana", "/rageval accept new chunker, labels follow", HEAD)
    accepted = workspace.run("pull_request_review", pull_request(base, action="submitted"), MERGE)
    assert accepted.code == 0, accepted.log
    assert accepted.outputs["verdict"] == "overridden"
    assert len(github.state.comments) == 1
    (comment,) = github.state.comments.values()
    assert "Accepted by ana" in comment["body"]
    assert "new chunker, labels follow" in comment["body"]
    kept = json.loads((workspace.checkout / accepted.outputs["record-path"] / "comparison.json").read_bytes())
    assert kept["overridden"]["reason"] == "new chunker, labels follow"


def test_a_fork_is_measured_and_gated_but_not_written_to(
    workspace: Workspace, base: str, github: FakeGitHub
) -> None:
    payload = pull_request(base, head={"sha": HEAD, "ref": "main", "repo": {"id": FORK_ID}})
    ended = workspace.run("pull_request", payload, MERGE, token=READ_TOKEN)
    assert (ended.code, ended.outputs["verdict"]) == (0, "no_baseline"), ended.log
    assert github.state.comments == {}
    assert not any(name.startswith(("POST", "PATCH")) for name in github.log)
    assert ended.outputs["record-path"]
    assert any("fork" in line for line in ended.commands)


def test_dependabot_with_a_read_only_token_ends_calmly(
    workspace: Workspace, base: str, github: FakeGitHub
) -> None:
    workspace.environ["GITHUB_ACTOR"] = "dependabot[bot]"
    ended = workspace.run("pull_request", pull_request(base), MERGE, token=READ_TOKEN)
    assert ended.code == 0, ended.log
    assert any(line.startswith("::notice") and "not accessible" in line for line in ended.commands)
    assert "pull-requests: write" in ended.log


@pytest.mark.parametrize(
    ("event", "payload", "ref"),
    [
        ("push", {"ref": "refs/tags/v1"}, "refs/tags/v1"),
        ("pull_request", pull_request("b" * 40, action="closed", state="closed"), "refs/pull/7/merge"),
        ("release", {"action": "published"}, "refs/tags/v1"),
    ],
)
def test_events_with_nothing_to_do(
    event: str, payload: dict[str, object], ref: str, workspace: Workspace
) -> None:
    ended = workspace.run(event, payload, MERGE, ref)
    assert (ended.code, ended.outputs) == (0, {"verdict": "skipped", "exit-code": "0"}), ended.log


def test_bad_input_is_told_everywhere_with_its_line(
    workspace: Workspace, base: str, github: FakeGitHub
) -> None:
    golden = workspace.checkout / "golden.jsonl"
    golden.write_text(golden.read_text() + '{"id": "x", "query": "@octocat | `x`"\n')
    ended = workspace.run("pull_request", pull_request(base), MERGE)
    assert (ended.code, ended.outputs["verdict"]) == (2, "error"), ended.log
    (error,) = [line for line in ended.commands if line.startswith("::error ")]
    assert "file=golden.jsonl,line=" in error
    assert "was not measured" in ended.summary
    (comment,) = github.state.comments.values()
    assert "was not measured" in comment["body"]


def test_refused_events_and_missing_environment(workspace: Workspace) -> None:
    ended = workspace.run("pull_request_target", pull_request("b" * 40), MERGE)
    assert ended.code == 2
    assert "pull_request_target is refused" in ended.log
    workspace.environ["GITHUB_REPOSITORY_ID"] = ""
    assert workspace.run("push", {"ref": "refs/heads/main"}, MERGE).code == 2


def test_upload_from_inside_and_both_spellings_of_inputs(workspace: Workspace, base: str) -> None:
    with FakeResults() as results:
        workspace.environ |= {
            "ACTIONS_RESULTS_URL": results.url,
            "ACTIONS_RUNTIME_TOKEN": results.token,
            "INPUT_UPLOAD_ARTIFACT": "true",
            "INPUT_ARTIFACT_NAME": "kept",
        }
        ended = push(workspace, base, id="en")
        assert ended.code == 0, ended.log
        assert ended.outputs["artifact-name"] == "kept"
        assert list(results.artifacts) == ["kept"]
        results.refuse = 403
        refused = push(workspace, base, id="zh", artifact_name="other")
        assert refused.code == 4
        assert "could not be published" in refused.log
        assert results.broken == []


def test_two_runs_keep_apart_what_they_leave(workspace: Workspace, base: str) -> None:
    first, second = push(workspace, base), push(workspace, base)
    assert first.outputs["record-path"] != second.outputs["record-path"]
    assert first.members().keys() == second.members().keys()


def test_results_are_not_written_through_a_planted_link(workspace: Workspace, base: str) -> None:
    outside = workspace.home / "outside"
    outside.mkdir()
    (workspace.checkout / "rageval-out").symlink_to(outside)
    ended = push(workspace, base)
    assert (ended.code, ended.outputs["record-path"]) == (4, "")
    assert "symbolic link" in ended.log
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "way",
    [
        "golden link",
        "golden path",
        "golden role",
        "configuration link",
        "snapshot link",
        "snapshot place",
        "snapshot option",
        "run file",
    ],
)
def test_nothing_outside_the_workspace_is_read(workspace: Workspace, base: str, way: str) -> None:
    secret = workspace.home / "secret"
    secret.write_text('{"id": "s3cr3t", "query": "s3cr3t"}\n')
    kept, written = workspace.checkout, ""
    if way == "golden link":
        (kept / "golden.jsonl").unlink()
        (kept / "golden.jsonl").symlink_to(secret)
    elif way == "golden path":
        written = f"golden: {secret}\n"
    elif way == "golden role":
        written = f"golden: queries=golden.jsonl,qrels={secret}\n"
    elif way == "snapshot place":
        workspace.snapshot = f"parquet:{secret}"
    elif way == "snapshot option":
        workspace.snapshot = f"vectors:golden.jsonl?chunks={secret}"
    elif way == "configuration link":
        (kept / "rageval.yml").unlink()
        (kept / "rageval.yml").symlink_to(secret)
    elif way == "snapshot link":
        (kept / "candidate").rename(workspace.home / "elsewhere")
        (kept / "candidate").symlink_to(workspace.home / "elsewhere")
    else:
        written = f"golden: golden.jsonl\nretriever:\n  name: run-file\n  file: {secret}\n"
    if written:
        (kept / "rageval.yml").write_text(written)
    ended = workspace.run("pull_request", pull_request(base), MERGE)
    assert ended.code == 2, ended.log
    assert "leads out of the workspace" in ended.log
    assert "s3cr3t" not in ended.log + ended.summary


def test_what_an_earlier_step_left_in_the_temporary_folder_is_read(workspace: Workspace, base: str) -> None:
    workspace.environ["RUNNER_TEMP"] = str(workspace.home)
    (workspace.checkout / "golden.jsonl").rename(workspace.home / "golden.jsonl")
    ended = push(workspace, base, golden=str(workspace.home / "golden.jsonl"))
    assert ended.code == 0, ended.log


def test_no_credential_shows_anywhere(workspace: Workspace, base: str, github: FakeGitHub) -> None:
    """Token in the log, in the environment left in /proc, in outputs, summary and record: nowhere."""
    workspace.environ["ACTIONS_RUNTIME_TOKEN"] = "runtime-" + "s3cr3t"
    github.state.tokens["ghs_s3cr3t"] = github.state.tokens["ghs_full"]
    ended = workspace.run("pull_request", pull_request(base), MERGE, token="ghs_s3cr3t")
    masks = [line for line in ended.log.splitlines() if line.startswith("::add-mask::")]
    assert sorted(masks) == ["::add-mask::ghs_s3cr3t", "::add-mask::runtime-s3cr3t"]
    rest = "\n".join(line for line in ended.log.splitlines() if not line.startswith("::add-mask::"))
    everything = rest + ended.summary + str(ended.outputs) + str(ended.members())
    assert "s3cr3t" not in everything


def test_nothing_in_the_checkout_is_imported(workspace: Workspace, base: str) -> None:
    """The checkout is the working directory: modules planted in it must not shadow ours or the library's."""
    trap = "open('trapped', 'w').close()\nraise SystemExit(0)\n"
    for name in ("json.py", "click.py", "numpy.py", "sitecustomize.py", "usercustomize.py", "encodings_x.py"):
        (workspace.checkout / name).write_text(trap)
    for folder in ("rageval_action", "requests", "msgspec"):
        (workspace.checkout / folder).mkdir()
        (workspace.checkout / folder / "__init__.py").write_text(trap)
    ended = push(workspace, base)
    assert (ended.code, ended.outputs["verdict"]) == (0, "no_baseline"), ended.log
    assert not (workspace.checkout / "trapped").exists()
