"""Two runs under one exam, measure by measure and slice by slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rageval_action.core.comparing.exams import ExamName, ExamQuestion
from rageval_action.core.labels.linking import unit_of
from rageval_action.core.measuring import slices
from rageval_action.core.measuring.measures import Measure
from rageval_action.core.measuring.row_scores import Judged, row_scores
from rageval_action.core.model.record import Cutoff, QueryRow
from rageval_action.core.model.types import Unanswerable, Unit
from rageval_action.core.statistics.drop_rules import Drop
from rageval_action.core.statistics.paired_comparison import (
    Interval,
    Paired,
    Reading,
    guarded_bounds_all,
    holm,
    paired_all,
    read,
)

MARGIN = 0.02
"""The drop that the reading `not_worse` rules out; gates have their own."""

Values = NDArray[np.float64]
Positions = NDArray[np.intp]


class MeasureRow(Struct, frozen=True, kw_only=True):
    """One measure over all paired queries, or over a slice of them.

    Attributes:
        slice: None = all queries.
        n: queries for which the measure is defined on both sides.
        delta: candidate − baseline, both under the labels of this table.
        ci: two-sided 95 % percentile interval of `delta` (paired bootstrap).
        bounds: guarded one-sided 95 % bounds of `delta`, for the non-inferior rule.
        p: two-sided sign-flip; `p_adjusted` by Holm over slices × measures, None on the row of all queries and for
            slices too small to be tested.
        mde: smallest difference that n queries of this spread detect (80 % power, two-sided 5 %).
        label_effect: how far the changed labels alone moved the baseline, over the queries that had a score before.
        exam: whose questions and labels these are.
        unknown: queries of this exam whose candidate score is not known; no mean counts them.
        small: fewer queries than a percentage is worth.
    """

    measure: str
    slice: str | None
    n: int
    baseline: float
    candidate: float
    delta: float
    ci: tuple[float, float]
    bounds: tuple[float, float]
    p: float
    p_adjusted: float | None
    reading: Reading
    better: int
    worse: int
    same: int
    mde: float
    label_effect: float = 0.0
    exam: ExamName = "base"
    unknown: int = 0
    small: bool = False


class FloorScores(Struct, frozen=True, kw_only=True):
    """What a floor judges: every answerable question of an exam, also one that the baseline was not asked.

    Attributes:
        known: the candidate's scores, shape (n,). unknown: the baseline's where the candidate's are unknown.
    """

    known: Values
    unknown: Values


class MeasureTable(Struct, frozen=True, kw_only=True):
    """Both runs under one exam.

    Attributes:
        exam: whose questions and labels these are.
        ids: questions that both runs can be marked by, or that the base asks and the candidate's mark is unknown of.
        tags: the tags of each in this exam.
        unknown: code of the reason why the candidate's answer cannot be marked; empty where it can.
        scores: measure -> (baseline, candidate), float64 of shape (len(ids),), NaN = undefined or unknown.
        rows: all queries first, then slices by name, each in the order of the measures; known scores only.
        parts: slice -> positions in `ids`, also of slices that hold every query and have no rows of their own.
        floors: measure -> slice (empty = all queries) -> what a floor judges.
    """

    exam: ExamName
    ids: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    unknown: tuple[str, ...]
    scores: dict[str, tuple[Values, Values]]
    rows: tuple[MeasureRow, ...]
    parts: dict[str, Positions]
    floors: dict[str, dict[str, FloorScores]]

    def row(self, measure: str, part: str = "") -> MeasureRow | None:
        """The row of a slice (empty = all queries); None when no query of it can be compared."""
        whole = not part or (part in self.parts and len(self.parts[part]) == len(self.ids))
        name = None if whole else part
        return next((row for row in self.rows if (row.measure, row.slice) == (measure, name)), None)

    def drop(self, measure: str, part: str = "") -> Drop | None:
        """The scores that a gate judges, of a slice (empty = all queries); None when there is none."""
        at = np.arange(len(self.ids)) if not part else self.parts.get(part, _NOWHERE)
        old, new = (column[at] for column in self.scores[measure])
        unknown = np.array([bool(self.unknown[place]) for place in at], dtype=bool)
        known = ~unknown & ~np.isnan(old) & ~np.isnan(new)
        lost = old[unknown & ~np.isnan(old)]
        if not known.any() and not lost.size:
            return None
        return Drop(known_before=old[known], known_after=new[known], unknown_before=lost)

    def floor(self, measure: str, part: str = "") -> FloorScores | None:
        """The scores that a floor judges, of a slice (empty = all queries); None when there is none."""
        found = self.floors[measure].get(part)
        return found if found is not None and (found.known.size or found.unknown.size) else None


_NOWHERE: Positions = np.zeros(0, dtype=np.intp)


class _Columns(Struct, frozen=True):
    """One measure: the baseline, the candidate, and the baseline under its own labels; shape (queries,)."""

    old: Values
    new: Values
    was: Values


def measure_table(
    questions: Sequence[ExamQuestion],
    measures: Sequence[Measure],
    depth: int,
    *,
    exam: ExamName,
    unit: Unit,
    cutoff: Cutoff = "documents",
    floor_depth: int = 0,
) -> MeasureTable:
    """Mark both runs by one exam and compare them, over all queries and slice by slice.

    Args:
        questions: of the exam. Those without a baseline's answer enter floors alone; unanswerable ones stay out.
        measures: to compute.
        depth: units kept of every ranking.
        floor_depth: the same where the candidate stands alone; 0 = `depth`.
        unit: what the baseline's own judgments name.
        exam: the base's tags make the slices of its exam, the head's those of the other.
        cutoff: what k counts.
    """
    asked = [one for one in questions if one.before is not None and _answerable(one)]
    columns = _columns(asked, measures, depth, unit, cutoff)
    rows = [_sliced_by(one, exam) for one in asked]
    parts = {name: np.array(part, dtype=np.intp) for name, part in slices.split(rows).items()}
    shown: list[tuple[str | None, Positions]] = [(None, np.arange(len(asked)))]
    shown += [(name, part) for name, part in parts.items() if len(part) < len(asked)]
    unknown = np.array([bool(one.unknown) for one in asked], dtype=bool)
    found = [
        replace(row, exam=exam, unknown=int(unknown[part].sum()))
        for name, part in shown
        for row in _part_rows(name, columns, part)
    ]
    return MeasureTable(
        exam=exam,
        ids=tuple(one.row.query_id for one in asked),
        tags=tuple(frozenset(row.tags) for row in rows),
        unknown=tuple(one.unknown for one in asked),
        scores={str(measure): (column.old, column.new) for measure, column in columns.items()},
        rows=_adjusted(found),
        parts=parts,
        floors=_floors(questions, measures, floor_depth or depth, exam, cutoff),
    )


def _floors(
    questions: Sequence[ExamQuestion],
    measures: Sequence[Measure],
    depth: int,
    exam: ExamName,
    cutoff: Cutoff,
) -> dict[str, dict[str, FloorScores]]:
    """What each floor judges, of all answerable questions and of every slice."""
    asked = [one for one in questions if not isinstance(one.labels_after.judgments, Unanswerable)]
    unknown = np.array([bool(one.unknown) for one in asked], dtype=bool)
    rows = [
        (one.before or one.row, one.labels_before) if one.unknown else (one.row, one.labels_after)
        for one in asked
    ]
    scores = row_scores([Judged(row, at.judgments, at.unit) for row, at in rows], measures, depth, cutoff)
    parts = {"": np.arange(len(asked))}
    split = slices.split([_sliced_by(one, exam) for one in asked])
    parts |= {name: np.array(part, dtype=np.intp) for name, part in split.items()}

    def of(column: Values, part: Positions) -> FloorScores:
        values, gone = column[part], unknown[part]
        defined = ~np.isnan(values)
        return FloorScores(known=values[defined & ~gone], unknown=values[defined & gone])

    return {
        str(measure): {name: of(scores[measure], part) for name, part in parts.items()}
        for measure in measures
    }


def _answerable(one: ExamQuestion) -> bool:
    labels = (one.labels_before.judgments, one.labels_after.judgments)
    return not any(isinstance(judgments, Unanswerable) for judgments in labels)


def _sliced_by(one: ExamQuestion, exam: ExamName) -> QueryRow:
    return one.before if exam == "base" and one.before is not None else one.row


def _columns(
    asked: Sequence[ExamQuestion], measures: Sequence[Measure], depth: int, unit: Unit, cutoff: Cutoff
) -> dict[Measure, _Columns]:
    """Scores of both sides; an unknown one of the candidate is NaN."""
    befores = [(one.before, one.labels_before) for one in asked if one.before is not None]
    old = row_scores([Judged(row, at.judgments, at.unit) for row, at in befores], measures, depth, cutoff)
    was = row_scores(
        [Judged(row, row.judgments, unit_of(row.judgments, unit)) for row, _ in befores],
        measures,
        depth,
        cutoff,
    )
    afters = [(one.after or one.row, one.labels_after) for one in asked]
    new = row_scores([Judged(row, at.judgments, at.unit) for row, at in afters], measures, depth, cutoff)
    unknown = [at for at, one in enumerate(asked) if one.unknown]
    for column in new.values():
        column[unknown] = np.nan
    return {measure: _Columns(old[measure], new[measure], was[measure]) for measure in measures}


class _Cut(Struct, frozen=True):
    """`_Columns` of the queries of one part for which the measure is defined on both sides."""

    measure: Measure
    old: Values
    new: Values
    was: Values


def _cut(measure: Measure, columns: _Columns, part: Positions) -> _Cut:
    old, new = columns.old[part], columns.new[part]
    defined = ~(np.isnan(old) | np.isnan(new))
    return _Cut(measure, old[defined], new[defined], columns.was[part][defined])


def _part_rows(name: str | None, columns: Mapping[Measure, _Columns], part: Positions) -> list[MeasureRow]:
    """The rows of one part; a measure that is defined on both sides for no query of it has none."""
    cuts = [_cut(measure, own, part) for measure, own in columns.items()]
    cuts = [cut for cut in cuts if cut.old.size]
    results = paired_all([(cut.old, cut.new) for cut in cuts])
    large = [cut for cut in cuts if name is None or cut.old.size >= slices.SMALLEST]
    bounds = guarded_bounds_all([cut.new - cut.old for cut in large])
    guarded = dict(zip((cut.measure for cut in large), bounds, strict=True))
    return [
        _row(name, cut, result, guarded.get(cut.measure)) for cut, result in zip(cuts, results, strict=True)
    ]


def _row(name: str | None, cut: _Cut, result: Paired, guarded: Interval | None) -> MeasureRow:
    """One row; `guarded` is None for a part too small for any statement but that nothing changed."""
    bounds = guarded or (_NOTHING_RULED_OUT if result.same < result.n else Interval(0.0, 0.0))
    scored_before = ~np.isnan(cut.was)
    moved = cut.old[scored_before] - cut.was[scored_before]
    return MeasureRow(
        measure=str(cut.measure),
        slice=name,
        n=result.n,
        baseline=result.baseline,
        candidate=result.candidate,
        delta=result.delta,
        ci=_ends(result.ci),
        bounds=_ends(bounds),
        p=result.p,
        p_adjusted=None,
        reading=read(result, bounds, margin=MARGIN),
        better=result.better,
        worse=result.worse,
        same=result.same,
        mde=result.mde,
        label_effect=float(moved.mean()) if moved.size else 0.0,
        small=guarded is None,
    )


_NOTHING_RULED_OUT = Interval(-1.0, 1.0)
"""The bounds of a slice too small for any statement."""


def _ends(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def _adjusted(rows: Sequence[MeasureRow]) -> tuple[MeasureRow, ...]:
    """Fill in `p_adjusted`: Holm over every slice × measure row that is large enough to be tested."""
    tested = [at for at, row in enumerate(rows) if row.slice is not None and not row.small]
    adjusted = dict(zip(tested, holm([rows[at].p for at in tested]), strict=True))
    return tuple(
        replace(row, p_adjusted=adjusted[at]) if at in adjusted else row for at, row in enumerate(rows)
    )
