"""A data branch: a few files of ours on a branch without code, changed through the git data API.

A branch that this module did not begin is never written: its first file, `README.md`, says whose branch it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from rageval_action.errors import ConfigError
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.repository import FileFound, file_at
from rageval_action.github.rest_types import GitCommit, GitObject, Ref

FILE_BYTES = 32 << 20
"""A file of ours is never larger."""

TRIES = 8
LONGEST_WAIT = 8.0
"""Seconds between two tries. Of those who push at once one gets through in each round."""

SAME = 3
"""Tries at the same tip before a refusal counts as final; what GitHub tells of a branch may lag behind."""

README = "README.md"
MARKER = "<!-- rag-eval-action keeps this branch -->"
ABOUT = f"""{MARKER}
# Retrieval history

A GitHub workflow with [rag-eval-action](https://github.com/org/rag-eval-action) keeps this branch: one folder for each
evaluation, with its history and a badge. `rageval history FOLDER` reads it. Delete the branch to begin anew.
"""

Renew: TypeAlias = "Callable[[bytes], Mapping[str, str]]"
"""Given what a file holds (nothing where it is new), the files of the next commit by their paths."""


def update(api: Api, branch: str, path: str, renew: Renew, message: str) -> str:
    """Commit `renew(file at path)` to `branch`, which is begun without a parent when it is not there.

    Who else commits meanwhile is never overwritten: the branch only moves forward, and `renew` is asked again.

    Args:
        api: GitHub, with a token that may write contents.
        branch: name without `refs/heads/`.
        path: of the file that the next one is made from.
        renew: see `Renew`.
        message: of the commit.

    Returns:
        The new commit's sha.

    Raises:
        ApiError: GitHub refused, or others were always faster.
        ConfigError: `config.history-branch` when the branch is not one of ours.
    """
    tip, attempt = "", 0
    refused: list[str] = []
    while True:
        try:
            tip = _tip(api, branch)
            return _commit(api, branch, tip, path, renew, message)
        except ApiError as error:
            # Objects that no branch names do no harm, so that a lost answer to a POST is no reason to stop either.
            refused += [tip] if error.failure == "refused" else []
            passing = error.failure == "outage" or (error.failure == "refused" and not _stands(refused))
            if not passing or attempt + 1 == TRIES:
                raise
            if not api.budget.wait(min(2.0**attempt, LONGEST_WAIT)):
                raise
        attempt += 1


def _stands(refused: list[str]) -> bool:
    """True when nobody moved the branch between some refusals: they have another reason, a rule perhaps."""
    return len(refused) >= SAME and len(set(refused[-SAME:])) == 1


def read(api: Api, branch: str, path: str) -> bytes:
    """The file `path` of `branch`; empty when either is not there.

    Raises:
        ApiError: it cannot be had.
    """
    tip = _tip(api, branch)
    return _file(api, tip, path) if tip else b""


def _commit(api: Api, branch: str, tip: str, path: str, renew: Renew, message: str) -> str:
    if tip and not _file(api, tip, README).startswith(MARKER.encode()):
        text = f"the branch {branch} was not begun by this action, so nothing is written to it."
        raise ConfigError("config.history-branch", text, hint="Name a branch that does not exist yet.")
    files = renew(_file(api, tip, path)) if tip else {README: ABOUT, **renew(b"")}
    body: dict[str, object] = {
        "tree": [
            {"path": name, "mode": "100644", "type": "blob", "content": text} for name, text in files.items()
        ]
    }
    if tip:
        body["base_tree"] = api.get(api.repo(f"git/commits/{tip}"), GitCommit).tree.sha
    tree = api.send("POST", api.repo("git/trees"), GitObject, body).sha
    parents = [tip] if tip else []
    made = api.send(
        "POST", api.repo("git/commits"), GitObject, {"message": message, "tree": tree, "parents": parents}
    ).sha
    if tip:
        api.send("PATCH", api.repo(f"git/refs/heads/{branch}"), Ref, {"sha": made, "force": False})
    else:
        api.send("POST", api.repo("git/refs"), Ref, {"ref": f"refs/heads/{branch}", "sha": made})
    return made


def _tip(api: Api, branch: str) -> str:
    """The commit that the branch stands at; empty when there is no such branch."""
    try:
        return api.get(api.repo(f"git/ref/heads/{branch}"), Ref).object.sha
    except ApiError as error:
        if error.failure != "not-found":
            raise
        return ""


def _file(api: Api, tip: str, path: str) -> bytes:
    found = file_at(api, path, tip, FILE_BYTES)
    return found.data if isinstance(found, FileFound) else b""
