"""Running the built images: shaped as GitHub's runner does it, and as `uses: ./` inside act."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.action.in_process import members_of  # noqa: E402
from tests.action.own_process import HEAD, MERGE, pull_request  # noqa: E402
from tests.fakes.github import REPOSITORY, REPOSITORY_ID, WORKFLOW  # noqa: E402
from tests.fakes.github_runner import runner_reads  # noqa: E402
from tests.fakes.github_server import TOKEN, FakeGitHub  # noqa: E402

if TYPE_CHECKING:
    from tools.image.image_test import Engine

START_TO_COMMENT = 5.0
"""Seconds from the step's start to its comment, beside the start of the container itself."""


class Runner:
    """The folders that a runner mounts into a container action, and one checkout."""

    def __init__(self, home: Path, github: FakeGitHub) -> None:
        self.home = home
        self.github = github
        for name in ("home", "workflow", "file_commands", "runner_temp", "workspace"):
            (home / name).mkdir()
        for name in ("golden.jsonl", "rageval.yml", "baseline", "candidate"):
            source = ROOT / "examples" / name
            target = home / "workspace" / name
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        for path in (home / "workspace", *(home / "workspace").rglob("*")):
            os.chown(path, 1001, 1001)  # the checkout is the runner's, not root's

    def command(self, image: str, event: str, payload: dict[str, Any], sha: str, snapshot: str) -> list[str]:
        """The command line, as the runner writes it."""
        (self.home / "workflow" / "event.json").write_text(json.dumps(payload))
        for name in ("output", "summary"):
            (self.home / "file_commands" / name).write_text("")
        ref = "refs/heads/main" if event == "push" else "refs/pull/7/merge"
        environ = {
            "HOME": "/github/home",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_REPOSITORY_ID": str(REPOSITORY_ID),
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": "/github/workflow/event.json",
            "GITHUB_SHA": sha,
            "GITHUB_REF": ref,
            "GITHUB_RUN_ID": "500",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/{WORKFLOW}@{ref}",
            "GITHUB_WORKSPACE": "/github/workspace",
            "GITHUB_OUTPUT": "/github/file_commands/output",
            "GITHUB_STEP_SUMMARY": "/github/file_commands/summary",
            "RUNNER_TEMP": "/github/runner_temp",
            "INPUT_TOKEN": TOKEN,
            "INPUT_SNAPSHOT": snapshot,
            "INPUT_NETWORK-BUDGET": "30",
        }
        words = ["podman", "run", "--rm", "--workdir", "/github/workspace"]
        for name, value in environ.items():
            words += ["-e", f"{name}={value}"]
        for name in ("home", "workflow", "file_commands", "runner_temp", "workspace"):
            words += ["-v", f"{self.home / name}:/github/{name}"]
        return [*words, image]

    def outputs(self) -> dict[str, str]:
        """What the step wrote, read as the runner does."""
        return runner_reads((self.home / "file_commands" / "output").read_text("utf-8"))


@contextmanager
def fake_world() -> Iterator[tuple[FakeGitHub, str]]:
    """A GitHub with a pull request on a short main branch; fails when anything was asked of it that is not allowed."""
    with FakeGitHub() as github:
        chain = github.state.chain(3)
        github.state.commit(HEAD, chain[-2], author="dev")
        github.state.commit(MERGE, chain[-1], HEAD)
        github.state.pull(7, HEAD, chain[-1], merge_commit_sha=MERGE)
        github.state.files[chain[-1], "rageval.yml"] = (ROOT / "examples" / "rageval.yml").read_bytes()
        yield github, chain[-1]
        expect(not github.broken, f"GitHub would have refused: {github.broken}")


def runner_shaped(engine: Engine, image: str) -> None:
    """A push records, a pull request is commented and fails; times beside a bare container start."""
    with fake_world() as (github, base), tempfile.TemporaryDirectory(dir=engine.cache) as folder:
        runner = Runner(Path(folder), github)
        pushed = execute(engine, runner.command(image, "push", {"ref": "refs/heads/main"}, base, "baseline"))
        expect(pushed.returncode == 0, pushed.stdout + pushed.stderr)
        record = runner.home / "workspace" / runner.outputs()["record-path"]
        expect(record.stat().st_uid == 1001, "results belong to root, the runner cannot remove them")
        github.state.run(1, base)
        github.state.artifact(1, {path.name: path.read_bytes() for path in record.iterdir()})
        bare, spent = [], []
        for _ in range(3):
            started = time.monotonic()
            execute(engine, ["podman", "run", "--rm", "--entrypoint", "/bin/true", image])
            bare.append(time.monotonic() - started)
            command = runner.command(image, "pull_request", pull_request(base), MERGE, "candidate")
            started = time.monotonic()
            judged = execute(engine, command)
            spent.append(time.monotonic() - started)
            expect(judged.returncode == 1, judged.stdout + judged.stderr)
            expect(runner.outputs()["verdict"] == "fail", judged.stdout)
        expect(len(github.state.comments) == 1, "not one comment")
        beside = sorted(spent)[1] - sorted(bare)[1]
        print("runner-shaped slim: push recorded, pull request commented, gate failed with exit code 1;")
        print(f"start to comment {beside:.1f} s beside a container start of {sorted(bare)[1]:.1f} s")
        expect(beside < START_TO_COMMENT, f"slower than {START_TO_COMMENT} s")


