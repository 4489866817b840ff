"""What a run is judged against: the base commit, the baseline, and the policy."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.action.base import Base, Step, has_golden, read_base
from rageval_action.action.base_exam import base_commit, snapshot_baseline
from rageval_action.action.baseline import ChosenBaseline, recorded_baseline
from rageval_action.action.inputs import ActionInputs
from rageval_action.action.policy import JudgingPolicy, judging_policy, tightened
from rageval_action.action.session import Session
from rageval_action.config import FILE, Config
from rageval_action.core.judging.outcomes import BaselineLost, BaselineUnknown, NoBaseline
from rageval_action.core.judging.policy import Policy
from rageval_action.errors import ConfigError, RagevalError
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import PullRequest, RunPlan
from rageval_action.github.repository import commit, merge_base
from rageval_action.world import checked_out

NOTHING = NoBaseline("this run records a baseline; nothing is compared")


class Against(Struct, frozen=True, kw_only=True):
    """The baseline and the policy to judge by."""

    chosen: ChosenBaseline
    judging: JudgingPolicy


def look_up(session: Session, plan: RunPlan, own: Config) -> Against:
    """The baseline that the event asks for, and whose policy counts.

    A pull request and a merge group are judged by the base's policy, other runs by their own. Where the base's snapshot
    is given and no record was found, the base is evaluated here.

    Raises:
        RagevalError: the base's snapshot cannot be evaluated.
    """
    if plan.mode == "record":
        return Against(chosen=ChosenBaseline(baseline=NOTHING), judging=JudgingPolicy(policy=own.policy))
    try:
        sha = base_sha(session, plan)
    except ApiError as error:
        return unknown(f"the base commit could not be looked up: {error.message.rstrip('.')}", own.policy)
    chosen = recorded_baseline(session.reading, session.runner, session.inputs, sha, plan.base_ref)
    if plan.mode == "drift":
        return Against(chosen=chosen, judging=JudgingPolicy(policy=own.policy))
    if plan.merge_group and chosen.record is not None:
        sha = chosen.sha
    try:
        base = read_base(session.reading, session.inputs, session.runner.workflow_path, sha)
    except ApiError as error:
        reason = f"the policy on the base branch could not be looked up: {error.message.rstrip('.')}"
        return Against(chosen=chosen, judging=JudgingPolicy(policy=own.policy, unknown=reason))
    except ConfigError as error:
        return Against(chosen=chosen, judging=JudgingPolicy(policy=own.policy, unknown=str(error)))
    return _judged(session, own, base, chosen)


def unknown(reason: str, policy: Policy) -> Against:
    """Nothing can be compared, and `reason` says why."""
    return Against(
        chosen=ChosenBaseline(baseline=BaselineUnknown(reason)), judging=JudgingPolicy(policy=policy)
    )


def _judged(session: Session, own: Config, base: Base, chosen: ChosenBaseline) -> Against:
    recorded = chosen.record.record if chosen.record else None
    written = Path(session.inputs.config or FILE).is_file()
    judging = judging_policy(base, recorded, own.policy, own_file=written)
    chosen = _completed(session, own, base, chosen, judging)
    if isinstance(chosen.baseline, NoBaseline) and not base.path:
        judging = replace(judging, policy=replace(judging.policy, k=own.k))
    known = chosen.record.record.slices if chosen.record else None
    policy = tightened(judging.policy, own.policy, session.inputs.fail_on, known)
    return Against(chosen=chosen, judging=replace(judging, policy=policy))


def _completed(
    session: Session, own: Config, base: Base, chosen: ChosenBaseline, judging: JudgingPolicy
) -> ChosenBaseline:
    """The rungs below the records, and what stands at the base commit beside an older record."""
    if chosen.record is not None:
        if chosen.record.record.git.sha == base.sha:
            return chosen
        return replace(chosen, base_commit=base_commit(session, base, own))
    if session.inputs.baseline_snapshot:
        return snapshot_baseline(session, base, own, judging.policy, chosen)
    if isinstance(chosen.baseline, NoBaseline):
        return _none_or_lost(session, own, base, chosen, chosen.baseline)
    return chosen


def _none_or_lost(
    session: Session, own: Config, base: Base, chosen: ChosenBaseline, none: NoBaseline
) -> ChosenBaseline:
    """No baseline is a first run only where the base has neither a golden set nor a policy."""
    try:
        if not base.path and not has_golden(base, own, session.world.environ):
            return chosen
    except ApiError as error:
        reason = f"the base commit could not be read: {error.message.rstrip('.')}"
        return replace(chosen, baseline=BaselineUnknown(reason))
    except RagevalError:
        return chosen
    return replace(chosen, baseline=lost(session.inputs, base, none))


def lost(inputs: ActionInputs, base: Base, none: NoBaseline) -> BaselineLost:
    """The base has an evaluation, so that a missing baseline is no first run; it says what to do."""
    return BaselineLost(f"no baseline was found: {none.reason}. {_cure(inputs, base)}")


def _cure(inputs: ActionInputs, base: Base) -> str:
    """What to do about a baseline that is not found: a name was changed, or the base was not recorded."""
    if isinstance(base.step, Step):
        before = base.step.inputs.get("id", "default")
        artifact = base.step.inputs.get("artifact-name", f"rageval-{before}")
        if artifact != inputs.artifact_name and "${{" not in artifact:
            return (
                f"The base records {artifact}, this workflow looks for {inputs.artifact_name}: keep the name"
            )
    return "Run the workflow on the base branch, or give `baseline-snapshot`"


def base_sha(session: Session, plan: RunPlan) -> str:
    """The commit to compare with: first parent of the tested merge commit, whichever way it was checked out.

    Raises:
        ApiError: GitHub could not be asked.
    """
    if plan.base_sha:
        return plan.base_sha
    api = session.reading
    request = plan.pull_request
    if isinstance(request, PullRequest):
        if request.head_sha not in (plan.tested_sha, checked_out(Path.cwd())):
            tested = commit(api, plan.tested_sha)
            if len(tested.parents) >= 2:
                return tested.first_parent
        return merge_base(api, request.base_sha, request.head_sha)
    return commit(api, plan.tested_sha).first_parent
