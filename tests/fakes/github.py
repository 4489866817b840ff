"""A stateful GitHub on loopback for one repository.

Every exchange is held against GitHub's own OpenAPI description (`github_schema`) and against the rules it
leaves out: lengths, tokens and their rights, pagination, rate limits, redirects. Whatever breaks one is
kept in `broken`; the fixture that hands out the fake fails the test when there is any.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.github_schema import make

REPOSITORY = "acme/docs"
REPOSITORY_ID = 4242
FORK_ID = 9999
BOT = "github-actions[bot]"
WORKFLOW = ".github/workflows/rageval.yml"

WRITE = {
    "actions": "read",
    "contents": "read",
    "pull-requests": "write",
    "checks": "write",
    "statuses": "write",
    "metadata": "read",
}
READ = dict.fromkeys(WRITE, "read")


@dataclass(frozen=True)
class TokenKind:
    """What a token may do. `app`: an installation token (GITHUB_TOKEN is one); else a person's."""

    login: str
    app: bool
    rights: dict[str, str]


class Refusal(Exception):  # noqa: N818 - it reads as what it is
    """What GitHub says no with."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class Artifact:
    id: int
    run_id: int
    name: str
    data: bytes
    expired: bool = False
    digest: str | None = ""
    head_branch: str = "main"
    head_sha: str = ""
    head_repository_id: int = REPOSITORY_ID
    repository_id: int = REPOSITORY_ID
    created_at: str = "2026-11-01T10:00:00Z"
    size: int | None = None


@dataclass
class State:
    """The world. Tests write it directly."""

    tokens: dict[str, TokenKind] = field(default_factory=dict)
    commits: dict[str, dict[str, Any]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    trees: dict[str, dict[str, bytes]] = field(default_factory=dict)
    tree_of: dict[str, str] = field(default_factory=dict)
    protected: set[str] = field(default_factory=set)
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    reviews: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    checks: dict[int, dict[str, Any]] = field(default_factory=dict)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    permissions: dict[str, str] = field(default_factory=dict)
    locked: set[int] = field(default_factory=set)
    next_id: int = 1000

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id

    # Builders ----------------------------------------------------------------------------------------------------

    def commit(self, sha: str, *parents: str, author: str = "dev", author_id: int = 0) -> str:
        self.commits[sha] = make(
            "commit",
            sha=sha,
            parents=[{"sha": p, "url": "https://api.github.com/c", "html_url": "https://h"} for p in parents],
            author=user(author, id=author_id or user(author)["id"]),
            committer=user("web-flow"),
        )
        return sha

    def put_commit(self, sha: str, tree: str, *parents: str, message: str = "") -> str:
        """A commit with files, as the git data API makes one."""
        self.commit(sha, *parents)
        self.commits[sha]["commit"] |= {"message": message}
        self.tree_of[sha] = tree
        self.files |= {(sha, path): data for path, data in self.trees[tree].items()}
        return sha

    def branch_files(self, branch: str) -> dict[str, bytes]:
        """What the git data API has put on `branch`."""
        return self.trees[self.tree_of[self.branches[branch]]]

    def branch_messages(self, branch: str) -> list[str]:
        """Messages of the commits of `branch` by first parents, oldest first."""
        found, sha = [], self.branches[branch]
        while sha:
            found.append(self.commits[sha]["commit"]["message"])
            sha = next((parent["sha"] for parent in self.commits[sha]["parents"]), "")
        return found[::-1]

    def chain(self, count: int, branch: str = "main", start: str = "") -> list[str]:
        """`count` commits on `branch`, oldest first."""
        shas: list[str] = []
        before = start
        for index in range(count):
            sha = fake_sha(f"{branch}-{index}")
            self.commit(sha, *([before] if before else []))
            shas.append(sha)
            before = sha
        self.branches[branch] = before
        return shas

    def run(self, run_id: int, sha: str, **given: Any) -> int:
        fields: dict[str, Any] = {
            "id": run_id,
            "head_sha": sha,
            "head_branch": "main",
            "event": "push",
            "status": "completed",
            "conclusion": "success",
            "path": WORKFLOW,
            "run_attempt": 1,
            "repository": {"id": REPOSITORY_ID, "full_name": REPOSITORY},
            "head_repository": {"id": REPOSITORY_ID, "full_name": REPOSITORY},
        }
        self.runs[run_id] = make("workflow-run", **(fields | given))
        return run_id

    def artifact(
        self, run_id: int, members: dict[str, bytes] | bytes, name: str = "rageval-default", **given: Any
    ) -> Artifact:
        data = members if isinstance(members, bytes) else zipped(members)
        run = self.runs[run_id]
        made = Artifact(
            id=self.new_id(),
            run_id=run_id,
            name=name,
            data=data,
            **(
                {
                    "digest": "sha256:" + hashlib.sha256(data).hexdigest(),
                    "head_sha": run["head_sha"],
                    "head_branch": run["head_branch"],
                    "head_repository_id": run["head_repository"]["id"],
                }
                | given
            ),
        )
        self.artifacts[made.id] = made
        return made

    def pull(self, number: int, head_sha: str, base_sha: str, **given: Any) -> dict[str, Any]:
        head_id = given.pop("head_repository_id", REPOSITORY_ID)
        base = {"ref": given.pop("base_ref", "main"), "sha": base_sha, "repo": {"id": REPOSITORY_ID}}
        head = {"ref": given.pop("head_ref", "topic"), "sha": head_sha, "repo": {"id": head_id}}
        head["label"] = f"{given.pop('head_owner', 'acme')}:{head['ref']}"
        author = user(given.pop("author", "dev"))
        fields = {
            "number": number,
            "state": "open",
            "head": head,
            "base": base,
            "user": author,
            "merged_by": None,
        }
        self.pulls[number] = make("pull-request", **(fields | given))
        return self.pulls[number]

    def review(
        self, number: int, login: str, body: str, commit_id: str, state: str = "APPROVED", **given: Any
    ) -> None:
        fields = {
            "id": self.new_id(),
            "user": user(login),
            "body": body,
            "commit_id": commit_id,
            "state": state,
        }
        self.reviews.setdefault(number, []).append(make("pull-request-review", **(fields | given)))

    def comment(self, number: int, login: str, body: str) -> int:
        made = self.new_id()
        self.comments[made] = make(
            "issue-comment",
            id=made,
            body=body,
            user=user(login),
            issue_url=f"https://api.github.com/repos/{REPOSITORY}/issues/{number}",
            performed_via_github_app=None,
        )
        return made


def fake_sha(seed: str) -> str:
    return hashlib.sha1(seed.encode(), usedforsecurity=False).hexdigest()


def user(login: str, **given: Any) -> dict[str, Any]:
    number = int(fake_sha(login)[:6], 16)
    kind = "Bot" if login.endswith("[bot]") else "User"
    return make("simple-user", **({"login": login, "id": number, "type": kind} | given))


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@dataclass(frozen=True)
class Call:
    """One request as a handler sees it."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any]
    token: TokenKind
    raw: bool
    base: str


@dataclass(frozen=True)
class Page:
    """A list to be paged: `key` names the list inside an object, empty for a bare array."""

    items: list[Any]
    key: str = ""
    total_cap: int = 10**9


@dataclass(frozen=True)
class Raw:
    data: bytes


@dataclass(frozen=True)
class Redirect:
    path: str


def need(call: Call, right: str, level: str = "read") -> None:
    """Refuse as GitHub does when the token lacks `right`."""
    held = call.token.rights.get(right, "none")
    if held in ("write", level):
        return
    said = (
        "Resource not accessible by integration"
        if call.token.app
        else "Resource not accessible by personal access token"
    )
    raise Refusal(403, said)


REPO = f"/repos/{REPOSITORY}"


def route(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(REPO) + pattern)
