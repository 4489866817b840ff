"""One evaluation from top to bottom: read, link, rank, audit, score, record; then compare, judge, document."""

from __future__ import annotations

import datetime

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.config import Config
from rageval_action.core.comparing.comparison import compare
from rageval_action.core.comparing.golden_changes import BaseCommit
from rageval_action.core.judging.document import BaselineInfo, ComparisonDocument, Rung, document
from rageval_action.core.judging.outcomes import BaselineLost, BaselineUnknown, NoBaseline
from rageval_action.core.judging.policy import Policy, measures_of, plain, slices_of
from rageval_action.core.judging.verdict import Override, judge
from rageval_action.core.labels.access import audit
from rageval_action.core.labels.linking import link
from rageval_action.core.measuring.evaluation import Provenance, Settings, assemble
from rageval_action.core.measuring.measures import Measure, headline_measure, ladder, parse_measures
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.snapshot import Snapshot
from rageval_action.core.model.types import GoldenSet, Notice
from rageval_action.core.wording.lists import plural
from rageval_action.errors import ConfigError, GoldenError
from rageval_action.golden.formats import read_golden
from rageval_action.ranker import Ranker, access_mode, ask_base
from rageval_action.snapshots.interface import open_snapshot
from rageval_action.world import World


class Inputs(Struct, frozen=True, kw_only=True):
    """What was read: the golden set without the rows that take no part (counted), and the checked snapshot."""

    golden: GoldenSet
    unreviewed: int
    snapshot: Snapshot


class Baseline(Struct, frozen=True, kw_only=True):
    """A baseline record and where it was found."""

    record: RunRecord
    rung: Rung = "file"
    distance: int | None = None


def evaluate(config: Config, world: World, baseline: RunRecord | None = None) -> RunRecord:
    """Measure one retriever: everything that a later comparison needs, as a record.

    Args:
        config: what to measure, and how.
        world: the handles of the outside.
        baseline: the record that the run will be compared with: its questions are asked as well.

    Raises:
        RagevalError: whatever is wrong with the golden set, the snapshot or the options, before anything is computed.
    """
    settings = settings_of(config)
    inputs = read(config)
    golden, snapshot = inputs.golden, inputs.snapshot
    linked = link(golden, snapshot.chunks, config.unit)
    ranker = Ranker(config, snapshot, world)
    depth = max([config.depth, *(measure.cutoff for measure in settings.measures)])
    by_id = {chunk.id: chunk for chunk in snapshot.chunks}
    run = audit(ranker.rank(golden.queries, depth), golden.queries, by_id)
    base = None if baseline is None else ask_base(ranker, baseline, snapshot, golden.queries, depth, by_id)
    settings = replace(settings, unreviewed=inputs.unreviewed)
    return assemble(golden, linked, snapshot, run, settings, provenance_of(world, config.region), base)


def settings_of(config: Config) -> Settings:
    """How the run is scored and what its record says of that."""
    return Settings(
        measures=chosen_measures(config),
        k=config.k,
        access=access_mode(config),
        threshold=config.no_answer_threshold,
        keep_texts=config.texts,
        policy=plain(config.policy),
        judged=slices_of(config.policy),
        cutoff=config.policy.cutoff,
        review="required" if config.review == "required" else "",
    )


def chosen_measures(config: Config) -> tuple[Measure, ...]:
    """The measures asked for, or the ladder around k, and whatever the gates need."""
    asked = parse_measures(config.measures) if config.measures else ladder(config.k)
    needed = parse_measures([headline_measure(config.k), *measures_of(config.policy)])
    return tuple(dict.fromkeys([*asked, *needed]))


def read(config: Config) -> Inputs:
    """Read and check the golden set and the snapshot; nothing is computed before both are sound."""
    golden, unreviewed = reviewed(read_golden(config.golden), required=config.review == "required")
    return Inputs(golden=golden, unreviewed=unreviewed, snapshot=open_snapshot(config.snapshot))


def reviewed(golden: GoldenSet, *, required: bool) -> tuple[GoldenSet, int]:
    """Leave out rows that were rejected, and with `required` also those that nobody accepted; count them all."""
    kept = tuple(
        q for q in golden.queries if q.review == "accepted" or (q.review == "pending" and not required)
    )
    left = len(golden.queries) - len(kept)
    if not left:
        return golden, 0
    if not kept:
        hint = "Accept rows with `rageval golden review`, or set `review: optional`."
        raise GoldenError("golden.nothing-reviewed", "no row is accepted.", hint=hint, where=golden.path)
    note = Notice(
        code="golden.unreviewed",
        text=f"{plural(left, 'row takes', 'rows take')} no part: rejected, or not accepted by anybody",
    )
    return replace(golden, queries=kept, notices=(*golden.notices, note)), left


def provenance_of(world: World, region: str) -> Provenance:
    """What only the outside world knows about a run."""
    return Provenance(
        run_id=world.new_id(),
        created_at=world.now(),
        git=world.git,
        versions=dict(world.versions()),
        hardware=dict(world.hardware),
        region=region,
    )


def conclude(
    candidate: RunRecord,
    baseline: Baseline | NoBaseline | BaselineUnknown | BaselineLost,
    policy: Policy,
    *,
    today: datetime.date,
    override: Override | None = None,
    base_commit: BaseCommit | None = None,
) -> ComparisonDocument:
    """Compare a record with its baseline, if there is one, and judge it.

    Args:
        candidate: the record to judge.
        baseline: what it is compared with, or why there is nothing.
        policy: the gates.
        today: for waivers.
        override: an accepted exception.
        base_commit: the golden set at the base commit, where the baseline is older; without it every change since the
            baseline counts as the candidate's.
    """
    if not isinstance(baseline, Baseline):
        verdict = judge(policy, candidate, baseline, today=today, override=override)
        return document(verdict, candidate, None, None)
    measures = compared_measures(candidate, policy)
    comparison = compare(baseline.record, candidate, measures, cutoff=policy.cutoff, base_commit=base_commit)
    verdict = judge(policy, candidate, comparison, today=today, override=override)
    return document(verdict, candidate, comparison, baseline_info(baseline, candidate))


def compared_measures(candidate: RunRecord, policy: Policy) -> tuple[Measure, ...]:
    """The candidate's measures and whatever the gates need."""
    return parse_measures([*candidate.record.measures, *measures_of(policy)])


def baseline_info(baseline: Baseline, candidate: RunRecord) -> BaselineInfo:
    """Where the baseline is from, beside the candidate."""
    old, new = baseline.record.record, candidate.record
    return BaselineInfo(
        run_id=old.run_id,
        sha=old.git.sha,
        rung=baseline.rung,
        age_s=(new.created_at - old.created_at).total_seconds(),
        distance=baseline.distance,
    )


def require(config: Config, *names: str) -> None:
    """Refuse to start without these options.

    Raises:
        ConfigError: `config.missing`.
    """
    for name in names:
        if not getattr(config, name):
            hint = f"Give --{name}, or `{name}:` in {config.file}."
            raise ConfigError("config.missing", f"no {name} was given.", hint=hint)
