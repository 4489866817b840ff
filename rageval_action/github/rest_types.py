"""The parts of the REST API's answers that we read, as types; a value that does not fit is an `ApiError`."""

from __future__ import annotations

from msgspec import Struct

from rageval_action.github.webhook_types import Repository, User


class Parent(Struct, frozen=True):
    """A parent of a commit."""

    sha: str


class CommitText(Struct, frozen=True):
    """What a commit says of itself."""

    message: str = ""


class Commit(Struct, frozen=True, kw_only=True):
    """A commit; `author` and `committer` are null or empty when GitHub knows no account for the address."""

    sha: str
    parents: tuple[Parent, ...] = ()
    author: User | None = None
    committer: User | None = None
    commit: CommitText = CommitText()

    @property
    def first_parent(self) -> str:
        """The commit that a branch stood at before this one; empty for a root commit."""
        return self.parents[0].sha if self.parents else ""


class GitObject(Struct, frozen=True):
    """A commit or tree as the git data API names it."""

    sha: str


class GitCommit(Struct, frozen=True):
    """A commit of the git data API, which names its tree."""

    sha: str
    tree: GitObject


class Ref(Struct, frozen=True):
    """A branch and what it points at."""

    object: GitObject


class CommitComparison(Struct, frozen=True):
    """`GET /compare/{base}...{head}`: only the merge base is of use."""

    merge_base_commit: Commit


class WorkflowRun(Struct, frozen=True, kw_only=True):
    """One workflow run."""

    id: int
    head_sha: str
    event: str
    path: str
    repository: Repository
    head_repository: Repository | None = None
    head_branch: str | None = None
    run_attempt: int = 1
    conclusion: str | None = None


class RunsPage(Struct, frozen=True):
    """A page of workflow runs, newest first."""

    workflow_runs: tuple[WorkflowRun, ...]


class ArtifactRun(Struct, frozen=True, kw_only=True):
    """Where an artifact says it comes from."""

    id: int = 0
    repository_id: int = 0
    head_repository_id: int = 0
    head_branch: str | None = None
    head_sha: str = ""


class Artifact(Struct, frozen=True, kw_only=True):
    """An artifact; `digest` is absent on older GitHub Enterprise servers."""

    id: int
    name: str
    size_in_bytes: int
    expired: bool
    created_at: str | None = None
    digest: str | None = None
    workflow_run: ArtifactRun | None = None


class ArtifactsPage(Struct, frozen=True):
    """A page of artifacts."""

    artifacts: tuple[Artifact, ...]


class Comment(Struct, frozen=True, kw_only=True):
    """A comment of an issue or pull request."""

    id: int
    body: str | None = None
    html_url: str = ""
    user: User | None = None


class Review(Struct, frozen=True, kw_only=True):
    """A review of a pull request, in the order they were submitted."""

    id: int
    state: str
    body: str | None = None
    commit_id: str | None = None
    user: User | None = None
    html_url: str = ""
    submitted_at: str = ""


class Permission(Struct, frozen=True):
    """`admin`, `write` (also for maintainers), `read` (also for triage) or `none`."""

    permission: str


class CreatedObject(Struct, frozen=True, kw_only=True):
    """What was created, as far as we need it."""

    id: int = 0
    html_url: str | None = None
