"""One run of the Action from top to bottom: event, baseline, evaluation, results on disk, then publishing."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.action.against import look_up
from rageval_action.action.finish import NoPlan, finish, report_error
from rageval_action.action.forks import publish_fork_run
from rageval_action.action.judging import accepted_override, conclude, result
from rageval_action.action.paths import files_of, keep_inside, of_store
from rageval_action.action.session import Result, Session, save, write_results
from rageval_action.config import FILE, Config, load, read_file
from rageval_action.errors import CannotMeasureError, RagevalError, refused
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import RunPlan, for_pull_request, plan_run, read_payload
from rageval_action.github.measuring_run import Head, open_pull_requests


def run(session: Session) -> int:
    """Do what the event asks for; an error is told wherever a result would be."""
    try:
        plan = plan_run(session.runner, read_payload(Path(session.runner.event_path)))
    except RagevalError as error:
        report_error(session, NoPlan(), error)
        return error.exit_code
    session.log.line(f"{plan.code}: {plan.reason}")
    if plan.mode == "skip":
        if plan.code == "event.unsupported":
            session.log.annotate("warning", plan.reason, title="rageval")
        write_results(session, {"verdict": "skipped", "exit-code": "0"}, "")
        return 0
    try:
        if plan.mode == "publish":
            return publish_fork_run(session, plan)
        plan = _of_branch(session, plan)
        measured = _measure(session, plan)
    except (RagevalError, OSError, MemoryError) as error:
        problem = _without_secrets(plan, error) if isinstance(error, RagevalError) else refused(error)
        report_error(session, plan, problem)
        return problem.exit_code
    return finish(session, plan, save(session, measured, keep_record=True))


def _without_secrets(plan: RunPlan, error: RagevalError) -> RagevalError:
    """A key that is missing on a fork's pull request is nobody's mistake."""
    if error.code != "config.missing-variable" or plan.writing == "expected":
        return error
    text = f"{error.message.rstrip('.')}: GitHub gives no secrets to runs on a fork's or Dependabot's pull request."
    hint = (
        "A snapshot with cached query vectors needs no key: build it with `snapshot build --queries GOLDEN`."
    )
    return CannotMeasureError(error.code, text, hint=hint, where=error.where)


def _measure(session: Session, plan: RunPlan) -> Result:
    """Look up what to compare with, evaluate both exams, compare, judge, render."""
    own = _configuration(session)
    pipeline.require(own, "golden", "snapshot")
    before = of_store(session.inputs.baseline_snapshot)
    root = [session.inputs.baseline_root] if session.inputs.baseline_root else []
    places = {"the baseline's snapshot": before, "the base's checkout": root}
    keep_inside(session.runner, files_of(own) | places)
    against = look_up(session, plan, own)
    config = replace(own, policy=against.judging.policy, k=against.judging.policy.k)
    override, remarks = accepted_override(session, plan, against.chosen.sha)
    record = pipeline.evaluate(config, session.world, baseline=against.chosen.record)
    document = conclude(record, against, override, remarks, session.world.today())
    return result(session, plan, record, document, against.chosen, "")


def _of_branch(session: Session, plan: RunPlan) -> RunPlan:
    """The plan, as a pull request's where the branch that somebody chose has an open one.

    Raises:
        CannotMeasureError: `github.pull-requests-unknown`.
    """
    if not plan.may_be_pull_request:
        return plan
    runner = session.runner
    head = Head(
        owner=runner.repository.partition("/")[0],
        repository_id=runner.repository_id,
        branch=plan.base_ref,
        sha=plan.tested_sha,
    )
    try:
        found = open_pull_requests(session.reading, head, runner.repository_id)
    except ApiError as error:
        text = f"whether this branch has an open pull request could not be looked up: {error.message}"
        hint = "The job needs `pull-requests: read`."
        raise CannotMeasureError("github.pull-requests-unknown", text, hint=hint) from error
    return for_pull_request(plan, found[0]) if found else plan


def _configuration(session: Session) -> Config:
    """The checkout's configuration and the workflow's inputs."""
    path = Path(session.inputs.config or FILE)
    keep_inside(session.runner, {"the configuration": [str(path)]})
    file = read_file(path) if session.inputs.config or path.is_file() else {}
    return load({}, session.world.environ, file, where=str(path))
