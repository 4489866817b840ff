"""One finished run turned into a record: scores, slices, causes, provenance. No clock, no disk: all of it is handed in."""

from __future__ import annotations

import datetime
import hashlib
import math
import unicodedata
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core import scoring, slices
from rageval_action.core.diagnosis import diagnose, items_of
from rageval_action.core.linking import Linked
from rageval_action.core.measures import Measure
from rageval_action.core.ranking import unit_ids
from rageval_action.core.record import (
    QUERY_TEXT_LIMIT,
    Corpus,
    GitInfo,
    GoldenInfo,
    Mean,
    NoAnswer,
    Quantiles,
    QueryRow,
    Record,
    RetrieverInfo,
    RunRecord,
    SliceInfo,
    SnapshotInfo,
    corpus_of,
)
from rageval_action.core.snapshot import Snapshot
from rageval_action.core.types import Chunk, GoldenSet, Grades, Notice, Query, Ranking, Run, Unanswerable, Unit

TRIVIAL_SHARE = 0.02
"""When k is more than this share of the documents, a hit says little (design §5)."""

MOSTLY = 0.5


class Provenance(Struct, frozen=True, kw_only=True):
    """What only the outside world knows about a run; every field here is exempt from determinism."""

    run_id: str
    created_at: datetime.datetime
    git: GitInfo = GitInfo()
    versions: dict[str, str] = {}
    hardware: dict[str, str | int] = {}
    region: str = ""


class Settings(Struct, frozen=True, kw_only=True):
    """How a run is scored and told.

    Attributes:
        measures: in the order in which they are shown; the headline measure first is not required.
        threshold: score from which a hit on the no-answer track counts; None = not measured.
        keep_texts: whether the record holds the query texts.
        policy: the policy as plain values.
    """

    measures: tuple[Measure, ...]
    k: int
    access: str
    threshold: float | None = None
    keep_texts: bool = True
    unreviewed: int = 0
    policy: dict[str, object] = {}


def assemble(
    golden: GoldenSet, linked: Linked, snapshot: Snapshot, run: Run, settings: Settings, provenance: Provenance
) -> RunRecord:
    """Score `run` and put everything a later reader needs into a record.

    Args:
        golden: the queries that took part, in file order.
        linked: their judgments as used.
        snapshot: what was searched.
        run: one ranking per query of `golden`, in its order, already audited for access.
    """
    corpus = corpus_of(snapshot.chunks)
    pairs = list(zip(golden.queries, run.rankings, strict=True))
    judged = [(query, ranking) for query, ranking in pairs if not isinstance(linked.judgments[query.id], Unanswerable)]
    rankings = [unit_ids(ranking.hits, linked.unit) for _, ranking in judged]
    labels = [scoring.as_labels(linked.judgments[query.id]) for query, _ in judged]
    scores = scoring.score(scoring.batch(rankings, labels), settings.measures)
    by_query: dict[str, dict[str, float | None]] = {
        query.id: {str(measure): _number(values[i]) for measure, values in scores.items()}
        for i, (query, _) in enumerate(judged)
    }
    sight = _Sight(snapshot.chunks, linked.unit)
    rows = tuple(
        _row(query, ranking, linked, settings, corpus, sight, by_query.get(query.id, {})) for query, ranking in pairs
    )
    scored = [row for row in rows if row.scores]
    record = Record(
        run_id=provenance.run_id,
        created_at=provenance.created_at,
        git=provenance.git,
        golden=_golden(golden, linked, rows, settings.unreviewed),
        snapshot=_snapshot(snapshot),
        retriever=RetrieverInfo(
            name=run.retriever,
            parameters=run.parameters,
            depth=run.depth,
            reranker=str(run.parameters.get("reranker", "")),
        ),
        acl_mode="audit" if settings.access == "audit" else "enforce",
        k=settings.k,
        measures=_means(scored, settings.measures),
        unit_measures=_other_unit(judged, linked, snapshot, settings.measures),
        slices={
            name: SliceInfo(n=len(part), measures=_means([scored[i] for i in part], settings.measures))
            for name, part in slices.split(scored).items()
        },
        latency_ms=_latency(run.rankings),
        warm_up=run.warm_up,
        cost=run.cost,
        no_answer=_no_answer(rows, settings.threshold),
        acl_violations=sum(hit.acl_allowed is False for row in rows for hit in row.results),
        errors=sum(bool(row.error) for row in rows),
        policy=settings.policy,
        warnings=_warnings(golden, linked, snapshot, run, settings),
        versions=provenance.versions,
        hardware=provenance.hardware,
        region=provenance.region,
    )
    return RunRecord(record=record, queries=rows, corpus=corpus)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


