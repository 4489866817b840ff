"""The world of one Action test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.action.own_process import HEAD, MERGE, Workspace
from tests.fakes.github_server import FakeGitHub


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as fake:
        yield fake
    assert fake.broken == []


@pytest.fixture
def base(github: FakeGitHub) -> str:
    """The tip of main; a pull request's head and merge commit stand on it."""
    chain = github.state.chain(4)
    github.state.commit(HEAD, chain[-2], author="dev")
    github.state.commit(MERGE, chain[-1], HEAD)
    github.state.pull(7, HEAD, chain[-1], merge_commit_sha=MERGE)
    return chain[-1]


@pytest.fixture
def workspace(tmp_path: Path, github: FakeGitHub) -> Workspace:
    return Workspace(tmp_path, github)
