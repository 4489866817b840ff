"""The runner's environment, read strictly."""

from __future__ import annotations

import pytest

from rageval_action.errors import ConfigError
from rageval_action.github.runner import Token, evaluation_id, read_runner, workflow_path

GOOD = {
    "GITHUB_API_URL": "https://ghes.example/api/v3/",
    "GITHUB_SERVER_URL": "https://ghes.example/",
    "GITHUB_REPOSITORY": "acme/docs",
    "GITHUB_REPOSITORY_ID": "42",
    "GITHUB_EVENT_NAME": "push",
    "GITHUB_EVENT_PATH": "/e.json",
    "GITHUB_SHA": "a" * 40,
    "GITHUB_RUN_ID": "7",
    "GITHUB_WORKFLOW_REF": "acme/docs/.github/workflows/r.yml@refs/heads/main",
}


def test_addresses_are_the_servers_own() -> None:
    runner = read_runner(GOOD)
    assert (runner.api_url, runner.server_url) == ("https://ghes.example/api/v3", "https://ghes.example")
    assert (runner.run_attempt, runner.workflow_path) == (1, ".github/workflows/r.yml")
    assert runner.run_url == "https://ghes.example/acme/docs/actions/runs/7"


@pytest.mark.parametrize("name", [name for name in GOOD if name != "GITHUB_WORKFLOW_REF"])
def test_what_every_runner_sets_must_be_there(name: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_runner(GOOD | {name: ""})
    assert error.value.code == "action.not-in-actions"
    assert name in error.value.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_REPOSITORY", "a/b/../c"),
        ("GITHUB_REPOSITORY_ID", "x"),
        ("GITHUB_RUN_ID", "1" * 30),
        ("GITHUB_RUN_ID", "١"),
    ],
)
def test_malformed_values_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError):
        read_runner(GOOD | {name: value})


def test_workflow_paths() -> None:
    assert (
        workflow_path("Acme/Docs/.github/workflows/r.yml@refs/pull/1/merge", "acme/docs")
        == ".github/workflows/r.yml"
    )
    assert workflow_path("other/repo/.github/workflows/r.yml@x", "acme/docs") == ""
    assert workflow_path("", "acme/docs") == ""


@pytest.mark.parametrize("value", ["", "a b", "a/b", "-x", "x" * 65, "é", "a\n"])
def test_ids_are_short_names(value: str) -> None:
    with pytest.raises(ConfigError) as error:
        evaluation_id(value)
    assert error.value.code == "action.bad-id"
    assert evaluation_id("help-centre_2.zh") == "help-centre_2.zh"


def test_kinds_of_tokens() -> None:
    assert Token("ghs_x").acts_as_app
    assert not Token("ghp_x").acts_as_app
    assert not Token("")
