"""What the runner tells an action through its environment."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from rageval_action.errors import ConfigError

_BRANCH = re.compile(r"[A-Za-z0-9_-]+([./][A-Za-z0-9_-]+)*(?<!\.lock)")
ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Token:
    """A credential that no log, traceback or `repr` can show. An empty one is falsy."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value.strip()  # pasted into a secret with its line end, as it often is

    def reveal(self) -> str:
        """The value, for the one place that puts it into a header."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Token(***)" if self._value else "Token()"

    __str__ = __repr__

    @property
    def acts_as_app(self) -> bool:
        """True for installation tokens (`GITHUB_TOKEN` is one): they write check runs, but have no user."""
        return self._value.startswith("ghs_")


class Runner(Struct, frozen=True, kw_only=True):
    """The runner's context (its documented `GITHUB_*` variables).

    Attributes:
        api_url, server_url: without a trailing slash; never assumed to be github.com.
        repository: `owner/name`.
        repository_id, run_id: GitHub's numbers.
        sha: the commit that is tested; under `pull_request` the merge commit.
        workflow_path: `.github/workflows/x.yml` of the workflow file that was triggered.
        output_path, summary_path: empty when the runner gave none (a laptop, another CI).
    """

    api_url: str
    server_url: str
    repository: str
    repository_id: int
    event_name: str
    event_path: str
    sha: str
    ref: str
    run_id: int
    run_attempt: int
    job: str = ""
    actor: str = ""
    workflow_path: str = ""
    workspace: str = ""
    temp: str = ""
    output_path: str = ""
    summary_path: str = ""

    @property
    def run_url(self) -> str:
        """The page of this workflow run, where the job summary is shown."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"


def read_runner(environ: Mapping[str, str]) -> Runner:
    """The runner's context from `environ`.

    Raises:
        ConfigError: `action.not-in-actions` when a variable that every runner sets is missing or malformed.
    """

    def need(name: str) -> str:
        value = environ.get(name, "")
        if not value:
            raise ConfigError(
                "action.not-in-actions",
                f"the environment variable {name} is not set.",
                hint="This command runs as a GitHub Action; elsewhere use `rageval evaluate`.",
            )
        return value

    repository = need("GITHUB_REPOSITORY")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository, re.ASCII):
        raise ConfigError("action.not-in-actions", "GITHUB_REPOSITORY is not of the form owner/name.")
    return Runner(
        api_url=need("GITHUB_API_URL").rstrip("/"),
        server_url=need("GITHUB_SERVER_URL").rstrip("/"),
        repository=repository,
        repository_id=_number("GITHUB_REPOSITORY_ID", need("GITHUB_REPOSITORY_ID")),
        event_name=need("GITHUB_EVENT_NAME"),
        event_path=need("GITHUB_EVENT_PATH"),
        sha=need("GITHUB_SHA"),
        ref=environ.get("GITHUB_REF", ""),
        run_id=_number("GITHUB_RUN_ID", need("GITHUB_RUN_ID")),
        run_attempt=_number("GITHUB_RUN_ATTEMPT", environ.get("GITHUB_RUN_ATTEMPT") or "1"),
        job=environ.get("GITHUB_JOB", ""),
        actor=environ.get("GITHUB_ACTOR", ""),
        workflow_path=workflow_path(environ.get("GITHUB_WORKFLOW_REF", ""), repository),
        workspace=environ.get("GITHUB_WORKSPACE", ""),
        temp=environ.get("RUNNER_TEMP", ""),
        output_path=environ.get("GITHUB_OUTPUT", ""),
        summary_path=environ.get("GITHUB_STEP_SUMMARY", ""),
    )


def workflow_path(workflow_ref: str, repository: str) -> str:
    """The path in `owner/name/.github/workflows/x.yml@refs/heads/main`; empty when it is unreadable."""
    path = workflow_ref.partition("@")[0]
    prefix = repository + "/"
    return path[len(prefix) :] if path.lower().startswith(prefix.lower()) else ""


def evaluation_id(value: str) -> str:
    """`value` as the name of one evaluation: it ends up in artifact names, markers and check names.

    Raises:
        ConfigError: `action.bad-id` for anything but letters, digits, dot, dash, underscore (64 at most).
    """
    if not ID_PATTERN.fullmatch(value):
        raise ConfigError(
            "action.bad-id",
            "the input `id` may hold letters, digits, dots, dashes and underscores, 64 at most.",
            hint="In a matrix job, use a short name of your own for each combination.",
            where="input id",
        )
    return value


def branch_name(value: str) -> str:
    """`value` as the name of a branch that addresses may hold as it is: stricter than git.

    Raises:
        ConfigError: `action.bad-branch`.
    """
    if not _BRANCH.fullmatch(value) or len(value) > 200:
        raise ConfigError(
            "action.bad-branch",
            "a branch for the history is named by letters, digits, dashes, underscores, single dots and slashes.",
            hint="For example rageval-history.",
        )
    return value


def _number(name: str, value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", value):
        raise ConfigError("action.not-in-actions", f"the environment variable {name} is not a number.")
    return int(value)
