"""Telling people: comment, check, artifact, history. A failure here loses no result and changes no verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec import Struct
from msgspec.structs import asdict

from rageval_action.action.history_branch import keep_history
from rageval_action.action.inputs import Surface
from rageval_action.action.session import Result, Session
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.errors import EXIT_PUBLISH, RagevalError, refused
from rageval_action.github.api_errors import ApiError
from rageval_action.github.artifact_upload import Uploader, supported
from rageval_action.github.checks import Annotation, CheckRun, Conclusion, publish_check
from rageval_action.github.comment import Marker, own_login, post_comment
from rageval_action.github.event import PullRequest, RunPlan

FORK_HINT = "not published from here: the head is in a fork; see the workflow_run job of docs/action.md."
PERMISSIONS: dict[str, str] = {
    "comment": "pull-requests: write",
    "check": "checks: write (or statuses: write)",
    "artifact": "",
    "history": "contents: write",
}

RECORDING = frozenset({"the folder for results", "the record"})
"""What a push must be able to write, or there would be no baseline and nobody would notice."""


class Published(Struct, frozen=True, kw_only=True):
    """What became of each surface: outputs to add, and the surfaces that failed."""

    outputs: dict[str, str]
    failed: tuple[Surface, ...] = ()


def publish(session: Session, plan: RunPlan, result: Result) -> Published:
    """Comment, check, artifact and history as asked for and as the event allows."""
    markdown = result.comment
    steps: list[tuple[Surface, Callable[[], dict[str, str]]]] = []
    if plan.writing == "never" and (session.inputs.comment or session.inputs.check):
        session.log.annotate("notice", FORK_HINT, title="rageval")
    elif plan.writing != "never":
        if session.inputs.comment and plan.comment:
            steps.append(("comment", lambda: comment(session, plan, markdown)))
        if session.inputs.check:
            steps.append(("check", lambda: check(session, plan, result)))
    if session.inputs.upload_artifact and result.folder:
        steps.append(("artifact", lambda: upload(session, result)))
    if session.inputs.history_branch and plan.history:
        steps.append(("history", lambda: keep_history(session, result)))
    return _each(session, plan, steps)


def comment(session: Session, plan: RunPlan, markdown: str) -> dict[str, str]:
    """Create or update our comment.

    Raises:
        ApiError: it could not be posted.
    """
    request = plan.pull_request
    if not isinstance(request, PullRequest):
        return {}
    api = session.writing
    runner, inputs = session.runner, session.inputs
    marker = Marker(run=runner.run_id, attempt=runner.run_attempt, id=inputs.id, sha=request.head_sha)
    login = own_login(api, session.token, inputs.comment_author)
    posted = post_comment(api, request.number, marker, markdown, login)
    session.log.line(f"Comment {posted.outcome}: {posted.url}")
    if posted.shared:
        text = f"two steps of this run use the id {inputs.id}; give each evaluation its own `id`"
        session.log.annotate("warning", text, title="rageval")
    return {"comment-url": posted.url}


def check(session: Session, plan: RunPlan, result: Result) -> dict[str, str]:
    """Write the check run, or the status that stands in for it.

    Raises:
        ApiError: neither could be written.
    """
    text = result.check
    shown = publish_check(
        session.writing,
        CheckRun(
            name=f"rageval ({session.inputs.id})",
            head_sha=plan.report_sha,
            conclusion=conclusion(result.document),
            title=text.title,
            summary=text.summary,
            details_url=session.runner.run_url,
            annotations=[Annotation(**asdict(remark)) for remark in text.remarks],
        ),
    )
    session.log.line(f"{shown.surface.capitalize()} written: {shown.url}")
    return {"check-url": shown.url}


def error_check(session: Session, plan: RunPlan, error: RagevalError, markdown: str) -> dict[str, str]:
    """Write the check run of a run that measured nothing.

    Raises:
        ApiError: it could not be written.
    """
    shown = publish_check(
        session.writing,
        CheckRun(
            name=f"rageval ({session.inputs.id})",
            head_sha=plan.report_sha,
            conclusion="failure",
            title=f"Retrieval was not measured: {error.code}",
            summary=markdown,
            details_url=session.runner.run_url,
        ),
    )
    return {"check-url": shown.url}


def conclusion(document: ComparisonDocument) -> Conclusion:
    """What the check says; it never contradicts the exit code."""
    if document.exit_code != 0:
        return "failure"
    return "success" if document.verdict == "pass" or document.overridden else "neutral"


def upload(session: Session, result: Result) -> dict[str, str]:
    """Upload the record as an artifact from inside the container.

    Raises:
        ApiError: the service is not there or refused.
    """
    url = session.world.environ.get("ACTIONS_RESULTS_URL", "")
    if not url or not session.runtime_token or not supported(session.runner.server_url):
        raise ApiError("refused", "this server offers no artifact service to container actions.")
    api = session.writing
    uploader = Uploader(url, session.runtime_token, api.budget, api.sessions(), session.log)
    digest = uploader.upload(session.inputs.artifact_name, result.files)
    session.log.line(f"Artifact {session.inputs.artifact_name} uploaded, sha256:{digest}")
    return {}


def exit_code(
    session: Session, plan: RunPlan, verdict: int, published: Published, unwritten: Collection[str] = ()
) -> int:
    """The verdict's exit code, unless that is 0 and a step failed that was required, or a push left no record."""
    if verdict == 0 and plan.mode == "record" and RECORDING & set(unwritten):
        return EXIT_PUBLISH
    required = set(session.inputs.required)
    if plan.mode == "record" and session.inputs.upload_artifact:
        required.add("artifact")  # without it there would be no baseline, and nobody would notice
    if verdict == 0 and required.intersection(published.failed):
        return EXIT_PUBLISH
    return verdict


def _each(
    session: Session, plan: RunPlan, steps: list[tuple[Surface, Callable[[], dict[str, str]]]]
) -> Published:
    outputs: dict[str, str] = {}
    failed: list[Surface] = []
    for surface, step in steps:
        try:
            outputs |= step()
        except (RagevalError, OSError, MemoryError) as error:
            failed.append(surface)
            _explain(session, plan, surface, error if isinstance(error, RagevalError) else refused(error))
    return Published(outputs=outputs, failed=tuple(failed))


def _explain(session: Session, plan: RunPlan, surface: Surface, error: RagevalError) -> None:
    text = f"the {surface} could not be published: {error}"
    forbidden = isinstance(error, ApiError) and error.failure == "forbidden"
    if forbidden and PERMISSIONS[surface]:
        text += f" The job needs `{PERMISSIONS[surface]}`."
    calm = forbidden and plan.writing == "unlikely"
    session.log.annotate("notice" if calm else "warning", text, title="rageval")
