"""Two run records, query by query: what changed, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from rageval_action.core.comparing.access_audit import AccessAudit, audit_access
from rageval_action.core.comparing.cutoffs import CutoffView, cutoff_views
from rageval_action.core.comparing.exams import ExamName, ExamQuestion, base_exam, corpora, head_exam
from rageval_action.core.comparing.factors import Caveat, Factor, Turnover, caveats, factors, turnover
from rageval_action.core.comparing.golden_changes import BaseCommit, GoldenChanges, golden_changes
from rageval_action.core.comparing.measure_rows import MeasureTable, measure_table
from rageval_action.core.comparing.pairing import pair_questions
from rageval_action.core.comparing.query_changes import QueryChange, changes
from rageval_action.core.measuring.measures import Measure, headline_measure, parse_measure
from rageval_action.core.measuring.query_layout import side_of
from rageval_action.core.model.record import Cutoff, RunRecord


class SameExam(Struct, frozen=True):
    """There is no table of the head's exam: it asks, marks and slices as the base's does."""


class Comparison(Struct, frozen=True, kw_only=True):
    """What two records say about each other, before anybody judges it.

    Attributes:
        depth: the depth at which both were scored: the smaller of the two.
        cutoff: what k counts.
        base: both runs under the base's exam. head: under the head's.
        base_questions, head_questions: what the tables are made from, in file order.
        golden: how the two golden sets differ, and what of the base's the pull request took away.
        access: hits that somebody may not see, by the lists and askers of either exam.
        queries: every query that got better or worse at the headline measure or is missed, worst first.
        factors: what else changed between the two (model, chunker, …).
        turnover: how much of the corpus is the same.
        caveats: what a reader must know before looking at a number, most important first.
        cutoffs: the headline measure when k counts documents, and when it counts chunks.
    """

    baseline: RunRecord
    candidate: RunRecord
    k: int
    depth: int
    cutoff: Cutoff
    base: MeasureTable
    head: MeasureTable | SameExam
    base_questions: tuple[ExamQuestion, ...]
    head_questions: tuple[ExamQuestion, ...]
    golden: GoldenChanges
    access: AccessAudit
    queries: tuple[QueryChange, ...]
    factors: tuple[Factor, ...]
    turnover: Turnover
    caveats: tuple[Caveat, ...]
    cutoffs: tuple[CutoffView, ...] = ()

    def table(self, exam: ExamName) -> MeasureTable:
        """The table of an exam; where both are the same, the base's."""
        return self.head if exam == "head" and isinstance(self.head, MeasureTable) else self.base


def compare(
    baseline: RunRecord,
    candidate: RunRecord,
    measures: Sequence[Measure],
    *,
    cutoff: Cutoff = "documents",
    base_commit: BaseCommit | None = None,
) -> Comparison:
    """Mark two records by both exams, and work out every row, factor and changed query.

    Args:
        baseline: the base's run, whose own questions are its exam.
        candidate: the run that is judged.
        measures: computed from the rankings on both sides at the smaller of the two depths, so that a measure the
            baseline never stored can still be compared.
        cutoff: what k counts.
        base_commit: the golden set at the base commit, where the baseline is older than that.
    """
    old, new = side_of(baseline), side_of(candidate)
    turned = turnover(baseline.corpus, candidate.corpus)
    by_asker = baseline.record.exam is not None
    pairs = pair_questions(baseline.queries, candidate.queries, by_asker=by_asker)
    sides = corpora(candidate, old, new, rechunked=turned.rechunked)
    asked = base_exam(baseline, candidate, pairs, sides, by_asker=by_asker)
    own = head_exam(candidate, pairs, sides)
    golden = golden_changes(pairs, sides, base_commit)
    depth = min(baseline.record.retriever.depth, candidate.record.retriever.depth)
    found = factors(baseline.record, candidate.record, turned, golden.pairing)
    same = not golden.pairing.differs and not any(one.unknown for one in asked)
    table = partial(
        measure_table,
        measures=measures,
        depth=depth,
        unit=baseline.record.golden.unit,
        cutoff=cutoff,
        floor_depth=candidate.record.retriever.depth,
    )
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        k=candidate.record.k,
        depth=depth,
        cutoff=cutoff,
        base=table(asked, exam="base"),
        head=SameExam() if same else table(own, exam="head"),
        base_questions=asked,
        head_questions=own,
        golden=golden,
        access=audit_access(candidate, asked, old.lookup),
        queries=changes(asked, own, sides, candidate.record.k),
        factors=found,
        turnover=turned,
        caveats=caveats(baseline.record, candidate.record, found, turned, golden.pairing, asked),
        cutoffs=cutoff_views(asked, parse_measure(headline_measure(candidate.record.k)), candidate, depth),
    )
