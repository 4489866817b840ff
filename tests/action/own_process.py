"""A workspace, a fake GitHub and a runner's environment: the whole Action as a process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.github import REPOSITORY, REPOSITORY_ID, WORKFLOW
from tests.fakes.github_runner import commands, runner_reads
from tests.fakes.github_server import TOKEN, FakeGitHub
from tests.small_project import CHILD_PATH

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Ended:
    """How one run of the Action ended."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str
    workspace: Path

    @property
    def commands(self) -> list[str]:
        return commands(self.log)

    def members(self) -> dict[str, bytes]:
        """The record it left."""
        return {
            path.name: path.read_bytes() for path in (self.workspace / self.outputs["record-path"]).iterdir()
        }


@dataclass
class Workspace:
    """A checkout with the example project and the files that a runner hands over."""

    home: Path
    github: FakeGitHub
    snapshot: str = "candidate"
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.checkout = self.home / "workspace"
        if not self.checkout.exists():
            self.checkout.mkdir(parents=True)
            for name in ("golden.jsonl", "rageval.yml", "baseline", "candidate"):
                source = EXAMPLES / name
                (shutil.copytree if source.is_dir() else shutil.copy)(source, self.checkout / name)  # type: ignore[operator]

    def policy(self, sha: str, data: bytes | None = None) -> None:
        """The policy and the golden set as they stand on the base branch."""
        self.github.state.files[sha, "golden.jsonl"] = (EXAMPLES / "golden.jsonl").read_bytes()
        self.github.state.files[sha, "rageval.yml"] = (
            data if data is not None else (EXAMPLES / "rageval.yml").read_bytes()
        )

    def run(
        self, event: str, payload: dict[str, Any], sha: str, ref: str = "refs/pull/7/merge", **inputs: str
    ) -> Ended:
        number = len(list(self.home.glob("event-*.json")))
        files = {name: self.home / f"{name}-{number}" for name in ("output", "summary")}
        event_path = self.home / f"event-{number}.json"
        event_path.write_text(json.dumps(payload))
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_REPOSITORY_ID": str(REPOSITORY_ID),
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(event_path),
            "GITHUB_SHA": sha,
            "GITHUB_REF": ref,
            "GITHUB_RUN_ID": "500",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_ACTOR": "dev",
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/{WORKFLOW}@{ref}",
            "GITHUB_WORKSPACE": str(self.checkout),
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            "INPUT_TOKEN": TOKEN,
            "INPUT_SNAPSHOT": self.snapshot,
            "INPUT_NETWORK-BUDGET": "20",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        environ |= {f"INPUT_{name.upper().replace('_', '-')}": value for name, value in inputs.items()}
        environ |= self.environ
        done = subprocess.run(
            [sys.executable, str(ROOT / "entrypoint.py")],
            cwd=self.checkout,
            env={**environ, "PYTHONPATH": CHILD_PATH},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        output = files["output"].read_text("utf-8") if files["output"].exists() else ""
        return Ended(
            code=done.returncode,
            log=done.stdout + done.stderr,
            outputs=runner_reads(output) if output else {},
            summary=files["summary"].read_text("utf-8") if files["summary"].exists() else "",
            workspace=self.checkout,
        )


HEAD, MERGE = "a" * 40, "f" * 40


def pull_request(base_sha: str, **given: Any) -> dict[str, Any]:
    """The event of a pull request from a branch of the repository."""
    request: dict[str, Any] = {
        "number": 7,
        "state": "open",
        "draft": False,
        "user": {"login": "dev", "id": 1, "type": "User"},
        "head": {"sha": HEAD, "ref": "topic", "repo": {"id": REPOSITORY_ID}},
        "base": {"sha": base_sha, "ref": "main", "repo": {"id": REPOSITORY_ID}},
    }
    return {
        "action": given.pop("action", "synchronize"),
        "pull_request": request | given,
        "repository": {"id": REPOSITORY_ID, "default_branch": "main"},
        "sender": {"login": "dev"},
    }
