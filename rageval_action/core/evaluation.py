"""One finished run turned into a record: scores, slices, causes, provenance."""

from __future__ import annotations

import datetime
import functools
import hashlib
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence

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
from rageval_action.core.relabel import Kept, evidence_of
from rageval_action.core.snapshot import Snapshot
from rageval_action.core.types import (
    Chunk,
    EvidenceItem,
    GoldenSet,
    Grades,
    Groups,
    Judgments,
    Notice,
    Query,
    Ranking,
    Run,
    Unanswerable,
    Unit,
)
from rageval_action.errors import GoldenError

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
    golden: GoldenSet,
    linked: Linked,
    snapshot: Snapshot,
    run: Run,
    settings: Settings,
    provenance: Provenance,
) -> RunRecord:
    """Score `run` and put everything a later reader needs into a record.

    Args:
        golden: the queries that took part, in file order.
        linked: their judgments as used.
        snapshot: what was searched.
        run: one ranking per query of `golden`, in its order, already audited for access.
        settings: how to score and what to keep.
        provenance: what only the outside world knows.
    """
    corpus = corpus_of(snapshot.chunks)
    sight = _Sight(snapshot.chunks, linked.unit)
    rows = tuple(
        diagnosed(
            _row(query, ranking, linked.judgments[query.id], settings),
            unit=linked.unit,
            k=settings.k,
            corpus=corpus,
            visible=functools.partial(sight.visible, query),
        )
        for query, ranking in zip(golden.queries, run.rankings, strict=True)
    )
    rows = scored(rows, linked.unit, settings.measures)
    means, parts = summary(rows, settings.measures)
    record = Record(
        run_id=provenance.run_id,
        created_at=provenance.created_at,
        git=provenance.git,
        golden=_golden(golden, linked.unit, rows, settings.unreviewed),
        snapshot=_snapshot(snapshot),
        retriever=RetrieverInfo(
            name=run.retriever,
            parameters=run.parameters,
            depth=run.depth,
            reranker=str(run.parameters.get("reranker", "")),
        ),
        acl_mode="audit" if settings.access == "audit" else "enforce",
        k=settings.k,
        measures=means,
        unit_measures=_other_unit(rows, linked.unit, snapshot, settings.measures),
        slices=parts,
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


def scored(rows: Sequence[QueryRow], unit: Unit, measures: Sequence[Measure]) -> tuple[QueryRow, ...]:
    """The rows with their unrounded scores; rows on the no-answer track have none."""
    judged = [row for row in rows if not isinstance(row.judgments, Unanswerable)]
    rankings = [unit_ids(row.results, unit) for row in judged]
    table = scoring.score(
        scoring.batch(rankings, [scoring.as_labels(row.judgments) for row in judged]), measures
    )
    own = {
        row.query_id: {str(measure): _number(values[i]) for measure, values in table.items()}
        for i, row in enumerate(judged)
    }
    return tuple(replace(row, scores=own.get(row.query_id, {})) for row in rows)


def summary(
    rows: Sequence[QueryRow], measures: Sequence[Measure]
) -> tuple[dict[str, Mean], dict[str, SliceInfo]]:
    """Means over all scored rows, and over each slice of them."""
    judged = [row for row in rows if row.scores]
    parts = {
        name: SliceInfo(n=len(part), measures=_means([judged[i] for i in part], measures))
        for name, part in slices.split(judged).items()
    }
    return _means(judged, measures), parts


def diagnosed(
    row: QueryRow,
    *,
    unit: Unit,
    k: int,
    corpus: Corpus,
    visible: Callable[[str], bool] = lambda _name: True,
) -> QueryRow:
    """The row with a cause for every relevant item outside the top k."""
    return replace(row, misses=diagnose(row, unit=unit, k=k, corpus=corpus, visible=visible))


def rejudged(run: RunRecord, golden: GoldenSet, measures: Sequence[Measure]) -> RunRecord:
    """A record under another golden set's labels: same rankings, new scores, causes and means.

    Rows whose id and text the golden set does not have are left out. Evidence is taken as the record resolved it, or by
    the spans of its hits, since the texts are gone.

    Raises:
        GoldenError: `golden.evidence-needs-texts` when neither is possible; `golden.no-query-matches`.
    """
    queries = {query.id: query for query in golden.queries}
    unit, k = run.record.golden.unit, run.record.k
    kept = [
        replace(
            row,
            judgments=_asked(queries[row.query_id], row, unit, golden.path),
            tags=queries[row.query_id].tags,
            type=queries[row.query_id].type,
            lang=queries[row.query_id].lang,
            source=queries[row.query_id].source,
            line=queries[row.query_id].line,
        )
        for row in run.queries
        if row.query_id in queries and query_sha256(queries[row.query_id].text) == row.query_sha256
    ]
    if not kept:
        text = "no query has the id and text of a query in the record."
        raise GoldenError("golden.no-query-matches", text, where=golden.path)
    rows = tuple(diagnosed(row, unit=unit, k=k, corpus=run.corpus) for row in kept)
    rows = scored(rows, unit, measures)
    means, parts = summary(rows, measures)
    record = replace(
        run.record,
        golden=_golden(golden, unit, rows, run.record.golden.unreviewed),
        measures=means,
        unit_measures={},
        slices=parts,
        no_answer=_no_answer(rows, run.record.no_answer.threshold),
        errors=sum(bool(row.error) for row in rows),
    )
    return RunRecord(record=record, queries=rows, corpus=run.corpus)


def _asked(query: Query, row: QueryRow, unit: Unit, path: str) -> Judgments:
    """A query's judgments without a corpus at hand to resolve them in."""
    if not query.answerable:
        return Unanswerable()
    if unit != "evidence" and query.relevant:
        return Grades(query.relevant)
    if unit != "evidence" and query.any_of:
        return Groups(query.any_of)
    if not query.evidence:
        return Grades(query.relevant) if query.relevant else Groups(query.any_of)
    items = tuple(EvidenceItem(doc=item.doc, quote=item.quote, start=item.start) for item in query.evidence)
    fitted = evidence_of(items, row)
    if isinstance(fitted, Kept):
        hint = "Evaluate again with this golden set: a record holds no texts to look in."
        raise GoldenError(
            "golden.evidence-needs-texts", f"{fitted.reason}.", hint=hint, where=f"{path}:{query.line}"
        )
    return fitted.judgments


def query_sha256(text: str) -> str:
    """SHA-256 of a query's text in NFC and UTF-8: with the id, what makes two rows the same query."""
    return hashlib.sha256(unicodedata.normalize("NFC", text).encode()).hexdigest()


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


class _Sight:
    """Who may see which judged id; only restricted chunks are remembered."""

    def __init__(self, chunks: Sequence[Chunk], unit: Unit) -> None:
        self.chunks: dict[str, list[Chunk]] = {}
        restricted = {
            chunk.doc if unit == "document" else chunk.id for chunk in chunks if chunk.acl is not None
        }
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


def _row(query: Query, ranking: Ranking, judgments: Judgments, settings: Settings) -> QueryRow:
    return QueryRow(
        query_id=query.id,
        query=query.text[:QUERY_TEXT_LIMIT] if settings.keep_texts else "",
        query_sha256=query_sha256(query.text),
        line=query.line,
        judgments=judgments,
        tags=query.tags,
        type=query.type,
        lang=query.lang,
        source=query.source,
        principal=query.acl.principal if query.acl else "",
        latency_ms=ranking.latency_ms,
        error=ranking.error,
        results=ranking.hits,
    )


def _means(rows: Sequence[QueryRow], measures: Sequence[Measure]) -> dict[str, Mean]:
    found = {}
    for measure in map(str, measures):
        values = [value for row in rows if (value := row.scores[measure]) is not None]
        mean = float(np.mean(values)) if values else None
        found[measure] = Mean(mean=mean, n=len(values))
    return found


def _other_unit(
    rows: Sequence[QueryRow], unit: Unit, snapshot: Snapshot, measures: Sequence[Measure]
) -> dict[str, dict[str, Mean]]:
    """Document-level measures beside chunk-level ones, where every judgment is a graded chunk id."""
    judged = [row for row in rows if row.scores]
    doc_of = {chunk.id: chunk.doc for chunk in snapshot.chunks}
    graded = [row.judgments for row in judged if isinstance(row.judgments, Grades)]
    if unit != "chunk" or len(graded) != len(judged) or all(name == doc for name, doc in doc_of.items()):
        return {}
    lifted = [replace(row, judgments=_lifted(own, doc_of)) for row, own in zip(judged, graded, strict=True)]
    return {"document": _means(scored(lifted, "document", measures), measures)}


def _lifted(own: Grades, doc_of: Mapping[str, str]) -> Grades:
    """Chunk grades as document grades: a document is as relevant as its most relevant chunk."""
    grades: dict[str, int] = {}
    for name, grade in own.grades.items():
        doc = doc_of.get(name, name)
        grades[doc] = max(grade, grades.get(doc, grade))
    return Grades(grades)


def _golden(golden: GoldenSet, unit: Unit, rows: Sequence[QueryRow], unreviewed: int) -> GoldenInfo:
    unanswerable = sum(isinstance(row.judgments, Unanswerable) for row in rows)
    sources: dict[str, int] = {}
    for row in rows:
        sources[row.source] = sources.get(row.source, 0) + 1
    return GoldenInfo(
        path=golden.path,
        sha256=golden.sha256,
        format=golden.format,
        unit=unit,
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
        stage: Quantiles(
            p50=float(np.quantile(values, 0.5)), p95=float(np.quantile(values, 0.95)), n=len(values)
        )
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
    hopeless = [
        query.id for query in golden.queries if query.answerable and not items_of(linked.judgments[query.id])
    ]
    if hopeless:
        text = f"{len(hopeless)} queries have no relevant item and score 0: {', '.join(hopeless[:5])}"
        notes.append(Notice(code="golden.nothing-relevant", text=text))
    return tuple(notes)
