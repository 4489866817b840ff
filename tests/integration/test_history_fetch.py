"""`rageval history --repository`: what GitHub holds, read as a user reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from rageval_action.cli.main import run
from rageval_action.core.model.record import Record
from rageval_action.core.series.history import history, point
from rageval_action.world import real_world
from tests.fakes.github import REPOSITORY
from tests.fakes.github_server import TOKEN, FakeGitHub
from tests.fakes.network import FastClock
from tests.unit.github.test_history_records import put, record_of

BRANCH = "rageval-history"


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """A repository with three records, the oldest of them expired."""
    with FakeGitHub() as fake:
        for number, sha in enumerate(fake.state.chain(3), start=1):
            put(fake, number, sha, expired=number == 1)
        monkeypatch.setenv("GITHUB_API_URL", fake.url)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        yield fake
    assert fake.broken == []


@dataclass
class Ran:
    code: int
    out: str
    err: str

    def commits(self) -> list[str]:
        return [one["sha"] for one in json.loads(self.out)["points"]]


@pytest.fixture
def rageval(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def call(*words: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["rageval", "history", *map(str, words), "--json", "-"])
        code = run(replace(real_world(), clock=FastClock().handle()))
        return Ran(code, *capsys.readouterr())

    return call


def shas(github: FakeGitHub) -> list[str]:
    return [run["head_sha"] for _, run in sorted(github.state.runs.items())]


def test_artifacts_of_the_default_branch(github, rageval):
    ran = rageval("--repository", REPOSITORY)
    assert (ran.code, sorted(ran.commits())) == (0, sorted(shas(github)[1:]))
    assert ran.err == f"rageval: not fetched: expired: the records of {shas(github)[0][:10]}.\n"


def test_another_branch_workflow_evaluation_or_name(github, rageval):
    release = github.state.chain(2, "release/2")
    for number, sha in enumerate(release, start=11):
        github.state.run(number, sha, head_branch="release/2", path=".github/workflows/nightly.yml")
    github.state.artifact(11, {"record.json": record_of(release[0])}, name="rageval-zh")
    github.state.artifact(12, {"record.json": record_of(release[1])}, name="records of ours")
    place = ("--repository", REPOSITORY, "--branch", "release/2", "--workflow", "nightly.yml")
    assert rageval(*place, "--id", "zh").commits() == [release[0]]
    assert rageval(*place, "--artifact-name", "records of ours").commits() == [release[1]]


def test_a_cache_fetches_once_and_outlives_the_artifacts(github, rageval, tmp_path):
    place = ("--repository", REPOSITORY, "--cache", tmp_path)
    first = rageval(*place)
    for artifact in github.state.artifacts.values():
        artifact.expired = True
    github.log.clear()
    again = rageval(*place)
    assert sorted(again.commits()) == sorted(first.commits())
    assert not [line for line in github.log if "zip" in line or "BLOB" in line]
    assert rageval(tmp_path).commits() == again.commits()
    other = rageval("--repository", REPOSITORY, "--branch", "topic", "--cache", tmp_path)
    assert (other.code, other.out.count("history.no-records")) == (2, 1)


def test_kept_records_and_fetched_ones_are_one_history(github, rageval, tmp_path):
    old: Record = msgspec.json.decode(record_of("8" * 40, region="here"), type=Record)
    kept = tmp_path / "history.json"
    kept.write_bytes(msgspec.json.encode(history([point(old)])))
    assert sorted(rageval(kept, "--repository", REPOSITORY).commits()) == sorted(
        ["8" * 40, *shas(github)[1:]]
    )


def test_the_data_branch(github, rageval, tmp_path):
    one: Record = msgspec.json.decode(record_of("8" * 40), type=Record)
    github.state.trees["7" * 40] = {"default/history.json": msgspec.json.encode(history([point(one)]))}
    github.state.branches[BRANCH] = github.state.put_commit("6" * 40, "7" * 40)
    place = ("--repository", REPOSITORY, "--history-branch", BRANCH)
    assert rageval(*place).commits() == ["8" * 40]
    assert not [line for line in github.log if "actions" in line]
    for words in ((*place, "--id", "zh"), (*place[:3], "absent")):
        ran = rageval(*words)
        assert (ran.code, json.loads(ran.out)["code"]) == (2, "history.no-records")
        assert "history.json on the branch" in ran.err


def test_a_checked_out_data_branch(rageval, tmp_path):
    one: Record = msgspec.json.decode(record_of("8" * 40), type=Record)
    kept = msgspec.json.encode(history([point(one)]))
    for name in ("default", "zh"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "history.json").write_bytes(kept)
        (tmp_path / name / "badge.json").write_bytes(b"{}")
    assert rageval(tmp_path / "zh").commits() == ["8" * 40]
    ran = rageval(tmp_path)
    assert (ran.code, json.loads(ran.out)["code"]) == (2, "history.several")
    assert "default, zh" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        ((), "history.no-place", 2),
        (("--cache", "x"), "history.no-repository", 2),
        (("--history-branch", "x"), "history.no-repository", 2),
        (("--repository", "acme"), "history.bad-repository", 2),
        (("--repository", "acme/.."), "history.bad-repository", 2),
        (("--repository", "https://github.com/acme/docs"), "history.bad-repository", 2),
        (("--repository", REPOSITORY, "--history-branch", "../x"), "action.bad-branch", 2),
        (("--repository", REPOSITORY, "--history-branch", "x", "--id", "a/b"), "action.bad-id", 2),
        (("--repository", REPOSITORY, "--branch", "absent"), "history.no-records", 2),
    ],
)
def test_what_is_wrong_is_said(words, code, exit_code, github, rageval):
    ran = rageval(*words)
    assert (ran.code, json.loads(ran.out)["code"]) == (exit_code, code)


def test_without_a_token(github, rageval, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN")
    ran = rageval("--repository", REPOSITORY)
    assert (ran.code, json.loads(ran.out)["code"]) == (2, "history.no-token")
    assert github.log == []
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    assert rageval("--repository", REPOSITORY).code == 0


def test_a_token_that_may_not_read(github, rageval, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_unknown")
    ran = rageval("--repository", REPOSITORY)
    assert (ran.code, json.loads(ran.out)["code"]) == (2, "history.no-access")
    assert "actions: read" in ran.err


def test_a_cache_that_cannot_be_written(github, rageval, tmp_path):
    (tmp_path / "acme").write_text("a file")
    ran = rageval("--repository", REPOSITORY, "--cache", tmp_path)
    assert (ran.code, json.loads(ran.out)["code"]) == (2, "history.bad-cache")


@pytest.mark.parametrize("reached", ["GET /repos/acme/docs", "/actions/artifacts", "BLOB"])
def test_an_outage_is_no_empty_history(reached, github, rageval):
    github.always = lambda name: "502" if reached in name else ""
    ran = rageval("--repository", REPOSITORY)
    assert (ran.code, json.loads(ran.out)["code"]) == (3, "history.outage")


def test_an_outage_of_one_record_is_a_notice(github, rageval):
    newest = max(github.state.artifacts)
    github.always = lambda name: "502" if name == f"BLOB /artifact/{newest}" else ""
    ran = rageval("--repository", REPOSITORY)
    assert (ran.code, ran.commits()) == (0, [shas(github)[1]])
    assert f"not fetched: the record of {shas(github)[2][:10]}" in ran.err


def test_a_token_is_never_told(github, rageval):
    github.always = lambda name: "502" if "BLOB" in name else ""
    ran = rageval("--repository", REPOSITORY)
    assert TOKEN not in ran.out + ran.err
    assert "sig=" not in ran.err


def test_records_on_disk_need_no_network_library(tmp_path):
    import subprocess
    import sys

    (tmp_path / "record.json").write_bytes(record_of("8" * 40))
    code = (
        "import sys; from rageval_action.cli.main import run; sys.argv = ['rageval', 'history', sys.argv[1]];"
        " assert run() == 0; assert 'requests' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(tmp_path))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("address", ["gopher://x", "http://[::1", "http://x:99999"])
def test_an_address_that_is_none(rageval, monkeypatch: pytest.MonkeyPatch, address: str) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("GITHUB_API_URL", address)
    done = rageval("--repository", "acme/docs")
    assert (done.code, "GITHUB_API_URL: it is no address." in done.err) == (2, True)
