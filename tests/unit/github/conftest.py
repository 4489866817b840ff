"""A fake GitHub for each test, which fails the test when anything would not pass at the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rageval_action.github.api import Api
from rageval_action.github.runner import Token
from rageval_action.http_client import Budget
from rageval_action.world import Clock
from tests.fakes.github import REPOSITORY
from tests.fakes.github_server import TOKEN, FakeGitHub
from tests.fakes.network import FastClock, network


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as fake:
        yield fake
    assert fake.broken == []


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
