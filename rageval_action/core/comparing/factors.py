"""What differs between two runs beside their scores: the corpus, the set-up, the golden set (design §8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rageval_action.core.model.corpus import Corpus
from rageval_action.core.model.record import FILE_CHECKSUM, Record, SnapshotInfo
from rageval_action.core.model.types import Notice
from rageval_action.core.wording.lists import listed, plural, queries

TURNED_OVER = 0.5
"""From this share of new chunk ids on, a corpus counts as chunked anew."""

MANY_ERRORS = 0.10
"""From this share of failed queries on, a baseline makes any candidate look better."""

RETRIEVAL = ("model", "chunker", "corpus", "snapshot", "retriever", "metric")
"""Factors of which only one should change at a time, or nobody knows which one moved the score."""

UNSTATED = "not stated"
"""Stands where a record says nothing: a snapshot need not name its chunker, and may well have had one."""


class Factor(Struct, frozen=True, kw_only=True):
    """Something about the set-up that is not the same on both sides."""

    name: str
    before: str
    after: str


class Turnover(Struct, frozen=True, kw_only=True):
    """How much of the corpus is still the same.

    Attributes:
        new_ids: share of the candidate's chunks whose id the baseline did not have. same_texts: whose text it had.
        documents_added, documents_removed, documents_kept: counts by document id.
        rewritten: of the chunks whose id the baseline had, the share that holds another text now.
        recut: of the documents that both have, the share that is cut into another number of chunks.
    """

    new_ids: float
    same_texts: float
    documents_added: int
    documents_removed: int
    documents_kept: int
    rewritten: float = 0.0
    recut: float = 0.0

    @property
    def rechunked(self) -> bool:
        """Ids moved, content did not: most ids are new or name another piece, of texts or documents mostly old."""
        old_content = self.same_texts >= TURNED_OVER or self.documents_kept >= self.documents_added
        return old_content and (self.new_ids >= TURNED_OVER or self.in_place)

    @property
    def in_place(self) -> bool:
        """Most ids stayed and name another text, as they do where documents are cut anew and the pieces numbered."""
        return self.new_ids < TURNED_OVER <= min(self.rewritten, self.recut)


class Relabelling(Struct, frozen=True, kw_only=True):
    """How the golden set differs. Every field holds query ids.

    Attributes:
        new, removed: on one side only. changed: same id, other text.
        relabelled: judged by something else. retagged: in other slices.
        stored: the baseline keeps its own labels, since the new ones cannot be applied to it.
        moved: the old labels cannot be applied to the candidate, since their ids have moved.
    """

    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    relabelled: tuple[str, ...] = ()
    retagged: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()


def turnover(before: Corpus, after: Corpus) -> Turnover:
    """Compare two corpora by their hashes."""
    known = _among(after.ids, before.ids)
    rewritten = _rewritten(before, after, known)
    texts = _among(after.texts, before.texts)
    old, new = set(before.docs.tolist()), set(after.docs.tolist())
    kept = len(old & new)
    return Turnover(
        new_ids=1.0 - float(known.mean()) if known.size else 0.0,
        same_texts=float(texts.mean()) if texts.size else 1.0,
        documents_added=len(new) - kept,
        documents_removed=len(old) - kept,
        documents_kept=kept,
        rewritten=rewritten,
        recut=_recut(before, after) if rewritten else 0.0,
    )


def _rewritten(before: Corpus, after: Corpus, known: NDArray[np.bool_]) -> float:
    if not known.any():
        return 0.0
    order = np.argsort(before.ids, kind="stable")
    places = np.searchsorted(before.ids[order], after.ids[known])
    return float((before.texts[order][places] != after.texts[known]).mean())


def _recut(before: Corpus, after: Corpus) -> float:
    old, had = np.unique(before.docs, return_counts=True)
    new, has = np.unique(after.docs, return_counts=True)
    both = _among(new, old)
    differ = had[np.searchsorted(old, new[both])] != has[both]
    return float(differ.mean()) if differ.size else 0.0


def _among(values: NDArray[np.uint64], pool: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of `values` are in `pool`; `np.isin` loads masked arrays, which takes longer than all of this."""
    if not pool.size:
        return np.zeros(values.shape, dtype=np.bool_)
    ordered = np.sort(pool)
    places = np.minimum(np.searchsorted(ordered, values), pool.size - 1)
    found: NDArray[np.bool_] = ordered[places] == values
    return found


