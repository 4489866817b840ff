"""One finished run turned into a record: scores, slices, causes, provenance."""

from __future__ import annotations

import datetime
import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from rageval_action.core.labels.judged_items import items_of
from rageval_action.core.labels.label_transfer import Side
from rageval_action.core.labels.linking import Linked, unit_of
from rageval_action.core.measuring import slices
from rageval_action.core.measuring.base_questions import BaseAnswers, BaseLabels
from rageval_action.core.measuring.measures import Measure
from rageval_action.core.measuring.miss_causes import diagnose
from rageval_action.core.measuring.query_layout import lay_out
from rageval_action.core.measuring.record_summary import (
    acl_judged,
    acl_violations,
    golden_info,
    means,
    no_answer,
    query_sha256,
    scored,
    slice_means,
)
from rageval_action.core.model.access_names import Asker, asker_of
from rageval_action.core.model.corpus import Corpus, Lookup, corpus_of
from rageval_action.core.model.hashing import query_key, question_key
from rageval_action.core.model.record import (
    Cutoff,
    Exam,
    GitInfo,
    Mean,
    Quantiles,
    QueryRow,
    Record,
    RetrieverInfo,
    RunRecord,
    SnapshotInfo,
)
from rageval_action.core.model.snapshot import Snapshot
from rageval_action.core.model.types import (
    Chunk,
    GoldenSet,
    Grades,
    Judgments,
    Notice,
    Query,
    Ranking,
    Run,
    Unanswerable,
    Unit,
)
from rageval_action.core.wording.field_checks import near
from rageval_action.core.wording.lists import listed, queries

TRIVIAL_SHARE = 0.02
"""When k is more than this share of the documents, a hit says little."""

NOT_TO_MISS = "all of them fit, so that next to nothing can be missed"

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
    """How a run is scored, and what its record says of that.

    Attributes:
        measures: in the order in which they are shown; the headline measure first is not required.
        threshold: score from which a hit on the no-answer track counts; None = not measured.
        keep_texts: whether the record holds the query texts.
        unreviewed: rows of the golden set that took no part.
        policy: the policy as plain values.
        judged: the slices that the policy names.
        cutoff: what k counts where judgments name documents.
        review: which rows of the golden set take part.
    """

    measures: tuple[Measure, ...]
    k: int
    access: Literal["enforce", "audit"]
    threshold: float | None = None
    keep_texts: bool = True
    unreviewed: int = 0
    policy: dict[str, object] = {}
    judged: tuple[str, ...] = ()
    cutoff: Cutoff = "documents"
    review: Literal["", "required"] = ""


def assemble(
    golden: GoldenSet,
    linked: Linked,
    snapshot: Snapshot,
    run: Run,
    settings: Settings,
    provenance: Provenance,
    base: BaseAnswers | None = None,
) -> RunRecord:
    """Score `run` and put everything a later reader needs into a record.

    Args:
        golden: the queries that took part, in file order.
        linked: their judgments as used.
        snapshot: what was searched.
        run: one ranking per query of `golden`, in its order, already audited for access.
        settings: how to score and what to keep.
        provenance: what only the outside world knows.
        base: the baseline whose exam was asked as well, with the answers to what the head no longer asks.
    """
    corpus = corpus_of(snapshot.chunks)
    rows = _rows(golden, linked, run, settings, corpus, snapshot)
    rows, asked_for_base = _base_rows(rows, base, corpus, snapshot, settings)
    record = Record(
        run_id=provenance.run_id,
        created_at=provenance.created_at,
        git=provenance.git,
        golden=golden_info(golden, linked.unit, rows, settings.unreviewed),
        snapshot=_snapshot(snapshot, golden.queries),
        retriever=RetrieverInfo(
            name=run.retriever,
            parameters=run.parameters,
            depth=run.depth,
            reranker=str(run.parameters.get("reranker", "")),
            code=run.code,
        ),
        acl_mode=settings.access,
        k=settings.k,
        measures=means(rows, settings.measures),
        unit_measures=_other_unit(rows, linked.unit, snapshot.chunks, run.depth, settings.measures),
        slices=slice_means(rows, settings.measures),
        latency_ms=_latency(run.rankings),
        warm_up=run.warm_up,
        cost=run.cost,
        no_answer=no_answer(rows, settings.threshold),
        acl_violations=acl_violations(rows),
        acl_judged=acl_judged(rows),
        errors=sum(bool(row.error) for row in rows),
        policy=settings.policy,
        exam=Exam(
            sha=provenance.git.sha,
            golden_sha256=golden.sha256,
            unit=linked.unit,
            k=settings.k,
            cutoff=settings.cutoff,
            review=settings.review,
            texts=settings.keep_texts,
        ),
        base_exam=base.baseline.record.exam if base else None,
        base_unasked=base.unasked if base else {},
        warnings=(
            *_warnings(golden, linked, snapshot, run, settings.k),
            *_empty_slices(settings.judged, rows),
        ),
        versions=provenance.versions,
        hardware=provenance.hardware,
        region=provenance.region,
    )
    return RunRecord(record=record, queries=rows, corpus=corpus, asked_for_base=asked_for_base)


