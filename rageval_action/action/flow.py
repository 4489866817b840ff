"""One run of the Action from top to bottom: event, baseline, evaluation, results on disk, then publishing."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.action.baseline import Rung, recorded_baseline, snapshot_baseline
from rageval_action.action.finish import finish, tell_error
from rageval_action.action.forks import publish_source
from rageval_action.action.judging import conclude, find_exception, result
from rageval_action.action.paths import files_of, keep_inside, of_store
from rageval_action.action.policy import Judged, base_policy, recorded_policy, tightened
from rageval_action.action.session import Result, Session, save, tell
from rageval_action.config import FILE, Config, load, read_file
from rageval_action.core.judging.policy import Policy
from rageval_action.core.judging.verdict import BaselineUnknown, NoBaseline
from rageval_action.errors import RagevalError, refused
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import Plan, PullRequest, plan, read_payload
from rageval_action.github.repository import commit, merge_base
from rageval_action.world import checked_out

NOTHING = NoBaseline("this run records a baseline; nothing is compared")


def run(session: Session) -> int:
    """Do what the event asks for.

    Raises:
        RagevalError: nothing could be measured, and nobody could be told more than the log and the summary.
    """
    decided = plan(session.runner, read_payload(Path(session.runner.event_path)))
    session.log.line(f"{decided.code}: {decided.reason}")
    if decided.mode == "skip":
        if decided.code == "event.unsupported":
            session.log.annotate("warning", decided.reason, title="rageval")
        tell(session, {"verdict": "skipped", "exit-code": "0"}, "")
        return 0
    if decided.mode == "publish":
        return publish_source(session, decided)
    try:
        try:
            measured = _measure(session, decided)
        except (OSError, MemoryError) as error:
            raise refused(error) from error
    except RagevalError as error:
        tell_error(session, decided, error)
        return error.exit_code
    return finish(session, decided, save(session, measured, keep_record=True))


def _measure(session: Session, decided: Plan) -> Result:
    """Look up what to compare with, evaluate, compare, judge, render."""
    own = _configuration(session)
    pipeline.require(own, "golden", "snapshot")
    before = of_store(session.inputs.baseline_snapshot)
    keep_inside(session.runner, files_of(own) | {"the baseline's snapshot": before})
    rung, judged = _baseline(session, decided, own.policy)
    config = replace(own, policy=_tight(session, judged.policy, own))
    override, remarks = find_exception(session, decided)
    record = pipeline.evaluate(config, session.world)
    if not isinstance(rung.baseline, pipeline.Baseline) and _has_snapshot(session, decided):
        rung = snapshot_baseline(config, session.world, session.inputs.baseline_snapshot, rung)
    told = conclude(record, rung, judged, config.policy, override, remarks, session.world.today())
    return result(session, decided, record, told, rung, "")


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


def _baseline(session: Session, decided: Plan, own: Policy) -> tuple[Rung, Judged]:
    """The baseline as far as GitHub knows one, and the policy to judge by."""
    if decided.mode == "record":
        return Rung(baseline=NOTHING), Judged(policy=own)
    api = session.reading
    try:
        base = _base_sha(session, decided)
    except ApiError as error:
        reason = f"the base commit could not be looked up: {error.message.rstrip('.')}"
        return Rung(baseline=BaselineUnknown(reason)), Judged(policy=own, unknown=reason)
    judged = Judged(policy=own)
    if decided.mode == "evaluate":
        judged = base_policy(api, session.inputs.config, base, own)
    rung = recorded_baseline(api, session.runner, session.inputs, base, decided.base_ref)
    if isinstance(rung.baseline, pipeline.Baseline):
        judged = recorded_policy(judged, rung.baseline.record.record.policy, own)
    return rung, judged


def _base_sha(session: Session, decided: Plan) -> str:
    """The commit to compare with: first parent of the tested merge commit, whichever way it was checked out."""
    if decided.base_sha:
        return decided.base_sha
    api = session.reading
    request = decided.pull_request
    if isinstance(request, PullRequest):
        head_alone = checked_out(Path.cwd()) == request.head_sha
        if not head_alone:
            tested = commit(api, decided.tested_sha)
            if len(tested.parents) >= 2:
                return tested.first_parent
        return merge_base(api, request.base_sha, request.head_sha)
    return commit(api, decided.tested_sha).first_parent


def _has_snapshot(session: Session, decided: Plan) -> bool:
    return bool(session.inputs.baseline_snapshot) and decided.mode != "record"