class _Sight:
    """Who may see which judged id; only restricted chunks are remembered."""

    def __init__(self, chunks: Sequence[Chunk], unit: Unit) -> None:
        self.chunks: dict[str, list[Chunk]] = {}
        restricted = {chunk.doc if unit == "document" else chunk.id for chunk in chunks if chunk.acl is not None}
        for chunk in chunks if restricted else ():
            name = chunk.doc if unit == "document" else chunk.id
            if name in restricted:
                self.chunks.setdefault(name, []).append(chunk)

    def visible(self, query: Query, name: str) -> bool:
        """True when the query may see any chunk of `name`, or is not judged for access."""
        acl = query.acl
        if acl is None or name not in self.chunks:
            return True
        return any(chunk.acl is None or chunk.acl.admits(acl) for chunk in self.chunks[name])


def _row(
    query: Query,
    ranking: Ranking,
    linked: Linked,
    settings: Settings,
    corpus: Corpus,
    sight: _Sight,
    scores: dict[str, float | None],
) -> QueryRow:
    text = unicodedata.normalize("NFC", query.text)
    row = QueryRow(
        query_id=query.id,
        query=query.text[:QUERY_TEXT_LIMIT] if settings.keep_texts else "",
        query_sha256=hashlib.sha256(text.encode()).hexdigest(),
        line=query.line,
        judgments=linked.judgments[query.id],
        tags=query.tags,
        type=query.type,
        lang=query.lang,
        source=query.source,
        principal=query.acl.principal if query.acl else "",
        latency_ms=ranking.latency_ms,
        error=ranking.error,
        scores=scores,
        results=ranking.hits,
    )
    misses = diagnose(
        row, unit=linked.unit, k=settings.k, corpus=corpus, visible=lambda name: sight.visible(query, name)
    )
    return replace(row, misses=misses)


def _means(rows: Sequence[QueryRow], measures: Sequence[Measure]) -> dict[str, Mean]:
    found = {}
    for measure in map(str, measures):
        values = [value for row in rows if (value := row.scores[measure]) is not None]
        mean = float(np.mean(values)) if values else None
        found[measure] = Mean(mean=mean, n=len(values))
    return found


def _other_unit(
    judged: Sequence[tuple[Query, Ranking]], linked: Linked, snapshot: Snapshot, measures: Sequence[Measure]
) -> dict[str, dict[str, Mean]]:
    """Document-level measures beside chunk-level ones, where every judgment is a graded chunk id."""
    kinds = {type(linked.judgments[query.id]) for query, _ in judged}
    if linked.unit != "chunk" or kinds != {Grades}:
        return {}
    doc_of = {chunk.id: chunk.doc for chunk in snapshot.chunks}
    if all(name == doc for name, doc in doc_of.items()):
        return {}
    labels = []
    for query, _ in judged:
        grades: dict[str, int] = {}
        own = linked.judgments[query.id]
        for name, grade in own.grades.items() if isinstance(own, Grades) else ():
            doc = doc_of.get(name, name)
            grades[doc] = max(grade, grades.get(doc, grade))
        labels.append(Grades(grades))
    rankings = [unit_ids(ranking.hits, "document") for _, ranking in judged]
    scores = scoring.score(scoring.batch(rankings, labels), measures)
    means = {}
    for measure, values in scores.items():
        defined = values[~np.isnan(values)]
        means[str(measure)] = Mean(mean=float(defined.mean()) if defined.size else None, n=int(defined.size))
    return {"document": means}


