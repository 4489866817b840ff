"""From a record and a baseline to a judged, rendered result; used where it was measured and where it is published."""

from __future__ import annotations

import datetime

from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.action.against import Against
from rageval_action.action.baseline import ChosenBaseline
from rageval_action.action.session import Result, Session, record_files, render
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.judging.outcomes import BaselineUnknown
from rageval_action.core.judging.verdict import Override
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.types import Notice
from rageval_action.core.wording import escape
from rageval_action.github.event import PullRequest, RunPlan
from rageval_action.github.override import Accepted, NotAccepted, OverrideUnknown, find_override
from rageval_action.github.queue_override import find_group_override


def accepted_override(
    session: Session, plan: RunPlan, base: str
) -> tuple[Override | None, tuple[Notice, ...]]:
    """An accepted exception on the head that is judged, and why requests for one did not count.

    Args:
        session: for the API.
        plan: whose pull request, or merge group, is judged.
        base: the commit that it is compared with.
    """
    if not session.token:
        return None, ()
    found = _asked(session, plan, base)
    if isinstance(found, Accepted):
        return Override(by=found.by, reason=found.reason, sha=found.sha, at=found.at), ()
    if isinstance(found, NotAccepted):
        return None, tuple(Notice(code="override.refused", text=note.rstrip(".")) for note in found.notes)
    text = f"whether somebody accepted this result could not be looked up: {found.reason.rstrip('.')}"
    return None, (Notice(code="override.unknown", text=text),)


def _asked(session: Session, plan: RunPlan, base: str) -> Accepted | NotAccepted | OverrideUnknown:
    api, evaluation, group = session.reading, session.inputs.id, plan.merge_group
    if isinstance(plan.pull_request, PullRequest):
        return find_override(api, plan.pull_request, evaluation)
    if group is None:
        return NotAccepted()
    return find_group_override(api, group, base or group.base_sha, evaluation, session.runner.workflow_path)


def conclude(
    record: RunRecord,
    against: Against,
    override: Override | None,
    remarks: tuple[Notice, ...],
    today: datetime.date,
) -> ComparisonDocument:
    """Compare with the chosen baseline and judge; what is to be known about baseline and policy comes first."""
    chosen, judging = against.chosen, against.judging
    baseline = BaselineUnknown(judging.unknown) if judging.unknown else chosen.baseline
    document = pipeline.conclude(
        record,
        baseline,
        judging.policy,
        today=today,
        override=override,
        base_commit=chosen.base_commit,
    )
    return replace(document, warnings=(*judging.notices, *remarks, *chosen.notices, *document.warnings))


def result(
    session: Session,
    plan: RunPlan,
    record: RunRecord,
    document: ComparisonDocument,
    chosen: ChosenBaseline,
    remark: str,
) -> Result:
    """The rendered result; `remark` is Markdown of our own making."""
    sha = plan.report_sha
    before = chosen.baseline.record if isinstance(chosen.baseline, pipeline.Baseline) else None
    remarks = _remarks(session, plan, document, remark)
    rendered = render(session, record, document, before=before, sha=sha, remarks=remarks)
    return Result(
        record=record,
        document=document,
        baseline_sha=chosen.sha,
        comment=rendered.comment,
        summary=rendered.summary,
        page=rendered.page,
        check=rendered.check,
        files=record_files(record, document),
    )


def _remarks(session: Session, plan: RunPlan, document: ComparisonDocument, remark: str) -> str:
    """What only the Action knows: how to accept, and where the run is."""
    parts = [remark] if remark else []
    if document.exit_code != 0 and isinstance(plan.pull_request, PullRequest):
        named = "" if session.inputs.id == "default" else f"id={session.inputs.id} "
        parts.append(
            f"<sub>To accept this result: somebody with write access, not the author, approves this commit with a"
            f" review that says <code>/rageval accept {named}reason</code>; then run this job again.</sub>"
        )
    short = escape.markdown(plan.report_sha[:10])
    parts.append(
        f"<sub>[This run]({session.runner.run_url}) · {short} · {escape.markdown(session.inputs.id)}</sub>"
    )
    return "\n\n".join(parts)
