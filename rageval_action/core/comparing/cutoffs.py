"""k documents or k chunks: what the headline measure says when k counts the one or the other."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rageval_action.core.comparing.exams import ExamQuestion
from rageval_action.core.comparing.measure_rows import measure_table
from rageval_action.core.measuring.measures import Measure
from rageval_action.core.measuring.row_scores import ChunksPerQuery, chunks_per_query
from rageval_action.core.model.record import Cutoff, RunRecord


class CutoffView(Struct, frozen=True, kw_only=True):
    """One measure by both ways to count.

    Attributes:
        documents, chunks: the candidate's score when k counts documents, or chunks.
        documents_delta, chunks_delta: candidate less baseline, each way.
        chunks_per_query: how many chunks k documents took.
    """

    measure: str
    documents: float
    chunks: float
    documents_delta: float
    chunks_delta: float
    chunks_per_query: ChunksPerQuery

    @property
    def disagree(self) -> bool:
        """True when the measure fell by the one count and rose by the other."""
        return self.documents_delta * self.chunks_delta < 0


def cutoff_views(
    questions: Sequence[ExamQuestion], measure: Measure, candidate: RunRecord, depth: int
) -> tuple[CutoffView, ...]:
    """The measure by both counts over one exam; empty where chunks are judged or no document has several in the top."""
    if candidate.record.golden.unit != "document" or not questions:
        return ()
    counted = chunks_per_query(candidate.queries, measure.cutoff)
    if counted.max <= measure.cutoff:
        return ()
    ways: tuple[Cutoff, ...] = ("documents", "chunks")
    rows = [
        measure_table(questions, [measure], depth, exam="base", unit="document", cutoff=way).row(str(measure))
        for way in ways
    ]
    if any(row is None for row in rows):
        return ()
    by_documents, by_chunks = (row for row in rows if row is not None)
    return (
        CutoffView(
            measure=str(measure),
            documents=by_documents.candidate,
            chunks=by_chunks.candidate,
            documents_delta=by_documents.delta,
            chunks_delta=by_chunks.delta,
            chunks_per_query=counted,
        ),
    )
