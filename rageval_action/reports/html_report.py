"""The HTML report: the view, and every query with both rankings, as columns that stay small as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from rageval_action.core.comparing.loss_clusters import clusters
from rageval_action.core.comparing.query_changes import QueryChange
from rageval_action.core.comparing.query_pairs import query_pairs
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.measuring import slices
from rageval_action.core.measuring.query_layout import (
    QueryLayout,
    QueryPair,
    answerable,
    recall_curve,
)
from rageval_action.core.model.record import Record, RunRecord
from rageval_action.core.wording import escape, lists, numbers
from rageval_action.reports import notes
from rageval_action.reports.html_file import document as html_document
from rageval_action.reports.view import ReportView, view
from rageval_action.reports.view_types import ClusterLine, Fact

SHOWN = 10
"""Hits of each ranking at least; never fewer than k."""

DEEPEST = 50
"""Largest k of the curve."""

RELEVANT, DENIED = 1, 2
"""Bits of a hit's flag."""

SNIPPET = 240

EXACT = 6
"""Decimals of numbers that the page rounds again to fewer."""


class Names:
    """Every outside string once: rankings repeat the same ids by the thousand."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """Index of `text`."""
        return self._places.setdefault(text, len(self._places))

    def all(self) -> list[str]:
        """The strings in order of their index."""
        return list(self._places)


class Texts:
    """The texts that are shown, each once, by the order in which they were first asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts, self._shown = texts, Names()

    def places(self, layout: QueryLayout, most: int) -> list[int]:
        """Key of the text of each of the first `most` hits, -1 where it is not at hand; empty without any texts."""
        if not self._texts:
            return []
        passages = layout.passages
        hashes = [passages.get(name, "") for name in layout.ranked[:most]]
        return [self._shown.place(hashed) if hashed in self._texts else -1 for hashed in hashes]

    def snippets(self) -> dict[int, str]:
        """Key -> a short piece on one line."""
        return {
            place: escape.cap(escape.visible(self._texts[hashed]), SNIPPET)
            for place, hashed in enumerate(self._shown.all())
        }


class QueryColumns(Struct, frozen=True, kw_only=True):
    """One entry a query in each list; numbers in `by`, `slices`, `item` and the rankings are places in `names`.

    Attributes:
        change: as in the comparison, or `same`, `new` (not compared), `unanswerable`.
        before, after: rank of the item the row is about (0 = not ranked).
        base, score: share of what should be found within k; None for an unanswerable query.
        margin_before, margin: best relevant score less best other one.
        ranking_before, ranking: place, score, flag of each hit in turn.
        passages_before, passages: for each of these hits the key in `Page.texts` of the chunk that has the score, or -1
            where its text is not at hand; empty when no texts are.
    """

    id: list[str]
    text: list[str]
    line: list[int]
    change: list[str]
    cause: list[str]
    why: list[list[str]]
    by: list[list[int]]
    slices: list[list[int]]
    item: list[int]
    before: list[int]
    after: list[int]
    base: list[float | None]
    score: list[float | None]
    margin_before: list[float | None]
    margin: list[float | None]
    latency_before: list[float | None]
    latency: list[float | None]
    error: list[str]
    ranking_before: list[list[float]]
    ranking: list[list[float]]
    passages_before: list[list[int]]
    passages: list[list[int]]


class Curve(Struct, frozen=True, kw_only=True):
    """Recall at k from 1 up; `before` is empty without a baseline."""

    before: list[float]
    after: list[float]


