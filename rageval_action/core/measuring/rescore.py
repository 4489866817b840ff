"""A record under another golden set's labels: same rankings, new scores, causes and means."""

from __future__ import annotations

import unicodedata

from msgspec.structs import replace

from rageval_action.core.labels.judged_items import items_of
from rageval_action.core.labels.label_transfer import Kept, Side, evidence_of
from rageval_action.core.labels.linking_notes import JudgedQuery
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
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import (
    EvidenceItem,
    EvidenceItems,
    GoldenSet,
    Grades,
    Groups,
    Judgments,
    Query,
    Unanswerable,
    Unit,
)
from rageval_action.errors import GoldenError


def rejudged(run: RunRecord, golden: GoldenSet, measures: tuple[Measure, ...]) -> RunRecord:
    """Judge the rankings of `run` by the labels of `golden`.

    Rows whose id and text the golden set does not have are left out. Ids are read as the record's unit. Evidence is
    taken as the record resolved it, or by the spans of its hits, since the texts are gone.

    Raises:
        GoldenError: `golden.evidence-needs-texts` when neither is possible; `golden.no-query-matches`.
    """
    queries = {query.id: query for query in golden.queries}
    unit, lookup = run.record.golden.unit, Lookup(run.corpus)
    kept = [
        _relabelled(row, queries[row.query_id], unit, lookup, golden.path)
        for row in run.queries
        if row.query_id in queries and query_sha256(queries[row.query_id].text) == row.query_sha256
    ]
    if not kept:
        text = "no query has the id and text of a query in the record."
        raise GoldenError("golden.no-query-matches", text, where=golden.path)
    old = {row.query_id: row for row in run.queries}
    side = Side(lookup, unit)
    known = [_diagnosed(row, old[row.query_id], side, run.record.k) for row in kept]
    rows = scored(known, unit, run.record.retriever.depth, measures, run.record.cutoff)
    others = [note for note in run.record.warnings if not note.code.startswith("golden.")]
    record = replace(
        run.record,
        golden=golden_info(golden, unit, rows, run.record.golden.unreviewed),
        measures=means(rows, measures),
        unit_measures={},
        slices=slice_means(rows, measures),
        no_answer=no_answer(rows, run.record.no_answer.threshold),
        errors=sum(bool(row.error) for row in rows),
        acl_violations=acl_violations(rows),
        acl_judged=acl_judged(rows),
        warnings=(*golden.notices, *others),
    )
    return RunRecord(record=record, queries=rows, corpus=run.corpus)


def _relabelled(row: QueryRow, query: Query, unit: Unit, lookup: Lookup, path: str) -> QueryRow:
    return row.revised(
        judgments=_judgments(query, row, unit, lookup, path),
        tags=query.tags,
        type=query.type,
        lang=query.lang,
        source=query.source,
        line=query.line,
    )


def _diagnosed(row: QueryRow, old: QueryRow, side: Side, k: int) -> QueryRow:
    """The row with new causes; what the record knew to be hidden from its principal still is."""
    labels = {miss.item for miss in old.misses if miss.cause == "acl-filtered"}
    hidden = {name for item in items_of(old.judgments) if item.label in labels for name in item.members}
    return row.revised(misses=diagnose(lay_out(row, side, k, visible=lambda name: name not in hidden)))


def _judgments(query: Query, row: QueryRow, unit: Unit, lookup: Lookup, path: str) -> Judgments:
    """A query's judgments without a corpus at hand to resolve them in; the rules are those of `core.labels.linking`."""
    if not query.answerable:
        return Unanswerable()
    asked = JudgedQuery(
        query=query,
        grades={_nfc(name): grade for name, grade in query.relevant.items()},
        groups=tuple(tuple(map(_nfc, group)) for group in query.any_of),
        by_evidence=bool(query.evidence) and (unit == "evidence" or not (query.relevant or query.any_of)),
    )
    if asked.by_evidence:
        items = [EvidenceItem(doc=_nfc(e.doc), quote=e.quote, start=e.start) for e in query.evidence]
        return _evidence(items, row, f"{path}:{query.line}")
    if unit == "evidence" and any(lookup.holds(name, "document") for name in asked.wanted):
        whole = [EvidenceItem.whole(group) for group in asked.all_groups]
        return _evidence(whole, row, f"{path}:{query.line}")
    return Groups(asked.all_groups) if asked.groups else Grades(asked.grades)


def _evidence(items: list[EvidenceItem], row: QueryRow, where: str) -> EvidenceItems:
    fitted = evidence_of(items, row)
    if isinstance(fitted, Kept):
        hint = "Evaluate again with this golden set: a record holds no texts to look in."
        raise GoldenError("golden.evidence-needs-texts", f"{fitted.reason}.", hint=hint, where=where)
    return fitted.judgments


def _nfc(name: str) -> str:
    return unicodedata.normalize("NFC", name)
