"""Records of a branch out of artifacts: which are believed, and that one that cannot be had costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

import msgspec
import pytest

from rageval_action.core.model.record import GitInfo, Record
from rageval_action.github import history_records
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.history_records import Gathered, gather
from rageval_action.github.trusted_runs import ExpectedRun
from tests.fakes.github import FORK_ID, REPOSITORY_ID, WORKFLOW
from tests.fakes.github_server import FakeGitHub
from tests.unit.reports.situations import record as situation

NAME = "rageval-default"
ORIGIN = ExpectedRun(repository_id=REPOSITORY_ID, branch="main", workflow_path=WORKFLOW)
MADE = situation([1, 2]).record


def record_of(sha: str, **given: Any) -> bytes:
    made: Record = msgspec.structs.replace(MADE, run_id=f"run-{sha[:6]}", git=GitInfo(sha=sha), **given)
    return msgspec.json.encode(made)


def put(github: FakeGitHub, run_id: int, sha: str, data: bytes | None = None, **given: Any) -> int:
    """A run and its artifact; fields of a run among `given` go to the run."""
    run = {name: given.pop(name) for name in list(given) if name in RUN_FIELDS}
    github.state.run(run_id, sha, **run)
    members = {"record.json": data if data is not None else record_of(sha)}
    return github.state.artifact(run_id, members, **given).id


RUN_FIELDS = ("event", "path", "head_repository", "repository")


@pytest.fixture
def chain(github: FakeGitHub) -> list[str]:
    return github.state.chain(6)


def collect(api: Api, known: Container[int] = ()) -> tuple[Gathered, dict[int, str]]:
    saved: dict[int, str] = {}

    def save(number: int, data: bytes) -> None:
        saved[number] = msgspec.json.decode(data, type=Record).git.sha

    return gather(api, ORIGIN, NAME, known, save), saved


def test_every_run_that_measured_the_branch_counts(api: Api, github: FakeGitHub, chain: list[str]) -> None:
    made = [
        put(github, n, sha, event=event)
        for n, (sha, event) in enumerate(zip(chain[:4], history_records.EVENTS, strict=True), 1)
    ]
    found, saved = collect(api)
    assert list(saved) == made[::-1]
    assert list(saved.values()) == chain[:4][::-1]
    assert (found.fetched, found.lost, found.notes) == (4, 0, ())


def test_of_one_run_the_newest_attempt_counts(api: Api, github: FakeGitHub, chain: list[str]) -> None:
    put(github, 1, chain[0])
    newest = github.state.artifact(1, {"record.json": record_of(chain[0])}).id
    assert list(collect(api)[1]) == [newest]


FORK = {"id": FORK_ID, "full_name": "mallory/docs"}
STRANGERS: dict[str, dict[str, Any]] = {
    "a fork's branch called main": {"head_repository": FORK, "event": "pull_request"},
    "a push in a fork": {"head_repository": FORK},
    "a run of another repository": {"repository": FORK},
    "a pull request of ours": {"event": "pull_request"},
    "a merge group": {"event": "merge_group"},
    "what publishes for forks": {"event": "workflow_run"},
    "another workflow": {"path": ".github/workflows/other/rageval.yml"},
    "an artifact that says it is a fork's": {"head_repository_id": FORK_ID},
    "an artifact of another repository": {"repository_id": FORK_ID},
    "an artifact of another branch": {"head_branch": "topic"},
    "an artifact of another commit": {"head_sha": "9" * 40},
    "an artifact of another name": {"name": "rageval-zh"},
}


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS.keys())
def test_what_others_made_is_not_even_fetched(
    stranger: dict[str, Any], api: Api, github: FakeGitHub, chain: list[str]
) -> None:
    ours = put(github, 1, chain[0])
    put(github, 2, chain[1], **stranger)
    found, saved = collect(api)
    assert list(saved) == [ours]
    assert found.notes == ()
    assert sum(line.startswith("BLOB") for line in github.log) == 1


def test_expired_records_are_named(api: Api, github: FakeGitHub, chain: list[str]) -> None:
    put(github, 1, chain[0], expired=True)
    put(github, 2, chain[1])
    found, saved = collect(api)
    assert list(saved.values()) == [chain[1]]
    assert found.notes == (f"expired: the records of {chain[0][:10]}.",)


def test_many_expired_records_are_counted(api: Api, github: FakeGitHub) -> None:
    for number, sha in enumerate(github.state.chain(history_records.NAMED + 3), start=1):
        put(github, number, sha, expired=True)
    (note,) = collect(api)[0].notes
    assert note.endswith(" and 3 more.")


def test_a_record_that_expires_while_we_look(api: Api, github: FakeGitHub, chain: list[str]) -> None:
    number = put(github, 1, chain[0])

    def expire(name: str) -> str:
        if name.endswith("/zip"):
            github.state.artifacts[number].expired = True
        return ""

    github.always = expire
    found, saved = collect(api)
    assert saved == {}
    assert (found.lost, found.notes) == (0, (f"expired: the records of {chain[0][:10]}.",))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"digest": "sha256:" + "0" * 64}, "digest"),
        ({"data": b"{"}, "not a valid record"),
        ({"data": b'{"schema":"rageval.record/9"}'}, "rageval.record/9"),
        ({"data": record_of("9" * 40)}, "another commit"),
        ({"size": 1 << 40}, "bytes"),
    ],
    ids=["digest", "json", "schema", "commit", "size"],
)
def test_a_damaged_record_costs_only_itself(
    broken: dict[str, Any], said: str, api: Api, github: FakeGitHub, chain: list[str]
) -> None:
    put(github, 1, chain[0])
    put(github, 2, chain[1], **broken)
    put(github, 3, chain[2])
    found, saved = collect(api)
    assert list(saved.values()) == [chain[2], chain[0]]
    assert (found.fetched, found.lost) == (2, 1)
    (note,) = found.notes
    assert chain[1][:10] in note
    assert said in note


def test_an_outage_of_one_download_costs_only_itself(api: Api, github: FakeGitHub, chain: list[str]) -> None:
    put(github, 1, chain[0])
    lost = put(github, 2, chain[1])
    github.always = lambda name: "502" if name == f"BLOB /artifact/{lost}" else ""
    found, saved = collect(api)
    assert list(saved.values()) == [chain[0]]
    assert "HTTP 502" in found.notes[0]
    assert github.log.count(f"BLOB /artifact/{lost}") == 4


def test_a_download_that_fails_once_is_tried_again(api: Api, github: FakeGitHub, chain: list[str]) -> None:
    put(github, 1, chain[0])
    left = ["truncated"]
    github.always = lambda name: left.pop() if name.startswith("BLOB") and left else ""
    assert list(collect(api)[1].values()) == [chain[0]]


def test_a_limit_ends_the_search_and_says_how_many_are_left(
    api: Api, github: FakeGitHub, chain: list[str]
) -> None:
    for number, sha in enumerate(chain, start=1):
        put(github, number, sha)
    listing = len(history_records.EVENTS) + 1
    github.remaining = listing + 2
    found, saved = collect(api)
    assert list(saved.values()) == [chain[5], chain[4]]
    assert (found.fetched, found.lost) == (2, 4)
    assert "rate limit" in found.notes[0]
    assert found.notes[1] == "3 older records were not asked for any more."


def test_known_artifacts_are_not_fetched_again(api: Api, github: FakeGitHub, chain: list[str]) -> None:
    known = {put(github, 1, chain[0]), put(github, 2, chain[1], expired=True)}
    put(github, 3, chain[2])
    found, saved = collect(api, known)
    assert list(saved.values()) == [chain[2]]
    assert found.notes == ()
    assert sum(line.startswith("BLOB") for line in github.log) == 1


def test_all_pages_are_read(api: Api, github: FakeGitHub) -> None:
    shas = github.state.chain(120)
    known = {put(github, number, sha) for number, sha in enumerate(shas[1:], start=2)}
    put(github, 1, shas[0])
    assert list(collect(api, known)[1].values()) == [shas[0]]


def test_more_artifacts_than_can_be_listed_are_told(make_api: Callable[..., Api], github: FakeGitHub) -> None:
    api = make_api(page_size=2, max_pages=2)
    shas = github.state.chain(6)
    for number, sha in enumerate(shas, start=1):
        put(github, number, sha)
    for run in list(github.state.runs)[:2]:
        del github.state.runs[run]
    found, saved = collect(api)
    assert list(saved.values()) == shas[5:1:-1]
    assert "were not listed" in found.notes[0]


@pytest.mark.parametrize("call", ["/actions/workflows/", "/actions/artifacts"])
def test_lists_that_cannot_be_had_are_no_absence(
    call: str, api: Api, github: FakeGitHub, chain: list[str]
) -> None:
    put(github, 1, chain[0])
    github.always = lambda name: "502" if call in name else ""
    with pytest.raises(ApiError) as caught:
        collect(api)
    assert caught.value.failure == "outage"
