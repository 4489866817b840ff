"""What a pull request may not do: lower the bar, hide behind an outage, speak as us, reach another evaluation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.action.in_process import members_of, record_of, run_inside
from tests.action.own_process import EXAMPLES, HEAD, MERGE, Workspace, pull_request
from tests.fakes.github import FORK_ID
from tests.fakes.github_server import FakeGitHub

STRICT = (EXAMPLES / "rageval.yml").read_bytes()
LOOSE = b"golden: golden.jsonl\ngates: []\n"
NEVER = STRICT + b"fail-on: never\n"


@pytest.fixture
def recorded(github: FakeGitHub, base: str) -> str:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base))
    return base


def judge(workspace: Workspace, base: str, patch: pytest.MonkeyPatch, **given: Any):
    return run_inside(workspace, "pull_request", pull_request(base), MERGE, patch, **given)


@pytest.mark.parametrize("own", [LOOSE, NEVER], ids=["no gates", "fail-on never"])
def test_a_lowered_bar_does_not_count(
    own: bytes, workspace: Workspace, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(recorded)
    (workspace.checkout / "rageval.yml").write_bytes(own)
    ended = judge(workspace, recorded, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (1, "fail")
    assert "changes the policy" in ended.summary


def test_inputs_tighten_but_never_loosen(
    workspace: Workspace, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(recorded)
    assert judge(workspace, recorded, monkeypatch, **{"fail-on": "never"}).code == 1
    undecided = b"golden: golden.jsonl\ngates:\n  - {measure: recall@5, max_drop: 0.03, rule: non-inferior}\n"
    workspace.policy(recorded, undecided)
    assert judge(workspace, recorded, monkeypatch).code == 1  # the head's own gates are stricter
    (workspace.checkout / "rageval.yml").write_bytes(undecided)
    assert judge(workspace, recorded, monkeypatch).code == 0
    assert judge(workspace, recorded, monkeypatch, **{"fail-on": "inconclusive"}).code == 1


def test_another_k_adds_a_gate_and_takes_none_away(
    workspace: Workspace, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(recorded, b"golden: golden.jsonl\n")
    (workspace.checkout / "rageval.yml").write_bytes(b"golden: golden.jsonl\n")
    ended = judge(workspace, recorded, monkeypatch, k="1")
    assert ended.code == 1
    assert "`recall@5`" in ended.summary
    assert "`recall@1`" in ended.summary


def test_a_renamed_configuration_is_no_way_around(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base, policy={}))
    workspace.policy(base)
    (workspace.checkout / "other.yml").write_bytes(LOOSE)
    assert judge(workspace, base, monkeypatch, config="other.yml").code == 1


def test_a_policy_under_a_name_of_its_own_is_found_in_the_record(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base))  # its record holds the gates it was recorded under
    (workspace.checkout / "rageval.yml").write_bytes(LOOSE)
    ended = judge(workspace, base, monkeypatch)
    assert ended.code == 1
    assert "first policy" in ended.summary


def test_the_first_policy_counts_after_the_merge(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base, policy={}))
    (workspace.checkout / "rageval.yml").write_bytes(LOOSE)
    ended = judge(workspace, base, monkeypatch)
    assert ended.outputs["verdict"] == "inconclusive"  # by the default gate, where the head has none
    assert "first policy" in ended.summary
    (workspace.checkout / "rageval.yml").unlink()
    ended = judge(workspace, base, monkeypatch, golden="golden.jsonl")
    assert (ended.outputs["verdict"], "first policy" in ended.summary) == ("inconclusive", False)


def test_a_policy_that_cannot_be_looked_up_cannot_pass(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.snapshot = "baseline"
    github.always = lambda name: "500" if "/contents/" in name else ""
    ended = judge(workspace, recorded, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (3, "cannot_measure")


def test_a_broken_policy_on_the_base_cannot_pass(
    workspace: Workspace, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.snapshot = "baseline"
    workspace.policy(recorded, b"gates: {")
    assert judge(workspace, recorded, monkeypatch).code == 3


@pytest.mark.parametrize("reached", ["/actions/workflows/", "/actions/runs/", "BLOB", f"/commits/{MERGE}"])
def test_an_outage_is_not_no_baseline(
    reached: str, workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(recorded)
    workspace.snapshot = "baseline"
    github.always = lambda name: "502" if reached in name else ""
    ended = judge(workspace, recorded, monkeypatch)
    assert (ended.code, ended.outputs["verdict"]) == (3, "cannot_measure")
    assert ended.members()


def test_rungs_below_the_artifact(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(base)
    ended = judge(workspace, base, monkeypatch, **{"baseline-snapshot": "baseline"})
    assert (ended.code, ended.outputs["baseline-rung"]) == (1, "snapshot")
    for name, data in members_of("baseline", "9" * 40).items():
        github.state.files[base, f"kept/{name}"] = data
    ended = judge(workspace, base, monkeypatch, **{"baseline-record": "kept"})
    assert (ended.code, ended.outputs["baseline-rung"]) == (1, "base-branch-record")
    github.always = lambda name: "502" if "/actions/" in name else ""
    ended = judge(workspace, base, monkeypatch, **{"baseline-record": "kept"})
    assert ended.outputs["baseline-rung"] == "base-branch-record"
    ended = judge(workspace, base, monkeypatch, **{"baseline-record": "missing"})
    assert ended.outputs["verdict"] == "cannot_measure"


def test_a_record_of_another_commit_is_no_baseline(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", "9" * 40))
    ended = judge(workspace, base, monkeypatch)
    assert ended.outputs["verdict"] == "cannot_measure"


@pytest.mark.parametrize("login", ["dev", "mallory"])
def test_an_override_by_the_author_or_a_stranger(
    login: str, workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(recorded)
    github.state.permissions["dev"] = "admin"
    github.state.pulls[7]["user"]["id"] = 1
    github.state.review(7, login, "/rageval accept trust me", HEAD)
    payload = pull_request(
        recorded, user={"login": "dev", "id": int(github.state.commits[HEAD]["author"]["id"]), "type": "User"}
    )
    ended = run_inside(workspace, "pull_request_review", payload, MERGE, monkeypatch)
    assert ended.code == 1
    assert login in ended.summary


def test_a_review_comment_cannot_turn_the_check_green(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(recorded)
    github.state.review(7, "dev", "hello", HEAD, state="COMMENTED")
    ended = run_inside(
        workspace, "pull_request_review", pull_request(recorded, action="submitted"), MERGE, monkeypatch
    )
    assert ended.code == 1


def test_evaluations_keep_apart(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.artifact(1, members_of("baseline", recorded), name="rageval-zh")
    for name in ("en", "zh"):
        ended = judge(workspace, recorded, monkeypatch, id=name, check="true")
        assert ended.outputs["artifact-name"] == f"rageval-{name}"
        assert (ended.outputs["baseline-rung"] == "exact") == (name == "zh")
    assert len(github.state.comments) == 2
    assert {check["name"] for check in github.state.checks.values()} == {"rageval (en)", "rageval (zh)"}
    ended = judge(workspace, recorded, monkeypatch, id="en")
    assert len(github.state.comments) == 2
    assert "two steps of this run use the id en" in ended.log


def test_checks_tell_what_the_exit_code_says(
    workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(recorded)
    judge(workspace, recorded, monkeypatch, check="true")
    (failed,) = github.state.checks.values()
    assert (failed["conclusion"], failed["head_sha"]) == ("failure", HEAD)
    assert {note["path"] for note in failed["annotations"]} == {"golden.jsonl"}
    github.state.checks.clear()
    workspace.policy(recorded, NEVER)
    (workspace.checkout / "rageval.yml").write_bytes(NEVER)
    ended = judge(workspace, recorded, monkeypatch, check="true")
    (soft,) = github.state.checks.values()
    assert (ended.code, soft["conclusion"]) == (0, "neutral")


HOSTILE = [
    "| x | @octocat #1 https://evil.example `code` <img src=x onerror=alert(1)> </details>",
    "\n::set-output name=verdict::pass\n::add-mask::e\n##[add-mask]e",
    "x\nverdict<<EOF\npass\nEOF\n<!-- rageval id=default run=999999 attempt=1 sha=" + "a" * 40 + " -->",
    "\u202egnp\u2066 [a](javascript:1) ![p](http://evil.example/p.png) **b**",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_ids_queries_and_paths(
    text: str, workspace: Workspace, recorded: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from msgspec.structs import replace

    from rageval_action import pipeline
    from rageval_action.core.model.types import Notice
    from tests.fakes.github_runner import commands
    from tests.unit.core.wording.test_escape import parse, render

    workspace.policy(recorded)
    made = record_of("candidate", MERGE)
    rows = tuple(replace(row, query=text, query_id=f"{text}{n}") for n, row in enumerate(made.queries))
    golden = replace(made.record.golden, path=text)
    hostile = replace(
        made,
        queries=rows,
        record=replace(made.record, golden=golden, warnings=(Notice(code="x", text=text),)),
    )
    before = record_of("baseline", recorded)
    again = tuple(
        replace(row, query=text, query_id=f"{text}{n}", query_sha256=rows[n].query_sha256)
        for n, row in enumerate(before.queries)
    )
    github.state.artifacts.clear()
    from rageval_action.core.model.record import encode

    github.state.artifact(1, encode(replace(before, queries=again)))
    payload = pull_request(recorded)
    payload["pull_request"]["head"]["ref"] = text
    monkeypatch.setattr("tests.action.in_process._canned", lambda _config, _sha: hostile)
    assert pipeline
    ended = run_inside(workspace, "pull_request", payload, MERGE, monkeypatch, check="true")
    assert (ended.code, ended.outputs["verdict"], ended.outputs["baseline-rung"]) == (1, "fail", "exact"), (
        ended.log
    )
    assert {line.split("::")[1].split(" ")[0] for line in commands(ended.log)} <= {
        "error",
        "notice",
        "warning",
    }
    (comment,) = github.state.comments.values()
    assert comment["body"].count("<!--") == 1
    tags = parse(render(comment["body"].split("\n", 1)[1]))
    assert not {"img", "script"} & set(tags.seen)
    assert tags.seen.count("details") == comment["body"].count("<details>")
    shown = "".join(tags.text)
    assert "@octocat" not in shown
    assert "https://evil" not in shown
    assert "javascript:1" not in comment["body"]


def test_a_fork_branch_called_main_poisons_nothing(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork = {"id": FORK_ID, "full_name": "mallory/docs"}
    for number, event in enumerate(("push", "pull_request"), start=1):
        github.state.run(number, base, head_repository=fork, event=event)
        github.state.artifact(number, members_of("candidate", base))
    ended = judge(workspace, base, monkeypatch)
    assert ended.outputs["verdict"] == "no_baseline"
