"""What differs between two runs beside their scores: the corpus, the set-up, the golden set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rageval_action.core.comparing.exams import ExamQuestion
from rageval_action.core.comparing.golden_changes import Pairing
from rageval_action.core.model.corpus import Corpus
from rageval_action.core.model.record import FILE_CHECKSUM, Record, SnapshotInfo
from rageval_action.core.wording.lists import listed, plural, queries

TURNED_OVER = 0.5
"""From this share of new chunk ids on, a corpus counts as chunked anew."""

MANY_ERRORS = 0.10
"""From this share of failed queries on, a baseline makes any candidate look better."""

RETRIEVAL = ("model", "chunker", "corpus", "snapshot", "retriever", "retriever code", "metric")
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
        documents_carried: of the removed ones, those of which at least half of the texts are there under other ids.
        rewritten: of the chunks whose id the baseline had, the share that holds another text now.
        recut: of the documents that both have, the share that is cut into another number of chunks.
    """

    new_ids: float
    same_texts: float
    documents_added: int
    documents_removed: int
    documents_kept: int
    documents_carried: int = 0
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
        documents_carried=_carried(before, after, old - new),
        rewritten=rewritten,
        recut=_recut(before, after) if rewritten else 0.0,
    )


def _carried(before: Corpus, after: Corpus, gone: set[int]) -> int:
    """How many of the documents that are gone by id have at least half of their texts in the index."""
    if not gone:
        return 0
    docs, place = np.unique(before.docs, return_inverse=True)
    kept = np.bincount(place, weights=_among(before.texts, after.texts), minlength=len(docs))
    half = docs[2 * kept >= np.bincount(place, minlength=len(docs))]
    return len(gone.intersection(half.tolist()))


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


def factors(before: Record, after: Record, corpus: Turnover, golden: Pairing) -> tuple[Factor, ...]:
    """Every part of the set-up that differs, the retrieval side first, then the judging side."""
    old, new = _without_common(before, after), _without_common(after, before)
    found = [
        Factor(name=name, before=value(old), after=value(new))
        for name, value in _COMPARED.items()
        if value(before) != value(after)
    ]
    known = {factor.name for factor in found}
    found += _content(before, after, corpus, known)
    found += _code(before.retriever.code, after.retriever.code)
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
        moved = f"{corpus.documents_added} added, {corpus.documents_removed} removed"
        return [Factor(name="corpus", before=_size(old), after=f"{_size(new)}: {moved}")]
    if old.fingerprint != new.fingerprint and not known & {"model", "chunker", "metric"}:
        return [Factor(name="snapshot", before=old.fingerprint[:12], after=new.fingerprint[:12])]
    return []


def _size(snapshot: SnapshotInfo) -> str:
    return f"{plural(snapshot.documents, 'document')}, {plural(snapshot.chunks, 'chunk')}"


def _code(before: Mapping[str, str], after: Mapping[str, str]) -> list[Factor]:
    """The files of the code that ranked whose hashes differ; a side that tracked none states none of them."""
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    told = [
        listed([f"{name} {side[name][:12]}" for name in names if name in side], 3) for side in (before, after)
    ]
    return [Factor(name="retriever code", before=told[0], after=told[1])] if names else []


def _checksums(before: Record, after: Record, golden: Pairing, known: set[str]) -> list[Factor]:
    """What only its checksum tells apart; a record that has none of something says nothing about it.

    Query vectors are made anew by another model and for other queries; these are factors of their own.
    """
    sums = {
        "run file": tuple(str(one.retriever.parameters.get(FILE_CHECKSUM, "")) for one in (before, after))
    }
    if "model" not in known and not (golden.new or golden.removed or golden.reworded):
        sums["query vectors"] = before.snapshot.query_vectors_sha256, after.snapshot.query_vectors_sha256
    return [
        Factor(name=name, before=old[:12], after=new[:12])
        for name, (old, new) in sums.items()
        if old and new and old != new
    ]


def _golden(before: Record, after: Record, golden: Pairing) -> list[Factor]:
    counts = {
        "relabelled": golden.relabelled,
        "retagged": golden.retagged,
        "renamed": golden.renamed,
        "new": golden.new,
        "removed": golden.removed,
        "reworded": golden.reworded,
        "for another asker": golden.access_changed,
    }
    changed = ", ".join(f"{len(ids)} {what}" for what, ids in counts.items() if ids)
    if not changed:
        return []
    old, new = before.golden.queries, after.golden.queries
    return [Factor(name="golden set", before=queries(old), after=f"{queries(new)}: {changed}")]


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


class Caveat(Struct, frozen=True, kw_only=True):
    """What a reader must know before looking at a number, by its code.

    Attributes:
        names: the query ids (`several-factors`: the factors) that it is about.
        turnover: of `corpus.…`. failed, queries: of `baseline.errors`. depth: of `depth`.
    """

    code: str
    names: tuple[str, ...] = ()
    turnover: Turnover | None = None
    failed: int = 0
    queries: int = 0
    depth: int = 0


def caveats(
    before: Record,
    after: Record,
    found: Sequence[Factor],
    corpus: Turnover,
    golden: Pairing,
    base_exam: Sequence[ExamQuestion] = (),
) -> tuple[Caveat, ...]:
    """Every caveat of a comparison, most important first."""
    notes = []
    if corpus.rechunked or corpus.new_ids >= TURNED_OVER:
        code = "corpus.rechunked" if corpus.rechunked else "corpus.replaced"
        notes.append(Caveat(code=code, turnover=corpus))
    by_code = {
        "labels.rewritten": [one for one in base_exam if one.unknown == "other-text"],
        "labels.gone": [one for one in base_exam if one.unknown == "label-gone"],
        "labels.followed": [one for one in base_exam if one.moved],
    }
    notes += [
        Caveat(code=code, names=tuple(one.row.query_id for one in about))
        for code, about in by_code.items()
        if about
    ]
    if before.errors >= MANY_ERRORS * before.golden.queries:
        notes.append(Caveat(code="baseline.errors", failed=before.errors, queries=before.golden.queries))
    mixed = [factor.name for factor in found if factor.name in RETRIEVAL]
    if "chunker" in mixed and not (corpus.documents_added or corpus.documents_removed):
        mixed = [name for name in mixed if name != "corpus"]  # a chunker is there to make other chunks
    if len(mixed) > 1:
        notes.append(Caveat(code="several-factors", names=tuple(mixed)))
    of_golden = {
        "golden.removed": golden.removed,
        "golden.reworded": golden.reworded,
        "golden.new": golden.new,
        "golden.relabelled": golden.relabelled,
        "golden.retagged": golden.retagged,
        "golden.access-changed": golden.access_changed,
        "golden.since-baseline": golden.since_baseline,
    }
    notes += [Caveat(code=code, names=ids) for code, ids in of_golden.items() if ids]
    depths = before.retriever.depth, after.retriever.depth
    if depths[0] != depths[1]:
        notes.append(Caveat(code="depth", depth=min(depths)))
    return tuple(notes)
