"""The data branch: begun without a parent, only moved forward, never anybody else's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from rageval_action.errors import ConfigError
from rageval_action.github import data_branch
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from tests.fakes.github import BOT, WRITE, TokenKind
from tests.fakes.github_server import FakeGitHub
from tests.fakes.network import FastClock

BRANCH, PATH = "rageval-history", "default/history.json"
OUTAGES = 8
"""Two calls given up, each after four tries."""
KEEPER = "ghs_keeper"


@pytest.fixture
def api(github: FakeGitHub, make_api: Callable[..., Api]) -> Api:
    github.state.chain(2)
    github.state.tokens[KEEPER] = TokenKind(BOT, app=True, rights=WRITE | {"contents": "write"})
    return make_api(KEEPER)


def added(number: int) -> data_branch.Renew:
    """The list in the file, one number longer."""

    def renew(old: bytes) -> Mapping[str, str]:
        return {PATH: json.dumps([*(json.loads(old) if old else []), number])}

    return renew


def keep(api: Api, number: int) -> str:
    return data_branch.update(api, BRANCH, PATH, added(number), f"Record {number}")


def kept(github: FakeGitHub) -> list[int]:
    found: list[int] = json.loads(github.state.branch_files(BRANCH)[PATH])
    return found


def test_it_begins_without_a_parent_and_says_whose_it_is(api: Api, github: FakeGitHub) -> None:
    made = keep(api, 1)
    assert github.state.branches[BRANCH] == made
    assert github.state.commits[made]["parents"] == []
    assert set(github.state.branch_files(BRANCH)) == {"README.md", PATH}
    assert github.state.branch_files(BRANCH)["README.md"].decode().startswith(data_branch.MARKER)
    assert kept(github) == [1]


def test_it_grows_by_a_commit_and_keeps_what_else_is_there(api: Api, github: FakeGitHub) -> None:
    first = keep(api, 1)
    data_branch.update(api, BRANCH, "zh/history.json", lambda _: {"zh/history.json": "[7]"}, "Record zh")
    made = keep(api, 2)
    assert github.state.branch_messages(BRANCH) == ["Record 1", "Record zh", "Record 2"]
    assert github.state.commits[made]["parents"][0]["sha"] != first
    assert github.state.branch_files(BRANCH)["zh/history.json"] == b"[7]"
    assert kept(github) == [1, 2]


@pytest.mark.parametrize("begun", [False, True])
def test_who_commits_meanwhile_is_not_overwritten(
    begun: bool, api: Api, github: FakeGitHub, make_api: Callable[..., Api]
) -> None:
    if begun:
        keep(api, 1)
    rivals = iter([2, 3])

    def faster(name: str) -> str:
        moves = name.startswith(("PATCH /repos/acme/docs/git/refs/", "POST /repos/acme/docs/git/refs"))
        if moves and (number := next(rivals, 0)):
            state = github.state
            tip = state.branches.get(BRANCH, "")
            files = dict(state.branch_files(BRANCH)) if tip else {"README.md": data_branch.ABOUT.encode()}
            files[PATH] = json.dumps([*(json.loads(files.get(PATH, b"[]"))), number]).encode()
            state.trees[f"{number}" * 40] = files
            made = state.put_commit(f"{number}" * 40, f"{number}" * 40, *([tip] if tip else []))
            state.branches[BRANCH] = made
        return ""

    github.always = faster
    keep(api, 9)
    assert kept(github) == ([1] if begun else []) + [2, 3, 9]


def test_a_branch_that_may_not_move_is_given_up_soon(api: Api, github: FakeGitHub, clock: FastClock) -> None:
    keep(api, 1)
    github.state.protected.add(BRANCH)
    with pytest.raises(ApiError, match="Changes must be made through a pull request") as caught:
        keep(api, 2)
    assert caught.value.failure == "refused"
    assert clock.sleeps == [1.0, 2.0]
    assert kept(github) == [1]


def test_outages_before_a_race_are_no_refusals(api: Api, github: FakeGitHub) -> None:
    keep(api, 1)
    asked = 0

    def faster_after_outages(name: str) -> str:
        nonlocal asked
        if not name.startswith("PATCH /repos/acme/docs/git/refs/"):
            return ""
        asked += 1
        if asked == OUTAGES + 1:
            made = "e" * 40
            github.state.trees[made] = dict(github.state.branch_files(BRANCH))
            github.state.branches[BRANCH] = github.state.put_commit(made, made, github.state.branches[BRANCH])
        return "500" if asked <= OUTAGES else ""

    github.always = faster_after_outages
    keep(api, 2)
    assert asked == OUTAGES + 2
    assert kept(github) == [1, 2]


def test_where_others_are_always_faster_it_is_given_up_in_time(
    api: Api, github: FakeGitHub, clock: FastClock
) -> None:
    keep(api, 1)
    rivals = iter(range(100, 200))

    def faster(name: str) -> str:
        if name.startswith("PATCH /repos/acme/docs/git/refs/"):
            made = f"{next(rivals)}".rjust(40, "0")
            github.state.trees[made] = dict(github.state.branch_files(BRANCH))
            github.state.branches[BRANCH] = github.state.put_commit(made, made, github.state.branches[BRANCH])
        return ""

    github.always = faster
    with pytest.raises(ApiError, match="not a fast forward"):
        keep(api, 2)
    assert len(clock.sleeps) == data_branch.TRIES - 1
    assert max(clock.sleeps) == data_branch.LONGEST_WAIT


def test_without_the_permission_it_is_asked_once(
    api: Api, github: FakeGitHub, make_api: Callable[..., Api], clock: FastClock
) -> None:
    with pytest.raises(ApiError) as caught:
        keep(make_api(), 1)
    assert caught.value.failure == "forbidden"
    assert BRANCH not in github.state.branches
    assert sum(line.startswith("POST") for line in github.log) == 1
    assert clock.sleeps == []


@pytest.mark.parametrize("readme", [None, b"# Our code\n", b"text first\n" + data_branch.MARKER.encode()])
def test_a_branch_of_somebody_else_is_left_alone(readme: bytes | None, api: Api, github: FakeGitHub) -> None:
    tip = github.state.chain(1, BRANCH)[0]
    if readme is not None:
        github.state.files[tip, "README.md"] = readme
    with pytest.raises(ConfigError, match="was not begun by this action"):
        keep(api, 1)
    assert github.state.branches[BRANCH] == tip
    assert not [line for line in github.log if not line.startswith("GET")]


@pytest.mark.parametrize("call", ["/git/trees", "/git/commits", "/git/ref"])
@pytest.mark.parametrize("fault", ["502", "half-closed", "429"])
def test_a_fault_that_passes_loses_nothing(call: str, fault: str, api: Api, github: FakeGitHub) -> None:
    keep(api, 1)
    left = [fault]
    github.always = lambda name: left.pop() if call in name and left else ""
    keep(api, 2)
    assert kept(github) == [1, 2]


def test_reading(api: Api, github: FakeGitHub) -> None:
    assert data_branch.read(api, BRANCH, PATH) == b""
    keep(api, 1)
    assert data_branch.read(api, BRANCH, PATH) == b"[1]"
    assert data_branch.read(api, BRANCH, "zh/history.json") == b""
