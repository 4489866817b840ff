"""Two run records, query by query: what changed, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rageval_action.core.comparing.factors import (
    Caveat,
    Factor,
    GoldenChanges,
    Turnover,
    caveats,
    factors,
    turnover,
)
from rageval_action.core.comparing.golden_changes import BaseCommit
from rageval_action.core.comparing.measure_rows import LabelledRun, MeasureTable, measure_table
from rageval_action.core.comparing.query_changes import QueryChange, changes
from rageval_action.core.labels.judged_items import items_of
from rageval_action.core.labels.label_transfer import (
    Applied,
    Kept,
    Relabelled,
    Side,
    moved,
    onto_baseline,
    onto_candidate,
    own,
    rewritten,
    same_labels,
)
from rageval_action.core.measuring.measures import Measure
from rageval_action.core.measuring.query_layout import QueryPair, answerable, lay_out, side_of
from rageval_action.core.measuring.slices import names
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import EvidenceItems, Unanswerable


class PairedQueries(Struct, frozen=True, kw_only=True):
    """Which queries can be compared: same id and same text on both sides."""

    paired: int
    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class LabelsUnchanged(Struct, frozen=True):
    """There is no table under the old labels because labels and slices are the same."""


class Comparison(Struct, frozen=True, kw_only=True):
    """What two records say about each other, before anybody judges it.

    Attributes:
        depth: the depth at which both were scored: the smaller of the two.
        table: under the candidate's labels and slices. old_label_table: under the baseline's.
        golden: how the two golden sets differ.
        queries: every query that got better or worse at the headline measure or is missed, worst first.
        factors: what else changed between the two (model, chunker, …).
        turnover: how much of the corpus is the same.
        uprooted: where the corpus was chunked anew, queries of which at least half the judged items are gone by their
            ids while what they named is not, or name another text by an old label.
        caveats: what a reader must know before looking at a number, most important first.
    """

    baseline: RunRecord
    candidate: RunRecord
    k: int
    depth: int
    pairing: PairedQueries
    table: MeasureTable
    old_label_table: MeasureTable | LabelsUnchanged
    golden: GoldenChanges
    queries: tuple[QueryChange, ...]
    factors: tuple[Factor, ...]
    turnover: Turnover
    uprooted: tuple[str, ...]
    caveats: tuple[Caveat, ...]

    @property
    def turned_over(self) -> bool:
        """The corpus was chunked anew and took the ids of most labels with it: these measure nothing now."""
        return 2 * len(self.uprooted) > len(self.table.ids)


class _LabelledPair(Struct, frozen=True):
    """One paired query: each side's own labels, and the other side's as they fit it."""

    before: QueryRow
    after: QueryRow
    own_old: Applied
    own_new: Applied
    onto_old: Relabelled
    onto_new: Relabelled

    @property
    def new_on_old(self) -> Applied:
        """What the baseline is scored by in the main table."""
        return self.own_old if isinstance(self.onto_old, Kept) else self.onto_old

    @property
    def old_on_new(self) -> Applied:
        """What the candidate is scored by under the old labels."""
        return self.own_new if isinstance(self.onto_new, Kept) else self.onto_new


def compare(
    baseline: RunRecord,
    candidate: RunRecord,
    measures: Sequence[Measure],
    base_commit: BaseCommit | None = None,  # noqa: ARG001
) -> Comparison:
    """Pair two records and work out every row, factor and changed query.

    `measures` are computed from the rankings on both sides at the smaller of the two depths, so that a measure the
    baseline never stored can still be compared.
    """
    old, new = side_of(baseline), side_of(candidate)
    turned = turnover(baseline.corpus, candidate.corpus)
    pairing, pairs = _pair(baseline, candidate)
    fitted = [_fit(before, after, old, new, rechunked=turned.rechunked) for before, after in pairs]
    golden = _golden_changes(pairing, fitted)
    depth = min(baseline.record.retriever.depth, candidate.record.retriever.depth)
    now, then = _tables(fitted, golden, measures, depth)
    found = factors(baseline.record, candidate.record, turned, golden)
    reworded = [row for row in candidate.queries if row.query_id in set(pairing.changed)]
    uprooted = _uprooted(fitted, old, new) if turned.rechunked else ()
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        k=candidate.record.k,
        depth=depth,
        pairing=pairing,
        table=now,
        old_label_table=then,
        golden=golden,
        queries=changes(_laid_out(fitted, old, new, candidate.record.k), reworded, candidate.record.k),
        factors=found,
        turnover=turned,
        uprooted=uprooted,
        caveats=caveats(baseline.record, candidate.record, found, turned, golden, uprooted),
    )


def _pair(baseline: RunRecord, candidate: RunRecord) -> tuple[PairedQueries, list[tuple[QueryRow, QueryRow]]]:
    """Pairs in bytewise order of query id, so that a file's row order decides nothing."""
    before = {row.query_id: row for row in baseline.queries}
    after = {row.query_id: row for row in candidate.queries}
    both = sorted(before.keys() & after.keys())
    changed = tuple(name for name in both if before[name].query_sha256 != after[name].query_sha256)
    pairs = [(before[name], after[name]) for name in both if name not in set(changed)]
    pairing = PairedQueries(
        paired=len(pairs),
        new=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=changed,
    )
    return pairing, pairs


