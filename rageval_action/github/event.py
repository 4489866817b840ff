"""Event -> what this run is to do, and why. Every event has a defined outcome.

One rule stands above the table: **an event on an open pull request is never skipped.** A skipped job
reports success under the same check name, so a run that did nothing (on a review comment, say) would turn a
red required check green.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rageval_action.errors import ConfigError
from rageval_action.github.runner import Runner
from rageval_action.github.webhook_types import MergeGroup, Payload, PullRequestPayload, WorkflowRunPayload

Mode: TypeAlias = Literal["evaluate", "record", "drift", "publish", "skip"]
"""`evaluate`: measure and compare; `record`: measure, the record becomes a baseline; `drift`: measure the
branch against its own last baseline; `publish`: post what another run measured; `skip`: nothing to do."""

Writing: TypeAlias = Literal["expected", "unlikely", "never"]
"""Whether this run may write to the pull request: `unlikely` tries and takes a refusal calmly."""

MAX_EVENT_BYTES = 30_000_000
"""GitHub caps webhook payloads at 25 MB."""

DEPENDABOT = "dependabot[bot]"
_PULL_REQUEST_EVENTS = ("pull_request", "pull_request_review")
_QUEUE_PREFIX = "refs/heads/gh-readonly-queue/"


class NoPullRequest(Struct, frozen=True, tag="none"):
    """The event does not belong to a pull request, or it is still to be found; `reason` says which."""

    reason: str


class PullRequest(Struct, frozen=True, kw_only=True, tag="pull_request"):
    """A pull request as the event (or the API) describes it. Branch names are hostile text.

    Attributes:
        head_repository_id: 0 when the fork was deleted.
        author, author_id: who opened it.
    """

    number: int
    head_sha: str
    head_ref: str
    head_repository_id: int
    base_sha: str
    base_ref: str
    base_repository_id: int
    author: str
    author_id: int
    draft: bool = False

    @property
    def from_fork(self) -> bool:
        """True when the head lives elsewhere: decided by repository id, never by name."""
        return self.head_repository_id != self.base_repository_id


class RunPlan(Struct, frozen=True, kw_only=True):
    """What to do.

    Attributes:
        code: stable name of the outcome (`pull_request.fork`, `push.tag`, …).
        reason: one sentence for the log.
        tested_sha: the commit whose files are measured.
        report_sha: the commit that check runs and statuses belong to (a PR's head, not its merge commit).
        base_ref: branch whose baseline and policy count, without `refs/heads/`; empty when there is none.
        base_sha: the exact baseline commit where the event itself knows it; empty: ask for the first parent.
        source: for `publish`, the run that measured.
        merge_group: the group that the queue wants tested.
        may_be_pull_request: the tested commit may be the head of an open pull request; still to be looked up.
        history: whether the record belongs to the default branch's history.
    """

    mode: Mode
    code: str
    reason: str
    tested_sha: str = ""
    report_sha: str = ""
    base_ref: str = ""
    base_sha: str = ""
    pull_request: PullRequest | NoPullRequest = NoPullRequest("not a pull request event")
    writing: Writing = "never"
    comment: bool = False
    source: WorkflowRunPayload | None = None
    history: bool = False
    merge_group: MergeGroup | None = None
    may_be_pull_request: bool = False


def read_payload(path: Path) -> Payload:
    """The event file, decoded.

    Raises:
        ConfigError: `action.bad-event` when it is missing, too large, or not the JSON that GitHub documents.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_EVENT_BYTES else b""
    except OSError as error:
        raise ConfigError("action.bad-event", f"the event file cannot be read: {error.strerror}.") from error
    if size > MAX_EVENT_BYTES:
        raise ConfigError(
            "action.bad-event", f"the event file has {size:,} bytes; GitHub sends 25 MB at most."
        )
    try:
        return msgspec.json.decode(data, type=Payload)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigError("action.bad-event", f"the event file is not a GitHub event: {error}") from error


def plan_run(runner: Runner, payload: Payload) -> RunPlan:
    """What this run is to do on `runner.event_name`.

    Raises:
        ConfigError: `action.pull-request-target` for that event, which would run a fork's files with a write
            token; `action.bad-event` when the payload lacks what its event always has.
    """
    name = runner.event_name
    if name == "pull_request_target":
        raise ConfigError(
            "action.pull-request-target",
            "pull_request_target is refused: files of a fork would be read with a write token.",
            hint="Use pull_request, and for forks the workflow_run pair of docs/action.md.",
            where="on: pull_request_target",
        )
    if name in _PULL_REQUEST_EVENTS:
        return _pull_request(runner, payload)
    if name == "push":
        return _push(runner, payload)
    if name == "merge_group":
        return _merge_group(runner, payload)
    if name == "workflow_run":
        return _workflow_run(payload)
    if name in ("schedule", "workflow_dispatch", "repository_dispatch"):
        return _drift(runner, payload)
    return RunPlan(
        mode="skip",
        code="event.unsupported",
        reason=f"the event {name} has nothing to measure; see docs/action.md for the events that have.",
    )


def pull_request_of(payload: PullRequestPayload) -> PullRequest:
    """Our own view of a pull request."""
    author = payload.user
    return PullRequest(
        number=payload.number,
        head_sha=payload.head.sha,
        head_ref=payload.head.ref,
        head_repository_id=payload.head.repo.id if payload.head.repo else 0,
        base_sha=payload.base.sha,
        base_ref=payload.base.ref,
        base_repository_id=payload.base.repo.id if payload.base.repo else 0,
        author=author.login if author else "",
        author_id=author.id if author else 0,
        draft=payload.draft,
    )


def _pull_request(runner: Runner, payload: Payload) -> RunPlan:
    if payload.pull_request is None:
        raise _lacks(runner.event_name, "pull_request")
    request = pull_request_of(payload.pull_request)
    if payload.action == "closed" or payload.pull_request.state == "closed":
        return RunPlan(
            mode="skip",
            code="pull_request.closed",
            reason=f"pull request {request.number} is closed.",
            pull_request=request,
        )
    code, reason, writing = _standing(runner, payload, request)
    return RunPlan(
        mode="evaluate",
        code=code,
        reason=reason,
        tested_sha=runner.sha,
        report_sha=request.head_sha,
        base_ref=request.base_ref,
        pull_request=request,
        writing=writing,
        comment=writing != "never",
    )


def _standing(runner: Runner, payload: Payload, request: PullRequest) -> tuple[str, str, Writing]:
    """Code, reason and right to write of an open pull request."""
    event = runner.event_name
    if request.from_fork:
        reason = "the head is in a fork: measured here, published by the workflow_run job if there is one."
        return f"{event}.fork", reason, "never"
    if DEPENDABOT in (runner.actor, payload.sender.login):
        reason = "opened by Dependabot, whose runs get a read-only token unless the workflow asks for more."
        return f"{event}.dependabot", reason, "unlikely"
    if event == "pull_request_review":
        return event, "a review arrived: measured again, an approved override takes effect.", "expected"
    if request.draft:
        return "pull_request.draft", "a draft: measured and commented like any other.", "expected"
    default = payload.repository.default_branch
    if default and request.base_ref != default:
        reason = "the base is not the default branch: compared with that branch's own baseline."
        return "pull_request.other-base", reason, "expected"
    return "pull_request", "a pull request of this repository.", "expected"


def _push(runner: Runner, payload: Payload) -> RunPlan:
    ref = payload.ref or runner.ref
    if payload.deleted:
        return RunPlan(mode="skip", code="push.deleted", reason="the branch or tag was deleted.")
    if ref.startswith("refs/tags/"):
        reason = "a tag was pushed: its commit was measured when the branch was, and a tag has no base."
        return RunPlan(mode="skip", code="push.tag", reason=reason)
    if ref.startswith(_QUEUE_PREFIX):
        reason = "a branch of the merge queue: measured by its merge_group event."
        return RunPlan(mode="skip", code="push.queue", reason=reason)
    if not ref.startswith("refs/heads/"):
        raise _lacks("push", "ref")
    branch = ref.removeprefix("refs/heads/")
    return RunPlan(
        mode="record",
        code="push",
        reason="a branch moved: this record is a baseline for pull requests into it.",
        tested_sha=runner.sha,
        report_sha=runner.sha,
        base_ref=branch,
        writing="expected",
        history=branch == payload.repository.default_branch,
    )


def _merge_group(runner: Runner, payload: Payload) -> RunPlan:
    group = payload.merge_group
    if group is None:
        raise _lacks("merge_group", "merge_group")
    if payload.action == "destroyed":
        return RunPlan(mode="skip", code="merge_group.destroyed", reason="the merge group was dissolved.")
    return RunPlan(
        mode="evaluate",
        code="merge_group",
        reason="a merge group: measured and gated; there is no pull request to comment on.",
        tested_sha=runner.sha,
        report_sha=group.head_sha,
        base_ref=group.base_ref.removeprefix("refs/heads/"),
        base_sha=group.base_sha,
        writing="expected",
        merge_group=group,
    )


def _workflow_run(payload: Payload) -> RunPlan:
    run = payload.workflow_run
    if run is None:
        raise _lacks("workflow_run", "workflow_run")
    if payload.action != "completed":
        return RunPlan(mode="skip", code="workflow_run.unfinished", reason="the run has not ended yet.")
    if run.event not in _PULL_REQUEST_EVENTS:
        reason = f"the run was started by {run.event}, not by a pull request: nothing to publish."
        return RunPlan(mode="skip", code="workflow_run.other-event", reason=reason)
    if run.conclusion not in ("success", "failure"):
        reason = f"the run ended as {run.conclusion}: it has no result to publish."
        return RunPlan(mode="skip", code="workflow_run.no-result", reason=reason)
    return RunPlan(
        mode="publish",
        code="workflow_run",
        reason="a run on a pull request has ended: its record is checked, compared and shown from here.",
        report_sha=run.head_sha,
        pull_request=NoPullRequest("to be found from the run's head"),
        writing="expected",
        comment=True,
        source=run,
    )


def _drift(runner: Runner, payload: Payload) -> RunPlan:
    if not runner.ref.startswith("refs/heads/"):
        reason = "started on something that is not a branch: there is no baseline to compare with."
        return RunPlan(mode="skip", code=f"{runner.event_name}.no-branch", reason=reason)
    branch = runner.ref.removeprefix("refs/heads/")
    return RunPlan(
        mode="drift",
        code=runner.event_name,
        reason="measured against the last baseline of this branch.",
        tested_sha=runner.sha,
        report_sha=runner.sha,
        base_ref=branch,
        base_sha=runner.sha,
        writing="expected",
        may_be_pull_request=branch != payload.repository.default_branch,
    )


def for_pull_request(plan: RunPlan, request: PullRequest) -> RunPlan:
    """A run started by hand on a branch with an open pull request: it judges as that pull request's own run would.

    Its check stands on the same commit under the same name, so that anything less could turn a red check green.
    """
    return replace(
        plan,
        mode="evaluate",
        reason=f"started on the head of pull request {request.number}: judged as that pull request.",
        base_ref=request.base_ref,
        base_sha="",
        pull_request=request,
        comment=True,
        may_be_pull_request=False,
    )


def _lacks(event: str, field: str) -> ConfigError:
    return ConfigError("action.bad-event", f"the event {event} carries no `{field}`.")
