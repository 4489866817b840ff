"""What is read at the base commit: its exam, its policy, its code; and that a missing baseline is no first run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rageval_action.config import Config
from rageval_action.core.model.record import RunRecord
from tests.action import in_process as inside
from tests.action.in_process import members_of, record_of, run_inside
from tests.action.own_process import EXAMPLES, MERGE, Workspace, pull_request
from tests.fakes.github import WORKFLOW
from tests.fakes.github_server import FakeGitHub

STRICT = (EXAMPLES / "rageval.yml").read_bytes()
GOLDEN = (EXAMPLES / "golden.jsonl").read_bytes()
OPEN = b"golden: golden.jsonl\ngates: []\n"
CODE = (
    "golden: golden.jsonl\nretriever: {name: python, function: 'search:find'}\n"
    "gates: [{measure: recall@5, max_drop: 0.02, rule: observed}]\n"
)


def workflow(**given: str) -> bytes:
    """A workflow file with one step of this action."""
    return json.dumps(
        {"jobs": {"retrieval": {"steps": [{"uses": "org/rag-eval-action@v1", "with": given}]}}}
    ).encode()


class Asked:
    """What was evaluated: configuration, commit, the bytes of the golden set and the folder at that time."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.runs: list[tuple[Config, str, bytes, Path]] = []
        patch.setattr(inside, "_canned", self)

    def __call__(self, config: Config, sha: str) -> RunRecord:
        self.runs.append((config, sha, Path(config.golden).read_bytes(), Path.cwd()))
        return record_of(Path(config.snapshot).name, sha)


def judge(workspace: Workspace, base: str, patch: pytest.MonkeyPatch, **given: Any):
    return run_inside(workspace, "pull_request", pull_request(base), MERGE, patch, **given)


