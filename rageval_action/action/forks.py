"""Publishing for a fork: another run measured, this one checks its record, compares, judges and renders it anew."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from rageval_action.action.against import Against, lost
from rageval_action.action.base import read_base
from rageval_action.action.baseline import ChosenBaseline, recorded_baseline
from rageval_action.action.finish import finish
from rageval_action.action.judging import accepted_override, conclude, result
from rageval_action.action.policy import JudgingPolicy, judging_policy
from rageval_action.action.session import Result, Session, save, write_results
from rageval_action.core.judging.outcomes import NoBaseline
from rageval_action.core.judging.policy import Policy, default_gates
from rageval_action.core.model.record import MEMBERS, RunRecord, decode
from rageval_action.errors import EXIT_PUBLISH, ConfigError, RagevalError
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import RunPlan
from rageval_action.github.measuring_run import NoTarget, base_commit, candidate_members, find_pull_request
from rageval_action.github.trusted_runs import workflow_file
from rageval_action.github.webhook_types import WorkflowRunPayload
from rageval_action.github.workflow_commands import Level

REMARK = (
    "<sub>Measured by [a run on the pull request's own files]({url}), which its author can change; the record was"
    " checked, compared with the base branch's baseline and judged by the base branch's policy here.</sub>"
)


def publish_fork_run(session: Session, plan: RunPlan) -> int:
    """Show what a run on a fork's pull request measured: its record is checked, compared and rendered here."""
    source = plan.source
    if source is None:
        return 0
    wanted = workflow_file(session.inputs.measuring_workflow or session.inputs.baseline_workflow)
    if not wanted or source.path.partition("@")[0] != wanted:
        reason = (
            f"the run is of {source.path or 'no known workflow'}, not of {wanted}."
            if wanted
            else "set `measuring-workflow` to the file of the workflow that measures."
        )
        return _nothing(session, "warning", reason)
    try:
        api = session.reading
        members = candidate_members(api, source, session.inputs.artifact_name, MEMBERS)
        hint = _hinted_number(members)
        target = find_pull_request(api, source, session.runner.repository_id, hint)
        if isinstance(target, NoTarget):
            return _nothing(session, "notice", target.reason)
        record = decode(members, where=f"the record of run {source.id}")
        base = base_commit(api, target)
    except RagevalError as error:
        _nothing(session, "warning", error.message)
        nothing_there = isinstance(error, ApiError) and error.failure == "not-found"
        return EXIT_PUBLISH if session.inputs.required & {"comment", "check"} and not nothing_there else 0
    plan = replace(plan, pull_request=target, base_ref=target.base_ref, report_sha=target.head_sha)
    result_here = rejudge(session, plan, source, record, base)
    return finish(session, plan, save(session, result_here, keep_record=False))


def _nothing(session: Session, level: Level, reason: str) -> int:
    """Say why nothing is published; that is no failure."""
    session.log.annotate(level, f"nothing is published: {reason}", title="rageval")
    write_results(session, {"verdict": "skipped", "exit-code": "0"}, "")
    return 0


def rejudge(
    session: Session, plan: RunPlan, source: WorkflowRunPayload, record: RunRecord, base: str
) -> Result:
    """Compare and judge another run's record as the base branch would have it: its baseline, its policy.

    Nothing of the record decides how it is judged.
    """
    api = session.reading
    runner = replace(session.runner, workflow_path=source.path.partition("@")[0])
    chosen = recorded_baseline(api, runner, session.inputs, base, plan.base_ref)
    against = _as_the_base_would(session, runner.workflow_path, base, chosen)
    override, remarks = accepted_override(session, plan, base)
    document = conclude(record, against, override, remarks, session.world.today())
    url = f"{session.runner.server_url}/{session.runner.repository}/actions/runs/{source.id}"
    return result(session, plan, record, document, against.chosen, REMARK.format(url=url))


def _as_the_base_would(session: Session, workflow: str, sha: str, chosen: ChosenBaseline) -> Against:
    """The base's policy, else the baseline's; nothing of the head can tighten it, since nothing is checked out."""
    before = chosen.record.record if chosen.record else None
    defaults = Policy(gates=default_gates(before.k if before else 5), k=before.k if before else 5)
    try:
        base = read_base(session.reading, session.inputs, workflow, sha)
    except (ApiError, ConfigError) as error:
        reason = f"the policy on the base branch could not be looked up: {error.message.rstrip('.')}"
        return Against(chosen=chosen, judging=JudgingPolicy(policy=defaults, unknown=reason))
    judging = judging_policy(base, before, defaults, own_file=False)
    if isinstance(chosen.baseline, NoBaseline) and base.path:
        chosen = replace(chosen, baseline=lost(session.inputs, base, chosen.baseline))
    return Against(chosen=chosen, judging=replace(judging, notices=()))


def _hinted_number(members: dict[str, bytes]) -> int:
    """The pull request's number as the record's ref names it (`refs/pull/7/merge`), 0 when it names none."""
    try:
        ref = msgspec.json.decode(members["record.json"], type=_Ref).git.ref
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0
    parts = ref.split("/")
    if len(parts) == 4 and parts[:2] == ["refs", "pull"] and parts[2].isascii() and parts[2].isdigit():
        return int(parts[2][:18])
    return 0


class _Git(msgspec.Struct, frozen=True):
    ref: str = ""


class _Ref(msgspec.Struct, frozen=True):
    git: _Git = _Git()
