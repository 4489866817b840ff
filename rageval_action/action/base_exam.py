"""The base's own exam: its golden set read at the base commit, its snapshot evaluated by its own configuration."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.action.base import Base, NoStep, configuration, copy_golden, golden_places
from rageval_action.action.baseline import ChosenBaseline
from rageval_action.action.paths import files_of, keep_inside, of_store
from rageval_action.action.ranking_files import changed_since
from rageval_action.action.session import Session
from rageval_action.config import Config
from rageval_action.core.comparing.golden_changes import BaseCommit
from rageval_action.core.judging.outcomes import BaselineLost, BaselineUnknown
from rageval_action.core.judging.policy import Policy
from rageval_action.core.measuring.record_summary import query_sha256
from rageval_action.core.model.access_names import asker_of
from rageval_action.core.model.record import GitInfo, RunRecord
from rageval_action.core.model.types import Query
from rageval_action.errors import RagevalError
from rageval_action.github.api_errors import ApiError
from rageval_action.github.baseline_lookup import MAX_DISTANCE
from rageval_action.github.repository import first_parents
from rageval_action.golden.formats import read_golden
from rageval_action.world import checked_out

NO_CHECKOUT = "`baseline-root` holds no git checkout, so its commit could not be checked"


def snapshot_baseline(
    session: Session, base: Base, own: Config, policy: Policy, chosen: ChosenBaseline
) -> ChosenBaseline:
    """What comes after the artifacts: the base's snapshot, evaluated in this job as the base evaluates itself.

    Golden set, configuration and inputs are the base's. Files of the repository rank only where they are the base's
    too, or where its own checkout is given.

    Raises:
        RagevalError: the base cannot be evaluated.
    """
    snapshot = _absolute(session.inputs.baseline_snapshot)
    try:
        theirs = replace(
            configuration(base, own, session.world.environ), snapshot=snapshot, policy=policy, k=policy.k
        )
        if session.inputs.baseline_root:
            return _from_checkout(session, base, own, theirs, chosen)
        changed = changed_since(base, (own, theirs))
        if changed:
            text = f"{changed[0]} ranks and differs from the base's: give `baseline-root`, a checkout of the base"
            return replace(chosen, baseline=BaselineUnknown(text))
        with _golden_of(base, own, session) as golden:
            if not golden and (missing := _missing(base, own, session)):
                return replace(chosen, baseline=BaselineLost(missing))
            record = _evaluated(session, base.sha, replace(theirs, golden=golden or own.golden))
        record = _renamed(record, golden_places(base, own, session.world.environ)[0])
    except ApiError as error:
        reason = f"the base commit could not be read: {error.message.rstrip('.')}"
        return replace(chosen, baseline=BaselineUnknown(reason))
    return replace(chosen, baseline=pipeline.Baseline(record=record, rung="snapshot"), sha=base.sha)


def _from_checkout(
    session: Session, base: Base, own: Config, theirs: Config, chosen: ChosenBaseline
) -> ChosenBaseline:
    """The same in the base's own checkout, whose commit is checked."""
    root = Path(session.inputs.baseline_root)
    sha = checked_out(root)
    if not sha:
        return replace(chosen, baseline=BaselineUnknown(NO_CHECKOUT))
    if sha != base.sha and sha not in first_parents(session.reading, base.sha, MAX_DISTANCE):
        text = f"`baseline-root` holds {sha[:10]}, which is no commit of the base branch; check out {base.sha[:10]}"
        return replace(chosen, baseline=BaselineUnknown(text))
    runner = replace(session.runner, workspace=os.path.realpath(session.runner.workspace or "."))
    if not theirs.golden:
        theirs = replace(theirs, golden=own.golden)
    with contextlib.chdir(root):
        keep_inside(runner, files_of(theirs) | {"the base's snapshot": of_store(theirs.snapshot)})
        record = _evaluated(session, sha, theirs)
    return replace(chosen, baseline=pipeline.Baseline(record=record, rung="snapshot"), sha=sha)


def _evaluated(session: Session, sha: str, config: Config) -> RunRecord:
    """The record of the base: it names the base's commit, whatever the job has checked out."""
    return pipeline.evaluate(config, replace(session.world, git=GitInfo(sha=sha)))


def _absolute(location: str) -> str:
    """A location that stays the same from another folder; `scheme:place` is left as it is."""
    return location if ":" in location else os.path.normpath(Path.cwd() / location)


@contextlib.contextmanager
def _golden_of(base: Base, own: Config, session: Session) -> Iterator[str]:
    """Location of a copy of the base's golden set, while it is needed; empty where the base has none."""
    with tempfile.TemporaryDirectory(prefix="rageval-base-") as folder:
        found = ""
        for place in golden_places(base, own, session.world.environ):
            found = found or copy_golden(base, place, Path(folder))
        yield found


def _missing(base: Base, own: Config, session: Session) -> str:
    """Why the base's questions are unknown, where it has an evaluation, and its golden set lies in the repository."""
    place = base.root.inside(golden_places(base, own, session.world.environ)[0])
    if not place or (not base.path and isinstance(base.step, NoStep)):
        return ""
    return f"the base commit has no golden set at {place}: keep its name until the change is merged"


def _renamed(record: RunRecord, path: str) -> RunRecord:
    """The record with its golden set under the name in the repository, not under that of its copy."""
    old = record.record.golden.path
    notices = tuple(
        replace(note, text=note.text.replace(old, path), where=note.where.replace(old, path))
        for note in record.record.warnings
    )
    golden = replace(record.record.golden, path=path)
    return replace(record, record=replace(record.record, golden=golden, warnings=notices))


def base_commit(session: Session, base: Base, own: Config) -> BaseCommit | None:
    """The golden set at the base commit, for a baseline that is older; None where it cannot be read.

    Then every change since the baseline counts as the pull request's.

    Args:
        session: for the inputs.
        base: the base commit.
        own: the head's configuration.
    """
    try:
        theirs = configuration(base, own, session.world.environ)
        with _golden_of(base, own, session) as golden:
            if not golden:
                return None
            kept = _rows(golden, theirs)
        head = _rows(own.golden, own)
    except RagevalError:
        return None
    rows = {query.id: replace(query, line=0) for query in kept}
    return BaseCommit(
        asks=frozenset(
            (query_sha256(query.text), asker_of(query.acl) if query.acl else None) for query in kept
        ),
        unchanged=frozenset(query.id for query in head if rows.get(query.id) == replace(query, line=0)),
    )


def _rows(location: str, config: Config) -> tuple[Query, ...]:
    kept, _ = pipeline.reviewed(read_golden(location), required=config.review == "required")
    return kept.queries
