"""The ladder: what counts as a baseline, what is passed over, and that an outage is never an absence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.errors import RecordError
from rageval_action.github.api import Api
from rageval_action.github.baseline_lookup import (
    Absent,
    Baseline,
    BaselineRequest,
    Found,
    LookupFailed,
    baseline_file,
    find_baseline,
)
from tests.fakes.github import FORK_ID, REPOSITORY_ID, WORKFLOW, zipped
from tests.fakes.github_server import FAULTS, FakeGitHub
from tests.fakes.network import IMPATIENT, FastClock

NAMES = ("record.json", "rankings.jsonl")


def record(sha: str) -> dict[str, bytes]:
    return {"record.json": sha.encode(), "rankings.jsonl": b"{}\n"}


def check(members: Any, sha: str) -> None:
    """A record that names another commit than the run that made it is no record of it."""
    if sha and members["record.json"] != sha.encode():
        raise RecordError("record.other-commit", "it is of another commit.")


def wanted(sha: str, **given: Any) -> BaselineRequest:
    fields: dict[str, Any] = {
        "sha": sha,
        "branch": "main",
        "workflow_path": WORKFLOW,
        "artifact": "rageval-default",
        "repository_id": REPOSITORY_ID,
        "members": NAMES,
    }
    return BaselineRequest(**(fields | given))


@pytest.fixture
def chain(github: FakeGitHub) -> list[str]:
    return github.state.chain(6)


def put(github: FakeGitHub, run_id: int, sha: str, **given: Any) -> None:
    run = {
        k: given.pop(k)
        for k in list(given)
        if k in ("event", "head_branch", "path", "head_repository", "repository", "conclusion", "status")
    }
    github.state.run(run_id, sha, **run)
    if "claimed_branch" in given:
        given["head_branch"] = given.pop("claimed_branch")
    github.state.artifact(run_id, given.pop("members", record(sha)), **given)


def look(api: Api, sha: str, **given: Any) -> Baseline:
    return find_baseline(api, wanted(sha, **given), check)


def test_the_exact_commit(github: FakeGitHub, api: Api, chain: list[str]) -> None:
    put(github, 1, chain[-1])
    put(github, 2, chain[-2])
    found = look(api, chain[-1])
    assert isinstance(found, Found)
    assert (found.rung, found.distance, found.sha, found.run_id) == ("exact", 0, chain[-1], 1)
    assert dict(found.members) == record(chain[-1])
    assert found.created_at


def test_the_nearest_ancestor_with_its_distance(github: FakeGitHub, api: Api, chain: list[str]) -> None:
    put(github, 1, chain[0])
    put(github, 2, chain[2])
    found = look(api, chain[5])
    assert isinstance(found, Found)
    assert (found.rung, found.distance, found.sha) == ("ancestor", 3, chain[2])


def test_merged_branches_are_not_ancestors(github: FakeGitHub, api: Api, chain: list[str]) -> None:
    side = github.state.chain(3, "side", start=chain[0])
    merge = github.state.commit("d" * 40, chain[5], side[-1])
    put(github, 1, side[-1])
    put(github, 2, chain[4])
    found = look(api, merge)
    assert isinstance(found, Found)
    assert (found.sha, found.distance) == (chain[4], 2)


def test_ancestors_beyond_one_page(github: FakeGitHub, api: Api) -> None:
    long = github.state.chain(150, "long")
    github.state.branches["main"] = long[-1]
    put(github, 1, long[10])
    found = look(api, long[-1])
    assert isinstance(found, Found)
    assert found.distance == 139


def test_any_conclusion_counts_and_the_newest_run_and_attempt_win(
    github: FakeGitHub, api: Api, chain: list[str]
) -> None:
    put(github, 1, chain[5])
    put(github, 2, chain[5], conclusion="failure")
    github.state.artifact(2, record(chain[5]) | {"rankings.jsonl": b"second attempt"})
    found = look(api, chain[5])
    assert isinstance(found, Found)
    assert found.run_id == 2
    assert found.members["rankings.jsonl"] == b"second attempt"
    assert isinstance(look(api, chain[5], skip_run=2), Found)


POISON: dict[str, dict[str, Any]] = {
    "a fork's branch called main": {
        "head_repository": {"id": FORK_ID, "full_name": "mallory/docs"},
        "head_repository_id": FORK_ID,
    },
    "a fork's artifact under our run": {"head_repository_id": FORK_ID},
    "a fork's run whose artifact claims to be ours": {
        "head_repository": {"id": FORK_ID, "full_name": "mallory/docs"},
        "head_repository_id": REPOSITORY_ID,
    },
    "another branch whose artifact claims to be of main": {"head_branch": "topic", "claimed_branch": "main"},
    "a pull request run": {"event": "pull_request"},
    "another branch": {"head_branch": "topic"},
    "another workflow": {"path": ".github/workflows/evil.yml"},
    "another workflow of that file name": {"path": "elsewhere/rageval.yml"},
    "another repository's run": {"repository": {"id": 1, "full_name": "x/y"}},
    "an artifact that names another repository": {"repository_id": 1},
    "an artifact that names another commit": {"head_sha": "e" * 40},
    "another artifact": {"name": "rageval-other"},
}


@pytest.mark.parametrize("case", sorted(POISON))
def test_a_poisoned_artifact_is_no_baseline(
    case: str, github: FakeGitHub, api: Api, chain: list[str]
) -> None:
    put(github, 1, chain[5], **POISON[case])
    assert isinstance(look(api, chain[5]), Absent), case


def test_a_server_that_ignores_its_filters_changes_nothing(
    github: FakeGitHub, api: Api, chain: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our own comparison of ids must do; the query's filters only save pages."""
    real_pages = api.pages
    monkeypatch.setattr(api, "pages", lambda path, kind, params=None: real_pages(path, kind, None))
    for number, case in enumerate(sorted(POISON), start=1):
        put(github, number, chain[5], **POISON[case])
    assert isinstance(look(api, chain[5]), Absent)


