"""One evaluation from top to bottom: read, link, rank, audit, score, record; then compare, judge, document."""

from __future__ import annotations

import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.config import Config
from rageval_action.core.comparing.comparison import compare
from rageval_action.core.judging.document import BaselineInfo, ComparisonDocument, Rung, document
from rageval_action.core.judging.outcomes import BaselineUnknown, NoBaseline
from rageval_action.core.judging.policy import Policy, measures_of, plain, slices_of
from rageval_action.core.judging.verdict import Override, judge
from rageval_action.core.labels.access import audit
from rageval_action.core.labels.linking import link
from rageval_action.core.measuring.evaluation import Provenance, Settings, assemble
from rageval_action.core.measuring.measures import Measure, headline_measure, ladder, parse_measures
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.snapshot import Snapshot
from rageval_action.core.model.types import GoldenSet, Notice, Run
from rageval_action.core.wording.lists import plural
from rageval_action.errors import ConfigError, GoldenError
from rageval_action.golden.formats import read_golden
from rageval_action.retrievers.interface import EXTERNAL, Access, Retriever, RetrieverContext, build
from rageval_action.snapshots.encoder import query_encoder
from rageval_action.snapshots.interface import open_snapshot
from rageval_action.snapshots.model import load_model
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


def evaluate(config: Config, world: World) -> RunRecord:
    """Measure one retriever: everything that a later comparison needs, as a record.

    Raises:
        RagevalError: whatever is wrong with the golden set, the snapshot or the options, before anything is computed.
    """
    settings = settings_of(config)
    inputs = read(config)
    golden, snapshot = inputs.golden, inputs.snapshot
    linked = link(golden, snapshot.chunks, config.unit)
    run = rank(config, inputs, max([config.depth, *(measure.cutoff for measure in settings.measures)]), world)
    audited = audit(run, golden.queries, {chunk.id: chunk for chunk in snapshot.chunks})
    settings = replace(settings, unreviewed=inputs.unreviewed)
    return assemble(golden, linked, snapshot, audited, settings, provenance_of(world, config.region))


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
    )


def chosen_measures(config: Config) -> tuple[Measure, ...]:
    """The measures asked for, or the ladder around k, and whatever the gates need."""
    asked = parse_measures(config.measures) if config.measures else ladder(config.k)
    needed = parse_measures([headline_measure(config.k), *measures_of(config.policy)])
    return tuple(dict.fromkeys([*asked, *needed]))


def access_mode(config: Config) -> Access:
    """How access is treated: as configured, else by whose retriever it is.

    What a foreign system returns is judged as it came, also where it is a part of a hybrid or gets reranked.
    """
    if config.access != "auto":
        return config.access
    parts = {config.retriever}
    for value in config.retriever_options.values():
        parts.update(str(value).split(","))
    return "audit" if parts & EXTERNAL else "enforce"


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


def rank(config: Config, inputs: Inputs, depth: int, world: World) -> Run:
    """Let the configured retriever rank every query to `depth` distinct documents.

    What embedding the queries cost is added here, once, however many parts of the retriever shared the vectors.
    """
    load = partial(load_model, environ=world.environ)
    encode = query_encoder(inputs.snapshot, model_path=config.model, load=load)
    context = RetrieverContext(
        snapshot=inputs.snapshot,
        encode=encode,
        options=config.retriever_options,
        access=access_mode(config),
        threads=config.threads,
        environ=world.environ,
    )
    run = _built(config, context).retrieve(inputs.golden.queries, depth)
    return replace(run, cost={**run.cost, **encode.cost}, notices=(*run.notices, *encode.notices))


def _built(config: Config, context: RetrieverContext) -> Retriever:
    """The retriever; what is wrong with its options is said with the file that they stand in."""
    try:
        return build(config.retriever, context)
    except ConfigError as error:
        place = config.retriever_place.removesuffix(": retriever")
        where = ": ".join(filter(None, (place, error.where)))
        raise ConfigError(error.code, error.message, hint=error.hint, where=where) from error


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
    baseline: Baseline | NoBaseline | BaselineUnknown,
    policy: Policy,
    *,
    today: datetime.date,
    override: Override | None = None,
) -> ComparisonDocument:
    """Compare a record with its baseline, if there is one, and judge it."""
    if not isinstance(baseline, Baseline):
        verdict = judge(policy, candidate, baseline, today=today, override=override)
        return document(verdict, candidate, None, None)
    comparison = compare(baseline.record, candidate, compared_measures(candidate, policy))
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
