"""One run of the Action from top to bottom: event, baseline, evaluation, results on disk, then publishing."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.action.baseline import ChosenBaseline, recorded_baseline, snapshot_baseline
from rageval_action.action.finish import finish, report_error
from rageval_action.action.forks import publish_fork_run
from rageval_action.action.judging import accepted_override, conclude, result
from rageval_action.action.paths import files_of, keep_inside, of_store
from rageval_action.action.policy import JudgingPolicy, base_policy, recorded_policy, tightened
from rageval_action.action.session import Result, Session, save, write_results
from rageval_action.config import FILE, Config, load, read_file
from rageval_action.core.judging.outcomes import BaselineUnknown, NoBaseline
from rageval_action.core.judging.policy import Policy
from rageval_action.errors import RagevalError, refused
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import PullRequest, RunPlan, plan_run, read_payload
from rageval_action.github.repository import commit, merge_base
from rageval_action.world import checked_out

NOTHING = NoBaseline("this run records a baseline; nothing is compared")


def run(session: Session) -> int:
    """Do what the event asks for.

    Raises:
        RagevalError: nothing could be measured, and nobody could be told more than the log and the summary.
    """
    plan = plan_run(session.runner, read_payload(Path(session.runner.event_path)))
    session.log.line(f"{plan.code}: {plan.reason}")
    if plan.mode == "skip":
        if plan.code == "event.unsupported":
            session.log.annotate("warning", plan.reason, title="rageval")
        write_results(session, {"verdict": "skipped", "exit-code": "0"}, "")
        return 0
    if plan.mode == "publish":
        return publish_fork_run(session, plan)
    try:
        try:
            measured = _measure(session, plan)
        except (OSError, MemoryError) as error:
            raise refused(error) from error
    except RagevalError as error:
        report_error(session, plan, error)
        return error.exit_code
    return finish(session, plan, save(session, measured, keep_record=True))


def _measure(session: Session, plan: RunPlan) -> Result:
    """Look up what to compare with, evaluate, compare, judge, render."""
    own = _configuration(session)
    pipeline.require(own, "golden", "snapshot")
    before = of_store(session.inputs.baseline_snapshot)
    keep_inside(session.runner, files_of(own) | {"the baseline's snapshot": before})
    chosen, judging = _baseline(session, plan, own.policy)
    config = replace(own, policy=_tight(session, judging.policy, own))
    override, remarks = accepted_override(session, plan)
    record = pipeline.evaluate(config, session.world)
    if not isinstance(chosen.baseline, pipeline.Baseline) and _has_snapshot(session, plan):
        chosen = snapshot_baseline(config, session.world, session.inputs.baseline_snapshot, chosen)
    document = conclude(record, chosen, judging, config.policy, override, remarks, session.world.today())
    return result(session, plan, record, document, chosen, "")


def _configuration(session: Session) -> Config:
    """The checkout's configuration and the workflow's inputs."""
    path = Path(session.inputs.config or FILE)
    keep_inside(session.runner, {"the configuration": [str(path)]})
    file = read_file(path) if session.inputs.config or path.is_file() else {}
    return load({}, session.world.environ, file, where=str(path))


def _tight(session: Session, policy: Policy, own: Config) -> Policy:
    path = Path(session.inputs.config or FILE)
    written = path.is_file() and "gates" in read_file(path)
    return tightened(policy, fail_on=session.inputs.fail_on, k=own.k, gates_written=written)


def _baseline(session: Session, plan: RunPlan, own: Policy) -> tuple[ChosenBaseline, JudgingPolicy]:
    """The baseline as far as GitHub knows one, and the policy to judge by."""
    if plan.mode == "record":
        return ChosenBaseline(baseline=NOTHING), JudgingPolicy(policy=own)
    api = session.reading
    try:
        base = _base_sha(session, plan)
    except ApiError as error:
        reason = f"the base commit could not be looked up: {error.message.rstrip('.')}"
        return ChosenBaseline(baseline=BaselineUnknown(reason)), JudgingPolicy(policy=own, unknown=reason)
    judging = JudgingPolicy(policy=own)
    if plan.mode == "evaluate":
        judging = base_policy(api, session.inputs.config, base, own)
    chosen = recorded_baseline(api, session.runner, session.inputs, base, plan.base_ref)
    if isinstance(chosen.baseline, pipeline.Baseline):
        judging = recorded_policy(judging, chosen.baseline.record.record.policy, own)
    return chosen, judging


def _base_sha(session: Session, plan: RunPlan) -> str:
    """The commit to compare with: first parent of the tested merge commit, whichever way it was checked out."""
    if plan.base_sha:
        return plan.base_sha
    api = session.reading
    request = plan.pull_request
    if isinstance(request, PullRequest):
        head_alone = checked_out(Path.cwd()) == request.head_sha
        if not head_alone:
            tested = commit(api, plan.tested_sha)
            if len(tested.parents) >= 2:
                return tested.first_parent
        return merge_base(api, request.base_sha, request.head_sha)
    return commit(api, plan.tested_sha).first_parent


def _has_snapshot(session: Session, plan: RunPlan) -> bool:
    return bool(session.inputs.baseline_snapshot) and plan.mode != "record"