def test_absences_say_why(github: FakeGitHub, api: Api, chain: list[str]) -> None:
    none = look(api, chain[5])
    assert isinstance(none, Absent)
    assert none.code == "first-run"
    put(github, 1, chain[5], name="rageval-other")
    none = look(api, chain[5])
    assert isinstance(none, Absent)
    assert none.code == "not-recorded"
    put(github, 2, chain[4], expired=True)
    none = look(api, chain[5])
    assert isinstance(none, Absent)
    assert none.code == "expired"


def test_expired_between_listing_and_download(
    github: FakeGitHub, api: Api, chain: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(github, 1, chain[5])
    put(github, 2, chain[4])
    real = api.download

    def download(path: str, limit: int) -> bytes:
        github.state.artifacts[min(github.state.artifacts)].expired = True
        return real(path, limit)

    monkeypatch.setattr(api, "download", download)
    found = look(api, chain[5])
    assert isinstance(found, Found)
    assert found.sha == chain[4]
    assert "expired" in found.notes[0]


def test_a_wrong_digest_is_passed_over_and_said(github: FakeGitHub, api: Api, chain: list[str]) -> None:
    put(github, 1, chain[5], digest="sha256:" + "0" * 64)
    put(github, 2, chain[4])
    found = look(api, chain[5])
    assert isinstance(found, Found)
    assert found.sha == chain[4]
    assert "digest" in found.notes[0]


@pytest.mark.parametrize(
    "damage",
    [
        {"digest": "sha256:" + "0" * 64},
        {"members": b"no zip"},
        {"members": zipped({"record.json": b"x"})},
        {"members": {"record.json": b"of another commit", "rankings.jsonl": b""}},
        {"size": 10**12},
    ],
)
def test_nothing_but_damage_is_a_failed_look_up(
    damage: dict[str, Any], github: FakeGitHub, api: Api, chain: list[str]
) -> None:
    put(github, 1, chain[5], **damage)
    assert isinstance(look(api, chain[5]), LookupFailed)


def test_a_pile_of_damage_ends_the_search(github: FakeGitHub, api: Api, chain: list[str]) -> None:
    for number, sha in enumerate(chain[2:], start=1):
        put(github, number, sha, members=b"no zip")
    put(github, 9, chain[0])
    assert isinstance(look(api, chain[5]), LookupFailed)
    assert sum(name.startswith("BLOB") for name in github.log) == 3


def test_a_server_without_digests_is_named(github: FakeGitHub, api: Api, chain: list[str]) -> None:
    put(github, 1, chain[5], digest=None)
    found = look(api, chain[5])
    assert isinstance(found, Found)
    assert "no digest" in found.notes[0]


def test_a_sha_that_is_none_never_reaches_an_address(api: Api, github: FakeGitHub) -> None:
    failed = look(api, "../../../user")
    assert isinstance(failed, LookupFailed)
    assert github.log == []


def test_without_a_workflow_nothing_is_guessed(api: Api, github: FakeGitHub, chain: list[str]) -> None:
    assert isinstance(look(api, chain[5], workflow_path=""), LookupFailed)
    assert github.log == []


def clean_run(github: FakeGitHub, api: Api, chain: list[str]) -> int:
    put(github, 1, chain[4])
    assert isinstance(look(api, chain[5]), Found)
    return len(github.log)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_no_lasting_fault_at_any_call_passes_as_no_baseline(
    fault: str, github: FakeGitHub, make_api: Callable[..., Api], chain: list[str], clock: FastClock
) -> None:
    github.patience = 0.4
    calls = clean_run(github, make_api(), chain)
    for broken in range(calls):
        github.log.clear()
        names: list[str] = []
        github.always = lambda name, at=broken, seen=names: fault if _nth(name, at, seen) else ""
        api = make_api(seconds=20.0, limits=replace(IMPATIENT, read_s=0.3))
        result = look(api, chain[5])
        assert not isinstance(result, Absent), (fault, broken, github.log)
        if fault != "bad-json":
            assert isinstance(result, LookupFailed), (fault, broken, github.log, result)


def _nth(name: str, at: int, seen: list[str]) -> bool:
    """True for the request that would have been number `at` of a clean run, and for all its repetitions."""
    if name not in seen:
        seen.append(name)
    return seen.index(name) == at


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_one_passing_fault_at_any_call_is_survived(
    fault: str, github: FakeGitHub, make_api: Callable[..., Api], chain: list[str]
) -> None:
    github.patience = 0.4
    calls = clean_run(github, make_api(), chain)
    for broken in range(calls):
        github.log.clear()
        github.faults = {broken: fault}
        api = make_api(limits=replace(IMPATIENT, read_s=0.3))
        result = look(api, chain[5])
        assert isinstance(result, Found | LookupFailed)
        assert isinstance(result, Found) or fault == "bad-json", (fault, broken, result)


def test_a_record_kept_in_the_repository(github: FakeGitHub, api: Api, chain: list[str]) -> None:
    sha = chain[5]
    assert isinstance(baseline_file(api, "base", wanted(sha), check), Absent)
    for name, data in record("older").items():
        github.state.files[sha, f"base/{name}"] = data
    found = baseline_file(api, "base/", wanted(sha), check)
    assert isinstance(found, Found)
    assert (found.rung, found.sha) == ("file", sha)
    github.state.files[sha, "base.zip"] = zipped(record("older"))
    assert isinstance(baseline_file(api, "base.zip", wanted(sha), check), Found)
    del github.state.files[sha, "base/rankings.jsonl"]
    assert isinstance(baseline_file(api, "base", wanted(sha), check), LookupFailed)
    assert isinstance(baseline_file(api, "../base", wanted(sha), check), LookupFailed)


def test_a_file_that_cannot_be_looked_up_is_not_absent(
    github: FakeGitHub, api: Api, chain: list[str]
) -> None:
    github.always = lambda name: "500" if "/contents/" in name else ""
    assert isinstance(baseline_file(api, "base", wanted(chain[5]), check), LookupFailed)
    github.always = lambda name: "500" if "/commits/" in name else ""
    assert isinstance(baseline_file(api, "base", wanted(chain[5]), check), LookupFailed)
