"""The questions of the base that the head no longer asks: they are put to the candidate as well.

A baseline record holds its exam whole, but names of askers only as hashes. A name is found again where the candidate's
chunks or questions name it; a name that nobody names opens no chunk, so that our own retrievers can do without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core.labels.evidence import resolve
from rageval_action.core.labels.label_transfer import evidence_key
from rageval_action.core.labels.successors import Successors, follow, names_of, successor_documents
from rageval_action.core.measuring.record_summary import query_sha256
from rageval_action.core.model.access_names import Asker, asker_of
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import (
    Chunk,
    Evidence,
    EvidenceItem,
    EvidenceItems,
    Judgments,
    Query,
    QueryAcl,
    Run,
)

NOBODY = "rageval-unnamed-"
"""Stands before the hash of a name that neither the candidate's chunks nor its questions hold."""


class ToAsk(Struct, frozen=True, kw_only=True):
    """What of the base's exam is still to be put to the candidate.

    Attributes:
        queries: with the base's ids, texts and askers.
        unasked: id -> code, for questions that cannot be put: `no-text`, `no-asker`; later `no-vector`, `no-row`.
    """

    queries: tuple[Query, ...] = ()
    unasked: dict[str, str] = {}


class BaseAnswers(Struct, frozen=True, kw_only=True):
    """The baseline and what the candidate answers to those of its questions that the head does not ask.

    Attributes:
        run: one ranking a query of `queries`, in that order, audited for access.
    """

    baseline: RunRecord
    queries: tuple[Query, ...]
    run: Run
    unasked: dict[str, str] = {}


def to_ask(
    baseline: RunRecord, asked: Sequence[Query], chunks: Iterable[Chunk], *, names_matter: bool
) -> ToAsk:
    """The base's questions that are not among `asked` to the letter and by the same asker.

    Args:
        baseline: whose own questions are the base's exam.
        asked: the head's questions.
        chunks: of the candidate.
        names_matter: the retriever is told who asks by name, so that a stand-in for a name would be a lie.
    """
    known = {(query_sha256(query.text), asker_of(query.acl) if query.acl else None) for query in asked}
    by_asker = baseline.record.exam is not None
    texts = {text for text, _ in known}
    left = [
        row
        for row in baseline.queries
        if ((row.query_sha256, row.acl) not in known if by_asker else row.query_sha256 not in texts)
    ]
    names = _names(asked, chunks) if any(row.acl for row in left) else {}
    queries: list[Query] = []
    unasked: dict[str, str] = {}
    for row in left:
        if not row.query or query_sha256(row.query) != row.query_sha256:
            unasked[row.query_id] = "no-text"
        elif names_matter and row.acl and not _all_named(row.acl, names):
            unasked[row.query_id] = "no-asker"
        else:
            queries.append(_query(row, names))
    return ToAsk(queries=tuple(queries), unasked=unasked)


def _names(asked: Sequence[Query], chunks: Iterable[Chunk]) -> dict[str, str]:
    """`text_hash` of every name that the candidate knows -> the name."""
    found: set[str] = set()
    for query in asked:
        if query.acl:
            found.update((query.acl.tenant, query.acl.principal, *query.acl.groups))
    for acl in {id(chunk.acl): chunk.acl for chunk in chunks if chunk.acl is not None}.values():
        found.update((acl.tenant, *acl.principals, *acl.groups))
    return {text_hash(name): name for name in found if name}


def _all_named(who: Asker, names: Mapping[str, str]) -> bool:
    return all(name in names for name in (who.tenant, who.principal, *who.groups) if name)


def _query(row: QueryRow, names: Mapping[str, str]) -> Query:
    def name(hashed: str) -> str:
        return names.get(hashed, f"{NOBODY}{hashed}") if hashed else ""

    acl = None
    if row.acl is not None:
        groups = tuple(sorted(name(group) for group in row.acl.groups))
        acl = QueryAcl(tenant=name(row.acl.tenant), principal=name(row.acl.principal), groups=groups)
    return Query(
        id=row.query_id,
        text=row.query,
        tags=row.tags,
        type=row.type,
        lang=row.lang,
        acl=acl,
        line=row.line,
    )


class BaseLabels:
    """What the base's questions are judged by in the candidate's corpus.

    Args:
        baseline: whose own judgments they are.
        lookup: the candidate's corpus as hashes. chunks: the same with texts.
    """

    def __init__(self, baseline: RunRecord, lookup: Lookup, chunks: Sequence[Chunk]) -> None:
        self._unit = baseline.record.golden.unit
        self._successors = Successors(Lookup(baseline.corpus), lookup, rechunked=False)
        self._names = names_of(frozenset(name for chunk in chunks for name in (chunk.id, chunk.doc)))
        quoted = [item for row in baseline.queries for item in _items(row.judgments)]
        self._now = successor_documents(tuple(quoted), self._successors, self._names)
        wanted = {self._now.get(doc, doc) for item in quoted for doc in (item.documents or (item.doc,))}
        self._chunks_of: dict[str, list[Chunk]] = {}
        for chunk in chunks if wanted else ():
            if chunk.doc in wanted:
                self._chunks_of.setdefault(chunk.doc, []).append(chunk)
        self._resolved = self._resolve(quoted)

    def of(self, row: QueryRow) -> Judgments:
        """The judgments of one of the baseline's rows."""
        if isinstance(row.judgments, EvidenceItems):
            return EvidenceItems(tuple(self._resolved[evidence_key(item)] for item in row.judgments.items))
        return follow(row.judgments, self._unit, self._successors, self._names).judgments

    def _resolve(self, items: Sequence[EvidenceItem]) -> dict[tuple[str, str, int], EvidenceItem]:
        """Each item under its own key, with the chunks that hold it now."""
        quotes = list({evidence_key(item): item for item in items if item.quote}.values())
        evidence = [
            Evidence(doc=self._now.get(item.doc, item.doc), quote=item.quote, start=item.start)
            for item in quotes
        ]
        found = {
            evidence_key(item): replace(item, chunks=now.chunks)
            for item, now in zip(quotes, resolve(evidence, self._chunks_of).items, strict=True)
        }
        for item in items:
            if not item.quote:
                held = (
                    chunk.id
                    for doc in (item.documents or (item.doc,))
                    for chunk in self._chunks_of.get(self._now.get(doc, doc), ())
                )
                found[evidence_key(item)] = replace(item, chunks=tuple(sorted(held)))
        return found


def _items(judgments: Judgments) -> tuple[EvidenceItem, ...]:
    return judgments.items if isinstance(judgments, EvidenceItems) else ()