WORKFLOW_TEXT = """\
name: rageval
on: [push, pull_request]
jobs:
  retrieval:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: rageval
        uses: ./
        with:
          config: examples/rageval.yml
          snapshot: ${{ github.event_name == 'push' && 'examples/baseline' || 'examples/candidate' }}
          token: TOKEN
          baseline-workflow: rageval.yml
          network-budget: "30"
      - if: always()
        run: echo "seen verdict=${{ steps.rageval.outputs.verdict }} record=${{ steps.rageval.outputs.record-path }}"
"""


def in_act(engine: Engine, act: str) -> None:
    """The example repository with `uses: ./`: a push records, a pull request is commented and fails."""
    with fake_world() as (github, base), tempfile.TemporaryDirectory(dir=engine.cache) as folder:
        home = Path(folder)
        repository, tested = checkout(home)
        github.state.commit(tested, base, HEAD)  # act tests what lies in the repository
        policy = (ROOT / "examples" / "rageval.yml").read_bytes()
        github.state.files[base, "examples/rageval.yml"] = policy
        socket = home / "podman.sock"
        service = subprocess.Popen(
            ["podman", "system", "service", "--time=0", f"unix://{socket}"],
            env=engine.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while not socket.exists():
                time.sleep(0.1)
            world = (engine, act, home, repository, github)
            pushed = run_act(*world, "push", {"ref": "refs/heads/main", "after": base})
            expect(pushed.returncode == 0, pushed.stdout + pushed.stderr)
            expect(
                "seen verdict=no_baseline record=rageval-out/default/record" in pushed.stdout, pushed.stdout
            )
            github.state.run(7000, base)
            github.state.artifact(7000, members_of("baseline", base))
            judged = run_act(*world, "pull_request", pull_request(base))
            expect("seen verdict=fail record=rageval-out/default/record" in judged.stdout, judged.stdout)
            expect("exit with `FAILURE`: 1" in judged.stdout, judged.stdout)
            expect(judged.returncode != 0, "act did not fail with the gate")
            expect(len(github.state.comments) == 1, f"no comment: {judged.stdout} {github.log}")
        finally:
            service.terminate()
            service.wait(20)
    print(
        "act: `uses: ./` built; push recorded, pull request commented, gate failed with 1, next step read the outputs"
    )


def checkout(home: Path) -> tuple[Path, str]:
    """What a user's runner would have: this project's files and one workflow, in a git repository; and its commit."""
    repository = home / "repository"
    names = (
        "rageval_action",
        "requirements",
        "examples",
        "action.yml",
        "slim",
        "Dockerfile",
        "Dockerfile.slim",
        ".dockerignore",
    )
    repository.mkdir()
    for name in (*names, "entrypoint.py", "LICENSE"):
        source = ROOT / name
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, repository / name, ignore=ignore) if source.is_dir() else shutil.copy2(
            source, repository
        )
    (repository / ".github" / "workflows").mkdir(parents=True)
    (repository / ".github" / "workflows" / "rageval.yml").write_text(WORKFLOW_TEXT.replace("TOKEN", TOKEN))
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.com"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "All"]):
        subprocess.run(["git", *identity, *words], cwd=repository, check=True)
    subprocess.run(
        ["git", "remote", "add", "origin", f"https://github.com/{REPOSITORY}"], cwd=repository, check=True
    )
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True
    )
    return repository, head.stdout.strip()


def run_act(
    engine: Engine,
    act: str,
    home: Path,
    repository: Path,
    github: FakeGitHub,
    event: str,
    payload: dict[str, Any],
) -> subprocess.CompletedProcess[str]:
    """One event in act, on podman's socket."""
    event_path = home / f"{event}.json"
    repo = {
        "id": REPOSITORY_ID,
        "full_name": REPOSITORY,
        "default_branch": "main",
        "owner": {"login": "acme"},
    }
    event_path.write_text(json.dumps({**payload, "repository": {**repo, "name": "docs"}}))
    environ = {**engine.environ, "DOCKER_HOST": f"unix://{home / 'podman.sock'}", "HOME": str(home)}
    base = "docker.io/library/python:3.11-slim-bookworm"
    words = [act, event, "--rm", "-e", str(event_path), "-P", f"ubuntu-latest={base}", "--pull=false"]
    words += ["--container-daemon-socket", "-", "--env", f"GITHUB_API_URL={github.url}"]
    words += ["--env", f"GITHUB_REPOSITORY_ID={REPOSITORY_ID}"]
    return subprocess.run(
        words, cwd=repository, env=environ, capture_output=True, text=True, timeout=900, check=False
    )


def execute(engine: Engine, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a container and keep what it says."""
    return subprocess.run(words, env=engine.environ, capture_output=True, text=True, timeout=300, check=False)


def expect(holds: object, message: str) -> None:
    """Stop the test when something does not hold."""
    if not holds:
        raise SystemExit(f"image-test: failed: {message[-20000:]}")