def _rows(
    golden: GoldenSet,
    linked: Linked,
    run: Run,
    settings: Settings,
    corpus: Corpus,
    snapshot: Snapshot,
) -> tuple[QueryRow, ...]:
    """One row a query, with its scores and a cause for every relevant item outside the top k."""
    side, access = Side(Lookup(corpus), linked.unit), _Access(snapshot.chunks)
    rows = []
    for query, ranking in zip(golden.queries, run.rankings, strict=True):
        row = _row(query, ranking, linked.judgments[query.id], settings, snapshot)
        visible = functools.partial(access.visible, query, unit_of(row.judgments, linked.unit))
        misses = diagnose(lay_out(row, side, settings.k, visible=visible))
        rows.append(row.revised(misses=misses))
    return scored(rows, linked.unit, run.depth, settings.measures, settings.cutoff)


def _base_rows(
    rows: tuple[QueryRow, ...],
    base: BaseAnswers | None,
    corpus: Corpus,
    snapshot: Snapshot,
    settings: Settings,
) -> tuple[tuple[QueryRow, ...], tuple[QueryRow, ...]]:
    """The head's rows with what the base judges them by, and the rows that the base alone asks."""
    if base is None:
        return rows, ()
    labels = BaseLabels(base.baseline, Lookup(corpus), snapshot.chunks)
    theirs = {row.query_id: row for row in base.baseline.queries}
    asked: dict[tuple[str, Asker | None], Judgments] = {}
    for row in base.baseline.queries:
        asked.setdefault((row.query_sha256, row.acl), labels.of(row))
    both = tuple(
        row.revised(asked_for="both", base_judgments=asked[row.query_sha256, row.acl])
        if (row.query_sha256, row.acl) in asked
        else row
        for row in rows
    )
    alone = []
    for query, ranking in zip(base.queries, base.run.rankings, strict=True):
        judged = labels.of(theirs[query.id])
        row = _row(query, ranking, judged, settings, snapshot)
        alone.append(row.revised(asked_for="base", acl=theirs[query.id].acl, base_judgments=judged))
    return both, tuple(alone)