def test_the_bases_snapshot_is_asked_as_the_base_asks(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(base, STRICT + b"depth: 77\nunit: document\n")
    shorter = b"\n".join(GOLDEN.splitlines()[:10]) + b"\n"
    (workspace.checkout / "golden.jsonl").write_bytes(shorter)
    (workspace.checkout / "rageval.yml").write_bytes(OPEN)
    asked = Asked(monkeypatch)
    ended = judge(workspace, base, monkeypatch, **{"baseline-snapshot": "baseline", "k": "1"})
    (theirs, sha, golden, _), (ours, head, own, _) = asked.runs
    assert (sha, golden, theirs.depth, theirs.unit, theirs.k) == (base, GOLDEN, 77, "document", 5)
    assert (head, own, ours.k) == (MERGE, shorter, 5)
    assert (ended.outputs["baseline-sha"], ended.outputs["baseline-rung"]) == (base, "snapshot")
    assert Path(ended.workspace, ended.outputs["record-path"]).exists()
    assert "rageval-base-" not in ended.summary


def test_the_bases_workflow_names_its_inputs(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head that renames golden set and configuration in its own workflow does not lose the base's."""
    github.state.files |= {
        (base, WORKFLOW): workflow(
            config="eval/strict.yml", golden="eval/old.jsonl", snapshot="${{ inputs.it }}"
        ),
        (
            base,
            "eval/strict.yml",
        ): b"gates: [{measure: recall@5, max_drop: 0.0, rule: observed}]\ndepth: 66\n",
        (base, "eval/old.jsonl"): GOLDEN,
        (base, "rageval.yml"): OPEN,
        (base, "golden.jsonl"): b"{}\n",
    }
    (workspace.checkout / "rageval.yml").write_bytes(OPEN)
    asked = Asked(monkeypatch)
    ended = judge(workspace, base, monkeypatch, **{"baseline-snapshot": "baseline"})
    theirs, _, golden, _ = asked.runs[0]
    assert (golden, theirs.depth, ended.code) == (GOLDEN, 66, 1)
    assert "removes the gate" in ended.summary


def test_code_that_ranks_needs_the_bases_checkout(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace.checkout / "rageval.yml").write_text(CODE)
    (workspace.checkout / "search.py").write_text("from helper import order\n")
    (workspace.checkout / "helper.py").write_text("order = 'reversed'\n")
    workspace.policy(base, CODE.encode())
    github.state.files |= {
        (base, "search.py"): b"from helper import order\n",
        (base, "helper.py"): b"order = 'straight'\n",
    }
    asked = Asked(monkeypatch)
    ended = judge(workspace, base, monkeypatch, **{"baseline-snapshot": "baseline"})
    assert (ended.code, ended.outputs["verdict"], len(asked.runs)) == (3, "cannot_measure", 1)
    assert "helper.py ranks and differs" in ended.log
    github.state.files[base, "helper.py"] = b"order = 'reversed'\n"
    assert judge(workspace, base, monkeypatch, **{"baseline-snapshot": "baseline"}).code == 1


def test_the_bases_checkout_is_believed_by_its_commit(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.policy(base)
    root = workspace.checkout / "base"
    (root / ".git").mkdir(parents=True)
    (root / "golden.jsonl").write_bytes(GOLDEN)
    given = {"baseline-snapshot": "baseline", "baseline-root": "base"}
    asked = Asked(monkeypatch)
    for head, verdict in ((MERGE, "cannot_measure"), ("", "cannot_measure"), (base, "fail")):
        (root / ".git" / "HEAD").write_text(head + "\n")
        ended = judge(workspace, base, monkeypatch, **given)
        assert ended.outputs["verdict"] == verdict, ended.log
    config, sha, _, folder = asked.runs[-2]
    assert (sha, folder, Path(config.snapshot).is_absolute()) == (base, root, True)


def test_the_golden_set_at_the_base_commit_beside_an_older_baseline(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rageval_action import pipeline

    older = github.state.commits[base]["parents"][0]["sha"]
    github.state.run(1, older)
    github.state.artifact(1, members_of("baseline", older))
    rows = [json.loads(line) for line in GOLDEN.splitlines()]
    workspace.policy(base)
    changed = [rows[1] | {"query": "something else"}, *rows[2:]]
    (workspace.checkout / "golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    handed = []
    really = pipeline.conclude
    monkeypatch.setattr(
        pipeline, "conclude", lambda *a, **given: handed.append(given["base_commit"]) or really(*a, **given)
    )
    judge(workspace, base, monkeypatch)
    assert len(handed[0].asks) == len(rows)
    assert handed[0].unchanged == {row["id"] for row in rows[2:]}
    github.state.files[base, "golden.jsonl"] = b"{"
    judge(workspace, base, monkeypatch)
    github.state.artifact(1, members_of("baseline", base))
    assert handed[1] is None


CHANGED: dict[str, dict[str, Any]] = {
    "expired": {"inputs": {}, "says": "expired"},
    "another id": {"inputs": {"id": "new"}, "says": "keep the name"},
    "another artifact": {"inputs": {"artifact-name": "new"}, "says": "keep the name"},
}


@pytest.mark.parametrize("case", sorted(CHANGED))
@pytest.mark.parametrize("left", ["golden.jsonl", "rageval.yml"])
def test_a_lost_baseline_is_no_first_run(
    case: str,
    left: str,
    workspace: Workspace,
    base: str,
    github: FakeGitHub,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base), expired=case == "expired")
    github.state.files |= {
        (base, left): (EXAMPLES / left).read_bytes(),
        (base, WORKFLOW): workflow(golden="golden.jsonl"),
    }
    ended = judge(workspace, base, monkeypatch, **CHANGED[case]["inputs"])
    assert (ended.code, ended.outputs["verdict"]) == (0, "inconclusive")
    assert CHANGED[case]["says"] in ended.log
    del github.state.files[base, left]
    assert judge(workspace, base, monkeypatch, **CHANGED[case]["inputs"]).outputs["verdict"] == "no_baseline"


def test_a_change_of_policy_is_told_one_by_one_and_waivers_first(
    workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base))
    workspace.policy(base)
    gates = "".join(f"  - {{measure: recall@{n}, min: 0.{n:02d}}}\n" for n in range(10, 40))
    waiver = (
        "waivers:\n  - {measure: recall@5, max_drop: 0.9, until: 2099-01-01, owner: me, reason: because}\n"
    )
    (workspace.checkout / "rageval.yml").write_text(f"golden: golden.jsonl\ngates:\n{gates}{waiver}")
    ended = judge(workspace, base, monkeypatch)
    told = json.loads(ended.members()["comparison.json"])["warnings"]
    changes = [note["text"] for note in told if note["code"] == "policy.changed"]
    assert "recall@5 may drop by 90.0 points until 2099-01-01; me: because" in changes[0]
    assert len(changes) > 30
    assert ended.code == 1
