"""One run of the Action from top to bottom: event, baseline, evaluation, results on disk, then publishing."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.action.against import look_up
from rageval_action.action.finish import finish, report_error
from rageval_action.action.forks import publish_fork_run
from rageval_action.action.judging import accepted_override, conclude, result
from rageval_action.action.paths import files_of, keep_inside, of_store
from rageval_action.action.session import Result, Session, save, write_results
from rageval_action.config import FILE, Config, load, read_file
from rageval_action.errors import RagevalError, refused
from rageval_action.github.event import RunPlan, plan_run, read_payload


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
    """Look up what to compare with, evaluate both exams, compare, judge, render."""
    own = _configuration(session)
    pipeline.require(own, "golden", "snapshot")
    before = of_store(session.inputs.baseline_snapshot)
    root = [session.inputs.baseline_root] if session.inputs.baseline_root else []
    places = {"the baseline's snapshot": before, "the base's checkout": root}
    keep_inside(session.runner, files_of(own) | places)
    against = look_up(session, plan, own)
    config = replace(own, policy=against.judging.policy, k=against.judging.policy.k)
    override, remarks = accepted_override(session, plan)
    record = pipeline.evaluate(config, session.world, baseline=against.chosen.record)
    document = conclude(record, against, override, remarks, session.world.today())
    return result(session, plan, record, document, against.chosen, "")


def _configuration(session: Session) -> Config:
    """The checkout's configuration and the workflow's inputs."""
    path = Path(session.inputs.config or FILE)
    keep_inside(session.runner, {"the configuration": [str(path)]})
    file = read_file(path) if session.inputs.config or path.is_file() else {}
    return load({}, session.world.environ, file, where=str(path))