class _Access:
    """Who may see which judged id; only what some chunk restricts is remembered."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        restricted = {chunk.doc for chunk in chunks if chunk.acl is not None}
        self._documents: dict[str, list[Chunk]] = {}
        self._chunks: dict[str, list[Chunk]] = {}
        for chunk in chunks if restricted else ():
            if chunk.doc in restricted:
                self._documents.setdefault(chunk.doc, []).append(chunk)
                self._chunks[chunk.id] = [chunk]

    def visible(self, query: Query, unit: Unit, name: str) -> bool:
        """True when the query may see any chunk of `name`, or is not judged for access."""
        acl = query.acl
        chunks = (self._documents if unit == "document" else self._chunks).get(name)
        if acl is None or chunks is None:
            return True
        return any(chunk.acl is None or chunk.acl.admits(acl) for chunk in chunks)


def _row(
    query: Query, ranking: Ranking, judgments: Judgments, settings: Settings, snapshot: Snapshot
) -> QueryRow:
    vector = snapshot.query_vectors.get(_vector_key(snapshot, query)) if snapshot.query_vectors else None
    asker = asker_of(query.acl) if query.acl else None
    return QueryRow(
        query_id=query.id,
        query=query.text if settings.keep_texts else "",
        query_sha256=query_sha256(query.text),
        query_key=question_key(query.text, asker),
        acl=asker,
        line=0 if query.file else query.line,  # a record knows one file
        judgments=judgments,
        tags=query.tags,
        type=query.type,
        lang=query.lang,
        source=query.source,
        principal=query.acl.principal if query.acl else "",
        latency_ms=ranking.latency_ms,
        error=ranking.error,
        results=ranking.hits,
        vector_sha256="" if vector is None else hashlib.sha256(vector.astype("<f4").tobytes()).hexdigest(),
    )


def _vector_key(snapshot: Snapshot, query: Query) -> str:
    about = snapshot.manifest
    return query_key(model=about.model, revision=about.revision, prefix=about.query_prefix, text=query.text)


def _other_unit(
    rows: Sequence[QueryRow], unit: Unit, chunks: Sequence[Chunk], depth: int, measures: Sequence[Measure]
) -> dict[str, dict[str, Mean]]:
    """Document-level measures beside chunk-level ones, where every judgment is a graded chunk id."""
    judged = [row for row in rows if row.scores]
    doc_of = {chunk.id: chunk.doc for chunk in chunks} if unit == "chunk" else {}
    graded = [row.judgments for row in judged if isinstance(row.judgments, Grades)]
    if len(graded) != len(judged) or all(name == doc for name, doc in doc_of.items()):
        return {}
    lifted = [row.revised(judgments=_lifted(own, doc_of)) for row, own in zip(judged, graded, strict=True)]
    return {"document": means(scored(lifted, "document", depth, measures), measures)}


def _lifted(own: Grades, doc_of: Mapping[str, str]) -> Grades:
    """Chunk grades as document grades: a document is as relevant as its most relevant chunk."""
    grades: dict[str, int] = {}
    for name, grade in own.grades.items():
        doc = doc_of.get(name, name)
        grades[doc] = max(grade, grades.get(doc, grade))
    return Grades(grades)


def _snapshot(snapshot: Snapshot, queries: Sequence[Query]) -> SnapshotInfo:
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
        query_vectors_sha256=_checksum(snapshot, queries),
    )


def _checksum(snapshot: Snapshot, queries: Sequence[Query]) -> str:
    """SHA-256 over the queries' cached vectors, in the order of their keys; empty unless all are cached."""
    if not snapshot.query_vectors:
        return ""
    keys = {_vector_key(snapshot, query) for query in queries}
    if not keys <= snapshot.query_vectors.keys():
        return ""
    digest = hashlib.sha256()
    for key in sorted(keys):
        digest.update(snapshot.query_vectors[key].astype("<f4").tobytes())
    return digest.hexdigest()


def _latency(rankings: Sequence[Ranking]) -> dict[str, Quantiles]:
    stages: dict[str, list[float]] = {}
    for ranking in rankings:
        for stage, value in ranking.latency_ms.items():
            stages.setdefault(stage, []).append(value)
    return {
        stage: Quantiles(p50=_quantile(values, 0.5), p95=_quantile(values, 0.95), n=len(values))
        for stage, values in sorted(stages.items())
    }


def _quantile(values: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics (Hyndman and Fan 1996, type 7), as numpy's default."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _warnings(golden: GoldenSet, linked: Linked, snapshot: Snapshot, run: Run, k: int) -> tuple[Notice, ...]:
    """What the files, the joining and the retriever had to say, then what the numbers themselves need said."""
    notes = [*golden.notices, *snapshot.notices, *linked.notices, *run.notices]
    manifest = snapshot.manifest
    if k > TRIVIAL_SHARE * manifest.documents:
        easy = "in a corpus this small a hit is easy"
        text = f"k = {k} of {manifest.documents} documents: {easy if k < manifest.documents else NOT_TO_MISS}"
        notes.append(Notice(code="corpus.small", text=text))
    synthetic = sum(query.source == "synthetic" for query in golden.queries)
    if synthetic > MOSTLY * len(golden.queries):
        text = f"{synthetic} of {len(golden.queries)} queries are synthetic: compare runs, do not quote as quality"
        notes.append(Notice(code="golden.synthetic", text=text))
    hopeless = [
        query.id for query in golden.queries if query.answerable and not items_of(linked.judgments[query.id])
    ]
    if hopeless:
        text = f"nothing relevant to find, scored 0: {queries(len(hopeless))} ({listed(hopeless)})"
        notes.append(Notice(code="golden.nothing-relevant", text=text))
    return tuple(notes)


def _empty_slices(judged: Sequence[str], rows: Sequence[QueryRow]) -> list[Notice]:
    """Slices that gates judge and no answerable query is in: misspelt, most likely, and never measured."""
    known = slices.split([row for row in rows if not isinstance(row.judgments, Unanswerable)])
    return [
        Notice(
            code="policy.empty-slice",
            text=f'a gate or a waiver is about "{name}", in which there is no query{near(name, known)}',
        )
        for name in judged
        if name not in known
    ]
