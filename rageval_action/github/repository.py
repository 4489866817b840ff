"""What the repository says about commits and files, by API, never from a pull request's checkout."""

from __future__ import annotations

import re
from urllib.parse import quote

from msgspec import Struct

from rageval_action.errors import ConfigError
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.rest_types import Commit, CommitComparison

FILE_BYTES = 1 << 20
SHA = re.compile(r"[0-9a-f]{40,64}")


class FileFound(Struct, frozen=True):
    """A file as it stands at a commit."""

    data: bytes


class FileAbsent(Struct, frozen=True):
    """The commit has no such file, and that is certain."""

    path: str


def commit(api: Api, sha: str) -> Commit:
    """The commit `sha`.

    Raises:
        ApiError: it cannot be had.
    """
    _check_sha(sha)
    return api.get(api.repo(f"commits/{sha}"), Commit)


def merge_base(api: Api, base: str, head: str) -> str:
    """The commit at which `head` left `base` (both shas).

    Raises:
        ApiError: it cannot be had.
    """
    _check_sha(base)
    _check_sha(head)
    return api.get(api.repo(f"compare/{base}...{head}"), CommitComparison).merge_base_commit.sha


def first_parents(api: Api, sha: str, limit: int) -> tuple[str, ...]:
    """`sha` and its first parents, nearest first, at most `limit` of them.

    The list of commits reachable from `sha` comes in the server's own order, with the merged branches mixed
    in; the chain is followed through it, and a new list is asked for where it leaves the known part.

    Raises:
        ApiError: it cannot be had.
    """
    _check_sha(sha)
    known: dict[str, str] = {}
    chain: list[str] = []
    current = sha
    while current and len(chain) < limit:
        if current not in known:
            query: dict[str, str | int] = {"sha": current, "per_page": min(100, limit)}
            listed = api.get(api.repo("commits"), tuple[Commit, ...], query)
            known |= {item.sha: item.first_parent for item in listed}
            if current not in known:
                raise ApiError("malformed", f"the commits from {current} do not hold it.")
        chain.append(current)
        current = known[current]
    return tuple(chain)


def file_at(api: Api, path: str, sha: str, limit: int = FILE_BYTES) -> FileFound | FileAbsent:
    """The file `path` as it stands at the commit `sha`.

    An answer of 404 may also mean that the token cannot read the repository; so the commit is asked for
    before absence is believed.

    Raises:
        ApiError: it cannot be had.
        ConfigError: `config.bad-path` when `path` is absolute or climbs.
    """
    _check_sha(sha)
    segments = path.split("/")
    if any(segment in ("", ".", "..") for segment in segments):
        raise ConfigError(
            "config.bad-path",
            f"{path!r} is not a path inside the repository.",
            hint="Write it from the root.",
        )
    try:
        return FileFound(api.raw(api.repo(f"contents/{quote(path, safe='/')}"), limit, {"ref": sha}))
    except ApiError as error:
        if error.failure != "not-found":
            raise
    commit(api, sha)
    return FileAbsent(path)


def _check_sha(sha: str) -> None:
    """A sha goes into addresses; one from a payload or record could be anything."""
    if not SHA.fullmatch(sha):
        raise ApiError("malformed", "a commit is not named by its full sha.")
