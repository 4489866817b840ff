"""A fake GitHub for each test, which fails the test when anything would not pass at the real one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from msgspec.structs import replace

from rageval_action.github.api import LIMITS, Api
from rageval_action.github.runner import Runner, Token
from rageval_action.http_client import Budget, new_session
from rageval_action.world import Clock
from tests.fakes.github import REPOSITORY, REPOSITORY_ID, WORKFLOW
from tests.fakes.github_server import TOKEN, FakeGitHub


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as fake:
        yield fake
    assert fake.broken == []


def runner_for(url: str, **given: object) -> Runner:
    fields: dict[str, object] = {
        "api_url": url,
        "server_url": "https://github.com",
        "repository": REPOSITORY,
        "repository_id": REPOSITORY_ID,
        "event_name": "pull_request",
        "event_path": "event.json",
        "sha": "0" * 40,
        "ref": "refs/pull/7/merge",
        "run_id": 500,
        "run_attempt": 1,
        "workflow_path": WORKFLOW,
    }
    return Runner(**(fields | given))  # type: ignore[arg-type]


class FastClock:
    """Sleeping costs nothing and moves the clock."""

    def __init__(self) -> None:
        self.skipped = 0.0
        self.sleeps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.skipped += seconds

    def handle(self) -> Clock:
        return Clock(
            now=lambda: time.monotonic() + self.skipped,
            wall=lambda: time.time() + self.skipped,
            sleep=self.sleep,
        )


IMPATIENT = replace(LIMITS, connect_s=0.5, read_s=0.5)


def network() -> requests.Session:
    return new_session(proxies=True)


@pytest.fixture
def clock() -> FastClock:
    return FastClock()


@pytest.fixture
def make_api(github: FakeGitHub, clock: FastClock) -> Callable[..., Api]:
    def make(
        token: str = TOKEN,
        seconds: float = 120.0,
        *,
        url: str = "",
        handle: Clock | None = None,
        **options: Any,
    ) -> Api:
        budget = Budget(seconds, handle or clock.handle())
        return Api(url or github.url, REPOSITORY, Token(token), budget, network, **options)

    return make


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    return make_api()
