"""What GitHub holds of a history, put into a folder that is then read like any other."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from rageval_action.cli.safe_echo import say
from rageval_action.core.model.record import RECORD
from rageval_action.errors import CannotMeasureError, ConfigError, RagevalError
from rageval_action.github import data_branch
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.history_records import gather
from rageval_action.github.runner import Token, branch_name, evaluation_id
from rageval_action.github.trusted_runs import ExpectedRun, workflow_file
from rageval_action.github.webhook_types import Repository
from rageval_action.http_client import Budget, new_session
from rageval_action.records import write_files
from rageval_action.transport import is_address
from rageval_action.world import World

NETWORK_SECONDS = 600.0
"""All calls and waits together; what does not fit is named and left to the next run."""

API_URL = "https://api.github.com"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w-]*/(?!\.{1,2}$)[\w.-]+", re.ASCII)


class HistoryOptions(Struct, frozen=True, kw_only=True):
    """The options of `rageval history` that are about GitHub."""

    repository: str
    branch: str
    workflow: str
    evaluation: str
    artifact_name: str
    history_branch: str
    cache: str

    @property
    def artifact(self) -> str:
        """Name of the records' artifacts, as the Action's own inputs make it."""
        return self.artifact_name or f"rageval-{self.evaluation}"


@contextlib.contextmanager
def fetched(options: HistoryOptions, world: World) -> Iterator[dict[str, Path]]:
    """A folder with what GitHub has, by what it is called, as long as the block runs.

    Raises:
        ConfigError: `history.no-repository`, `history.bad-repository`, `history.no-token`, `history.no-access`,
            `history.bad-address`, `history.bad-cache`; `action.bad-id`, `action.bad-branch`.
        CannotMeasureError: `history.outage` when GitHub could not be asked, or gave none of the records it holds.
    """
    if not options.repository:
        text = "--history-branch and --cache are about a repository on GitHub."
        raise ConfigError("history.no-repository", text, hint="Add --repository OWNER/NAME.")
    if not _REPOSITORY.fullmatch(options.repository):
        raise ConfigError("history.bad-repository", "it is not of the form owner/name.", where="--repository")
    with contextlib.ExitStack() as stack:
        kept = options.cache and not options.history_branch
        home = options.cache if kept else stack.enter_context(tempfile.TemporaryDirectory())
        read = _branch if options.history_branch else _artifacts
        try:
            found = read(options, world, Path(home))
        except ApiError as error:
            raise _explained(error, options.repository) from error
        except OSError as error:
            raise ConfigError("history.bad-cache", f"{error.strerror or error}.", where=home) from error
        yield found


def _branch(options: HistoryOptions, world: World, home: Path) -> dict[str, Path]:
    name, path = branch_name(options.history_branch), f"{evaluation_id(options.evaluation)}/history.json"
    place = home / "history.json"
    place.write_bytes(data_branch.read(_api(options, world), name, path))
    return {
        f"{path} on the branch {name} of {options.repository}": place if place.stat().st_size else home / "-"
    }


def _artifacts(options: HistoryOptions, world: World, home: Path) -> dict[str, Path]:
    api = _api(options, world)
    if not api.signed:
        hint = "Set GITHUB_TOKEN to a token with actions: read; `gh auth token` prints yours."
        raise ConfigError("history.no-token", "GitHub gives artifacts to nobody without a token.", hint=hint)
    repository = api.get(api.repo(), Repository)
    origin = ExpectedRun(
        repository_id=repository.id,
        branch=options.branch or repository.default_branch,
        workflow_path=workflow_file(options.workflow),
    )
    place = home / options.repository / quote(origin.branch, safe="") / quote(options.artifact, safe="")
    place.mkdir(parents=True, exist_ok=True)
    known = {
        int(path.parent.name) for path in place.glob("[1-9]*/record.json") if path.parent.name.isdecimal()
    }
    found = gather(
        api,
        origin,
        options.artifact,
        known,
        lambda number, data: write_files(place / str(number), {RECORD: data}),
    )
    for note in found.notes:
        say(f"rageval: not fetched: {note}", err=True)
    if found.lost and not found.fetched and not known:
        text = f"none of the {found.lost:,} records that GitHub holds could be fetched."
        raise CannotMeasureError("history.outage", text, where=options.repository)
    return {f"{options.artifact} of {origin.workflow_path} on {origin.branch} of {options.repository}": place}


def _api(options: HistoryOptions, world: World) -> Api:
    token = Token(world.environ.get("GITHUB_TOKEN") or world.environ.get("GH_TOKEN") or "")
    url = (world.environ.get("GITHUB_API_URL") or API_URL).rstrip("/")
    if not is_address(url):
        raise ConfigError("history.bad-address", "it is no address.", where="GITHUB_API_URL")
    return Api(
        url,
        options.repository,
        token,
        Budget(NETWORK_SECONDS, world.clock),
        lambda: new_session(proxies=True),
    )


def _explained(error: ApiError, repository: str) -> RagevalError:
    """A call that all records hang on: wrong options or a missing right, else an outage."""
    if error.failure in ("forbidden", "not-found", "gone", "refused"):
        hint = "Are repository, --workflow and --branch right, and may the token read them (actions: read)?"
        return ConfigError("history.no-access", error.message, hint=hint, where=repository)
    return CannotMeasureError("history.outage", error.message, where=repository)