def _fit(before: QueryRow, after: QueryRow, old: Side, new: Side, *, rechunked: bool) -> _LabelledPair:
    return _LabelledPair(
        before=before,
        after=after,
        own_old=own(before, old),
        own_new=own(after, new),
        onto_old=onto_baseline(after, before, old, new, rechunked=rechunked),
        onto_new=onto_candidate(before, after, old, new, rechunked=rechunked),
    )


def _laid_out(fitted: Sequence[_LabelledPair], old: Side, new: Side, k: int) -> list[QueryPair]:
    """Both answers of every query that is answerable on either side."""
    return [
        QueryPair(
            after=lay_out(pair.after, new, k),
            before=lay_out(pair.before, old, k, labels=pair.new_on_old),
        )
        for pair in fitted
        if answerable(pair.after) and not isinstance(pair.new_on_old.judgments, Unanswerable)
    ]


def _golden_changes(pairing: PairedQueries, fitted: Sequence[_LabelledPair]) -> GoldenChanges:
    def where(holds: Sequence[bool]) -> tuple[str, ...]:
        return tuple(pair.after.query_id for pair, hit in zip(fitted, holds, strict=True) if hit)

    return GoldenChanges(
        new=pairing.new,
        removed=pairing.removed,
        changed=pairing.changed,
        relabelled=where([not same_labels(pair.own_old, pair.own_new) for pair in fitted]),
        retagged=where([set(names(pair.before)) != set(names(pair.after)) for pair in fitted]),
        stored=where([isinstance(pair.onto_old, Kept) for pair in fitted]),
        moved=where([isinstance(pair.onto_new, Kept) for pair in fitted]),
    )


def _tables(
    fitted: Sequence[_LabelledPair], golden: GoldenChanges, measures: Sequence[Measure], depth: int
) -> tuple[MeasureTable, MeasureTable | LabelsUnchanged]:
    """Both runs under the candidate's labels and slices, and under the baseline's where these differ."""
    befores, afters = [pair.before for pair in fitted], [pair.after for pair in fitted]
    as_was = LabelledRun(befores, [pair.own_old for pair in fitted])
    now = measure_table(
        LabelledRun(befores, [pair.new_on_old for pair in fitted]),
        LabelledRun(afters, [pair.own_new for pair in fitted]),
        measures,
        depth,
        sliced_by=afters,
        was=as_was if golden.relabelled else None,
        stored=frozenset(golden.stored),
    )
    if not golden.relabelled and not golden.retagged:
        return now, LabelsUnchanged()
    under_old = LabelledRun(afters, [pair.old_on_new for pair in fitted])
    return now, measure_table(as_was, under_old, measures, depth, sliced_by=befores)


def _uprooted(fitted: Sequence[_LabelledPair], old: Side, new: Side) -> tuple[str, ...]:
    """Queries of which at least half the judged items have moved with their ids; evidence does not depend on ids.

    An id that names another text now is no loss where the labels are new as well: they were made for that text.
    """
    found = []
    for pair in fitted:
        items = items_of(pair.own_new.judgments)
        if isinstance(pair.own_new.judgments, EvidenceItems):
            continue
        gone = sum(_lost(item.members, pair, old.lookup, new.lookup) for item in items)
        if gone and 2 * gone >= len(items):
            found.append(pair.after.query_id)
    return tuple(found)


def _lost(names: Sequence[str], pair: _LabelledPair, old: Lookup, new: Lookup) -> bool:
    """True when one of the ids has moved and none of them is still what it was."""
    unit, stale = pair.own_new.unit, same_labels(pair.own_old, pair.own_new)
    held = [name for name in names if new.holds(name, unit)]
    if any(not (stale and rewritten(name, unit, old, new)) for name in held):
        return False
    return any(moved(name, unit, old, new, rechunked=True) for name in names)