def _golden(golden: GoldenSet, linked: Linked, rows: Sequence[QueryRow], unreviewed: int) -> GoldenInfo:
    unanswerable = sum(isinstance(row.judgments, Unanswerable) for row in rows)
    sources: dict[str, int] = {}
    for row in rows:
        sources[row.source] = sources.get(row.source, 0) + 1
    return GoldenInfo(
        path=golden.path,
        sha256=golden.sha256,
        format=golden.format,
        unit=linked.unit,
        queries=len(rows),
        answerable=len(rows) - unanswerable,
        unanswerable=unanswerable,
        unreviewed=unreviewed,
        sources=sources,
    )


def _snapshot(snapshot: Snapshot) -> SnapshotInfo:
    manifest = snapshot.manifest
    return SnapshotInfo(
        path=snapshot.path,
        fingerprint=manifest.fingerprint,
        build_id=manifest.build_id,
        source_commit=manifest.source_commit,
        model=manifest.model,
        revision=manifest.revision,
        query_prefix=manifest.query_prefix,
        document_prefix=manifest.document_prefix,
        chunker=manifest.chunker,
        metric=manifest.metric,
        dimension=manifest.dimension,
        chunks=manifest.chunks,
        documents=manifest.documents,
    )


def _latency(rankings: Sequence[Ranking]) -> dict[str, Quantiles]:
    stages: dict[str, list[float]] = {}
    for ranking in rankings:
        for stage, value in ranking.latency_ms.items():
            stages.setdefault(stage, []).append(value)
    return {
        stage: Quantiles(p50=float(np.quantile(values, 0.5)), p95=float(np.quantile(values, 0.95)), n=len(values))
        for stage, values in sorted(stages.items())
    }


def _no_answer(rows: Sequence[QueryRow], threshold: float | None) -> NoAnswer:
    track = [row for row in rows if isinstance(row.judgments, Unanswerable)]
    if not track:
        return NoAnswer(n=0, threshold=threshold, reason="the golden set has no unanswerable query")
    if threshold is None:
        return NoAnswer(n=len(track), reason="no score threshold was given")
    answered = [row for row in track if not row.error]
    if not answered:
        return NoAnswer(n=len(track), threshold=threshold, reason="the retriever failed for all of them")
    false = sum(any(hit.score >= threshold for hit in row.results) for row in answered)
    return NoAnswer(n=len(track), threshold=threshold, false_retrieval_rate=false / len(answered))


def _warnings(
    golden: GoldenSet, linked: Linked, snapshot: Snapshot, run: Run, settings: Settings
) -> tuple[Notice, ...]:
    """What the files, the joining and the retriever had to say, then what the numbers themselves need said."""
    notes = [*golden.notices, *snapshot.notices, *linked.notices, *run.notices]
    manifest = snapshot.manifest
    if settings.k > TRIVIAL_SHARE * manifest.documents:
        text = f"k = {settings.k} of {manifest.documents} documents: in a corpus this small a hit is easy"
        notes.append(Notice(code="corpus.small", text=text))
    synthetic = sum(query.source == "synthetic" for query in golden.queries)
    if synthetic > MOSTLY * len(golden.queries):
        text = f"{synthetic} of {len(golden.queries)} queries are synthetic: compare runs, do not quote as quality"
        notes.append(Notice(code="golden.synthetic", text=text))
    hopeless = [query.id for query in golden.queries if query.answerable and not items_of(linked.judgments[query.id])]
    if hopeless:
        text = f"{len(hopeless)} queries have no relevant item and score 0: {', '.join(hopeless[:5])}"
        notes.append(Notice(code="golden.nothing-relevant", text=text))
    return tuple(notes)

