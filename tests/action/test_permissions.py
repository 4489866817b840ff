"""Every permission of the README's workflow is needed: without it something named goes missing, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.action.in_process import members_of, run_inside
from tests.action.own_process import MERGE, ROOT, Workspace, pull_request
from tests.fakes.github import BOT, TokenKind
from tests.fakes.github_server import FakeGitHub

WORKFLOW: Path = ROOT / "examples" / "workflows" / "push-and-pr.yml"
GRANTED: dict[str, str] = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["retrieval"]["permissions"]
MISSING = {
    "contents": (3, "cannot_measure", 1),
    "actions": (3, "cannot_measure", 1),
    "pull-requests": (1, "fail", 0),
}


@pytest.mark.parametrize("without", ["", *GRANTED])
def test_each_permission(
    without: str, workspace: Workspace, base: str, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.state.run(1, base)
    github.state.artifact(1, members_of("baseline", base))
    workspace.policy(base)
    rights = {name: right for name, right in GRANTED.items() if name != without}
    github.state.tokens["ghs_exact"] = TokenKind(BOT, app=True, rights={**rights, "metadata": "read"})
    ended = run_inside(workspace, "pull_request", pull_request(base), MERGE, monkeypatch, token="ghs_exact")
    code, verdict, comments = MISSING[without] if without else (1, "fail", 1)
    assert (ended.code, ended.outputs["verdict"], len(github.state.comments)) == (code, verdict, comments), (
        ended.log
    )
    assert ended.members()
    assert set(MISSING) == set(GRANTED)
