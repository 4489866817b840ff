from __future__ import annotations

import functools

import pytest

from tests.unit.reports.situations import SITUATIONS, Situation


@functools.cache
def _made(name: str) -> Situation:
    return SITUATIONS[name]()


@pytest.fixture(params=sorted(SITUATIONS))
def named(request: pytest.FixtureRequest) -> tuple[str, Situation]:
    """Every situation with its name."""
    return request.param, _made(request.param)


@pytest.fixture
def situation():
    """A situation by name."""
    return _made
