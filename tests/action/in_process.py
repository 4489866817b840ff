"""The Action inside the test's process, over records made once: for tests that need hundreds of runs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.action.flow import run
from rageval_action.action.inputs import read_inputs
from rageval_action.action.session import Session
from rageval_action.cli.configuration import configure
from rageval_action.config import Config
from rageval_action.core.model.record import GitInfo, RunRecord, encode
from rageval_action.github.api import LIMITS, Api
from rageval_action.github.runner import Token
from rageval_action.github.workflow_commands import Log
from rageval_action.http_client import Budget
from rageval_action.world import World, real_world
from tests.action.own_process import EXAMPLES, Ended, Workspace
from tests.fakes.github_runner import runner_for, runner_reads
from tests.fakes.github_server import TOKEN
from tests.fakes.network import FastClock, network

EVALUATE = pipeline.evaluate


@cache
def measured(side: str) -> RunRecord:
    """The record of `examples/<side>`, of no commit."""
    settings = configure({"snapshot": str(EXAMPLES / side)}, str(EXAMPLES / "rageval.yml"))
    return EVALUATE(settings, real_world(EXAMPLES))


def record_of(side: str, sha: str, **given: Any) -> RunRecord:
    """That record as made at the commit `sha`."""
    made = measured(side)
    git = GitInfo(sha=sha, ref=given.pop("ref", "refs/heads/main"), event=given.pop("event", "push"))
    given.setdefault("golden", replace(made.record.golden, path="golden.jsonl"))
    return replace(made, record=replace(made.record, git=git, **given))


def members_of(side: str, sha: str, **given: Any) -> dict[str, bytes]:
    return encode(record_of(side, sha, **given))


@contextmanager
def canned(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Evaluating takes the record of the snapshot's name instead of searching."""
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "evaluate", _evaluated)
        yield


def _evaluated(config: Config, world: World, baseline: RunRecord | None = None) -> RunRecord:
    """The baseline, whose questions a real run asks as well, is left out."""
    del baseline
    return _canned(config, world.git.sha)


def _canned(config: Config, sha: str) -> RunRecord:
    return record_of(Path(config.snapshot).name, sha)


def run_inside(
    place: Workspace,
    event: str,
    payload: dict[str, Any],
    sha: str,
    monkeypatch: pytest.MonkeyPatch,
    **given: Any,
) -> Ended:
    """One run as `Workspace.run` does it, in this process: time costs nothing, evaluation neither."""
    number = len(list(place.home.glob("event-*.json")))
    output, summary = place.home / f"output-{number}", place.home / f"summary-{number}"
    event_path = place.home / f"event-{number}.json"
    event_path.write_text(json.dumps(payload))
    token = given.pop("token", TOKEN)
    runner = runner_for(
        place.github.url,
        event_name=event,
        event_path=str(event_path),
        sha=sha,
        output_path=str(output),
        summary_path=str(summary),
        **given.pop("runner", {}),
    )
    environ = {"INPUT_SNAPSHOT": place.snapshot, **place.environ}
    environ |= {f"INPUT_{name.upper()}": value for name, value in given.items()}
    inputs = read_inputs(environ)
    clock = FastClock().handle()
    stream = io.StringIO()
    log = Log(stream)

    def api() -> Api:
        budget = Budget(float(inputs.network_budget), clock)
        limits = replace(LIMITS, connect_s=0.3, read_s=0.3)
        return Api(runner.api_url, runner.repository, Token(token), budget, network, limits=limits)

    session = Session(
        runner=runner,
        inputs=inputs,
        token=Token(token),
        runtime_token=Token(environ.pop("ACTIONS_RUNTIME_TOKEN", "")),
        log=log,
        reading=api(),
        writing=api(),
        world=replace(real_world(), environ=environ, git=GitInfo(sha=sha)),
    )
    with canned(monkeypatch), monkeypatch.context() as patch:
        patch.chdir(place.checkout)
        with log.fenced():
            code = run(session)
    return Ended(
        code=code,
        log=stream.getvalue(),
        outputs=runner_reads(output.read_text("utf-8")) if output.exists() else {},
        summary=summary.read_text("utf-8") if summary.exists() else "",
        workspace=place.checkout,
    )