def factors(before: Record, after: Record, corpus: Turnover, golden: Relabelling) -> tuple[Factor, ...]:
    """Every part of the set-up that differs, the retrieval side first, then the judging side."""
    old, new = _without_common(before, after), _without_common(after, before)
    found = [
        Factor(name=name, before=told(old), after=told(new))
        for name, told in _COMPARED.items()
        if told(before) != told(after)
    ]
    known = {factor.name for factor in found}
    found += _content(before, after, corpus, known)
    found += _checksums(before, after, golden, known)
    found += _golden(before, after, golden)
    return tuple(found)


def _without_common(record: Record, other: Record) -> Record:
    """`record` with those options of its retriever alone that `other` has not or has otherwise."""
    theirs = other.retriever.parameters
    own = {
        name: value
        for name, value in record.retriever.parameters.items()
        if name not in theirs or theirs[name] != value
    }
    return replace(record, retriever=replace(record.retriever, parameters=own))


def _content(before: Record, after: Record, corpus: Turnover, known: set[str]) -> list[Factor]:
    """Documents or chunks came or went, or texts changed without the chunker; else an unexplained new fingerprint."""
    old, new = before.snapshot, after.snapshot
    counts_changed = corpus.documents_added or corpus.documents_removed or old.chunks != new.chunks
    if counts_changed or (corpus.same_texts < 1.0 and "chunker" not in known):
        told = f"{corpus.documents_added} added, {corpus.documents_removed} removed"
        return [
            Factor(
                name="corpus",
                before=_size(old),
                after=f"{_size(new)}: {told}",
            )
        ]
    if old.fingerprint != new.fingerprint and not known & {"model", "chunker", "metric"}:
        return [Factor(name="snapshot", before=old.fingerprint[:12], after=new.fingerprint[:12])]
    return []


def _size(snapshot: SnapshotInfo) -> str:
    return f"{plural(snapshot.documents, 'document')}, {plural(snapshot.chunks, 'chunk')}"


def _checksums(before: Record, after: Record, golden: Relabelling, known: set[str]) -> list[Factor]:
    """What only its checksum tells apart; a record that has none of something says nothing about it.

    Query vectors are made anew by another model and for other queries; that is told as what it is.
    """
    told = {
        "run file": tuple(str(one.retriever.parameters.get(FILE_CHECKSUM, "")) for one in (before, after))
    }
    if "model" not in known and not (golden.new or golden.removed or golden.changed):
        told["query vectors"] = before.snapshot.query_vectors_sha256, after.snapshot.query_vectors_sha256
    return [
        Factor(name=name, before=old[:12], after=new[:12])
        for name, (old, new) in told.items()
        if old and new and old != new
    ]


def _golden(before: Record, after: Record, golden: Relabelling) -> list[Factor]:
    counts = {
        "relabelled": golden.relabelled,
        "retagged": golden.retagged,
        "new": golden.new,
        "removed": golden.removed,
        "reworded": golden.changed,
    }
    told = ", ".join(f"{len(ids)} {what}" for what, ids in counts.items() if ids)
    if not told:
        return []
    old, new = before.golden.queries, after.golden.queries
    return [Factor(name="golden set", before=queries(old), after=f"{queries(new)}: {told}")]


def _model(record: Record) -> str:
    snapshot = record.snapshot
    parts = [snapshot.model or ("unnamed" if snapshot.dimension else ""), snapshot.revision]
    parts += [f"query prefix {snapshot.query_prefix!r}"] if snapshot.query_prefix else []
    parts += [f"document prefix {snapshot.document_prefix!r}"] if snapshot.document_prefix else []
    parts += [f"{snapshot.dimension} dimensions"] if snapshot.dimension else []
    return " ".join(part for part in parts if part)