class Page(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """Everything in the HTML report. `texts_note` says which texts are missing, and why; empty when none need be."""

    schema_name: Literal["rageval.page/1"] = "rageval.page/1"
    view: ReportView
    clusters: tuple[ClusterLine, ...]
    k: int
    threshold: float | None
    names: list[str]
    texts: dict[int, str]
    texts_note: str
    queries: QueryColumns
    curve: Curve
    provenance: tuple[tuple[str, str, str], ...]
    commands: tuple[Fact, ...]
    source: str


def html(page: Page) -> str:
    """The report of a run as one document."""
    return html_document(
        "report.html",
        ("d3", "plot", "charts", "table", "report"),
        page,
        title=f"{page.view.title} · retrieval report",
        footer=page.view.footer,
    )


def page(
    document: ComparisonDocument,
    candidate: RunRecord,
    baseline: RunRecord | None = None,
    *,
    texts: Mapping[str, str] | None = None,
    texts_note: str = "",
    source: str = "",
) -> Page:
    """Everything the report shows.

    Args:
        document: the comparison, as it was judged.
        candidate: the record that was measured.
        baseline: the record it was compared with, where it is at hand.
        texts: `text_hash` of a chunk -> its text, from whatever snapshot: a hash never shows another one's text.
        texts_note: what a reader must know about them.
        source: address that a line number can be put behind (`…/golden.jsonl#L`), or empty.
    """
    record, names = candidate.record, Names()
    pairs = query_pairs(candidate, baseline)
    parts = {pair.after.row.query_id: slices.names(pair.after.row) for pair in pairs}
    shown = Texts(texts or {})
    columns = _columns(pairs, document, record.k, names, shown)
    deepest = min(record.retriever.depth, DEEPEST)
    return Page(
        view=view(document, record, before=baseline.record if baseline else None, most=0),
        clusters=notes.groups(clusters(document.queries, parts)),
        k=record.k,
        threshold=record.no_answer.threshold,
        names=names.all(),
        texts=shown.snippets(),
        texts_note=texts_note,
        queries=columns,
        curve=Curve(
            before=_rounded(recall_curve([pair.before for pair in pairs if pair.before], deepest)),
            after=_rounded(recall_curve([pair.after for pair in pairs], deepest)),
        ),
        provenance=provenance(record, baseline.record if baseline else None),
        commands=commands(record, baseline.record if baseline else None),
        source=source,
    )


def _rounded(values: Sequence[float]) -> list[float]:
    return [numbers.rounded(value, EXACT) for value in values]


def _columns(
    pairs: Sequence[QueryPair], document: ComparisonDocument, k: int, names: Names, texts: Texts
) -> QueryColumns:
    changes = {change.id: change for change in document.queries}
    rows = [_row(pair, changes.get(pair.after.row.query_id), k, names, texts) for pair in pairs]
    columns: dict[str, list[Any]] = {
        name: [row[name] for row in rows] for name in QueryColumns.__struct_fields__
    }
    return QueryColumns(**columns)


def _row(
    pair: QueryPair, change: QueryChange | None, k: int, names: Names, texts: Texts
) -> dict[str, object]:
    row, after, before = pair.after.row, pair.after, pair.before
    asked = answerable(row)
    item = change.item if change else (after.items[0].label if after.items else "")
    miss = row.misses[0] if row.misses and change is None else None
    return {
        "id": row.query_id,
        "text": row.query,
        "line": row.line,
        "change": _kind(pair, change),
        "cause": change.cause if change else miss.cause if miss else "",
        "why": list(change.tags if change else miss.tags if miss else ()),
        "by": [names.place(name) for name in (change.by if change else miss.by if miss else ())],
        "slices": [names.place(name) for name in slices.names(row)],
        "item": names.place(item),
        "before": (change.baseline_rank or 0) if change else before.first if before else 0,
        "after": (change.candidate_rank or 0) if change else after.first,
        "base": _found(before, k) if before and asked else None,
        "score": _found(after, k) if asked else None,
        "margin_before": _number(before.margin if before else None),
        "margin": _number(after.margin),
        "latency_before": _number(before.row.latency_ms.get("total") if before else None),
        "latency": _number(row.latency_ms.get("total")),
        "error": row.error,
        "ranking_before": _ranking(before, k, names) if before else [],
        "ranking": _ranking(after, k, names),
        "passages_before": texts.places(before, max(k, SHOWN)) if before else [],
        "passages": texts.places(after, max(k, SHOWN)),
    }


def _kind(pair: QueryPair, change: QueryChange | None) -> str:
    if change is not None:
        return change.change
    if not answerable(pair.after.row):
        return "unanswerable"
    return "new" if pair.before is None else "same"


def _found(side: QueryLayout, k: int) -> float | None:
    if not side.ranks:
        return None
    return numbers.rounded(sum(0 < rank <= k for rank in side.ranks) / len(side.ranks), EXACT)


def _number(value: float | None) -> float | None:
    return None if value is None else numbers.rounded(value, 4)


def _ranking(side: QueryLayout, k: int, names: Names) -> list[float]:
    relevant, denied = side.relevant, side.denied
    flat: list[float] = []
    for name, score in list(zip(side.ranked, side.scores, strict=True))[: max(k, SHOWN)]:
        flag = RELEVANT * (name in relevant) + DENIED * (name in denied)
        flat += (names.place(name), numbers.rounded(score, 4), flag)
    return flat


def provenance(record: Record, before: Record | None) -> tuple[tuple[str, str, str], ...]:
    """What was measured, with what: name, baseline's value, candidate's value."""
    new, old = _described(record), _described(before) if before else {}
    return tuple((name, old.get(name, ""), value) for name, value in new.items() if value or old.get(name))


def _described(record: Record) -> dict[str, str]:
    golden, snapshot, retriever = record.golden, record.snapshot, record.retriever

    def pairs(values: Mapping[str, object]) -> str:
        return ", ".join(f"{name} {value}" for name, value in values.items())

    return {
        "run": record.run_id,
        "recorded": record.created_at.isoformat(),
        "commit": record.git.sha,
        "ref": record.git.ref,
        "golden set": golden.path,
        "golden set, SHA-256": golden.sha256,
        "queries": f"{golden.queries:,} ({golden.answerable:,} answerable), unit {golden.unit}",
        "sources": pairs(golden.sources),
        "snapshot": snapshot.path,
        "snapshot fingerprint": snapshot.fingerprint,
        "model": " ".join(part for part in (snapshot.model, snapshot.revision) if part),
        "prefixes": " / ".join(part for part in (snapshot.query_prefix, snapshot.document_prefix) if part),
        "chunker": snapshot.chunker,
        "metric": f"{snapshot.metric}, {snapshot.dimension} dimensions" if snapshot.metric else "",
        "corpus": f"{lists.plural(snapshot.chunks, 'chunk')} of {lists.plural(snapshot.documents, 'document')}",
        "retriever": " ".join(part for part in (retriever.name, pairs(retriever.parameters)) if part),
        "reranker": retriever.reranker,
        "depth": str(retriever.depth),
        "access": record.acl_mode,
        "warm-up": lists.queries(record.warm_up),
        "cost": pairs(record.cost),
        "versions": pairs(record.versions),
        "hardware": pairs(record.hardware),
        "region": record.region,
    }


def commands(record: Record, before: Record | None) -> tuple[Fact, ...]:
    """How to make this run again, and how to look closer."""
    golden = " ".join(f"--golden {shlex.quote(path)}" for path in record.golden.path.split(", "))
    snapshot = shlex.quote(record.snapshot.path)
    kept = [
        f"--retriever {shlex.quote(record.retriever.name)}",
        f"--depth {record.retriever.depth}",
        f"--k {record.k}",
    ]
    kept += [f"--unit {record.golden.unit}", f"--access {record.acl_mode}"]
    sha = record.git.sha
    found = [Fact("Check out the commit", f"git checkout {shlex.quote(sha)}")] if sha else []
    run = f"rageval evaluate {golden} --snapshot {snapshot} {' '.join(kept)} --out run"
    found.append(Fact("Measure again", run))
    if before is not None:
        found.append(Fact("Compare with the baseline's record", "rageval compare baseline run"))
        found.append(Fact("Look at one query", "rageval explain QUERY run --baseline baseline"))
    else:
        found.append(Fact("Look at one query", "rageval explain QUERY run"))
    return tuple(found)