def _retriever(record: Record) -> str:
    retriever = record.retriever
    return " ".join(part for part in (retriever.name, retriever.settings, retriever.reranker) if part)


_COMPARED: dict[str, Callable[[Record], str]] = {
    "model": _model,
    "chunker": lambda record: record.snapshot.chunker,
    "metric": lambda record: record.snapshot.metric,
    "retriever": _retriever,
    "access": lambda record: record.acl_mode,
    "k": lambda record: str(record.k),
    "unit": lambda record: record.golden.unit,
    "depth": lambda record: str(record.retriever.depth),
}
"""Factor -> what a record says about it."""


def warnings(
    before: Record,
    after: Record,
    found: Sequence[Factor],
    corpus: Turnover,
    golden: Relabelling,
    uprooted: Sequence[str] = (),
) -> tuple[Notice, ...]:
    """What a reader must know before looking at a number, most important first.

    `uprooted` are the queries whose labels name what has moved.
    """
    notes = _corpus_notes(corpus)
    if corpus.in_place and uprooted:
        text = f"labels no longer mean the same text: {queries(len(uprooted))} ({listed(uprooted)})"
        notes.append(Notice(code="labels.rewritten", text=text))
    if before.errors >= MANY_ERRORS * before.golden.queries:
        text = f"the baseline's retriever failed for {before.errors} of {queries(before.golden.queries)}: "
        notes.append(Notice(code="baseline.errors", text=f"{text}anything looks better than that"))
    mixed = [factor.name for factor in found if factor.name in RETRIEVAL]
    if "chunker" in mixed and not (corpus.documents_added or corpus.documents_removed):
        mixed = [
            name for name in mixed if name != "corpus"
        ]  # another number of chunks is what a chunker is for
    if len(mixed) > 1:
        text = f"{', '.join(mixed)} changed at once: the comparison cannot tell which of them moved the score"
        notes.append(Notice(code="several-factors", text=text))
    notes += _golden_notes(golden)
    depths = before.retriever.depth, after.retriever.depth
    if depths[0] != depths[1]:
        text = f"both sides are scored at depth {min(depths)}, the smaller of the two"
        notes.append(Notice(code="depth", text=text))
    return tuple(notes)


def _corpus_notes(corpus: Turnover) -> list[Notice]:
    if corpus.new_ids < TURNED_OVER:
        rewritten = round(100 * corpus.rewritten)
        text = f"re-chunked: {rewritten} % of the chunk ids that stayed hold another text"
        return [Notice(code="corpus.rechunked", text=text)] if corpus.rechunked else []
    ids, texts = round(100 * corpus.new_ids), round(100 * corpus.same_texts)
    if corpus.rechunked:
        return [
            Notice(code="corpus.rechunked", text=f"re-chunked: {ids} % of ids new, {texts} % of texts known")
        ]
    text = f"another corpus: {ids} % of ids new, {texts} % of texts known, documents kept: {corpus.documents_kept}"
    return [Notice(code="corpus.replaced", text=text)]


def _golden_notes(golden: Relabelling) -> list[Notice]:
    told = {
        "golden.removed": (golden.removed, "no longer in the golden set, so not compared"),
        "golden.reworded": (golden.changed, "reworded, so not compared"),
        "golden.new": (golden.new, "new in the golden set, so not compared"),
        "golden.relabelled": (golden.relabelled, "judged by other labels than before"),
        "golden.retagged": (golden.retagged, "in other slices than before"),
        "labels.stored": (
            golden.stored,
            "scored by its own labels in the baseline, since the new ones name what it did not have",
        ),
        "labels.moved": (golden.moved, "not judged by the old labels, since what these name has moved"),
    }
    return [
        Notice(code=code, text=f"{what}: {queries(len(ids))} ({listed(ids)})")
        for code, (ids, what) in told.items()
        if ids
    ]
