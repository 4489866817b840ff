"""Every query of a run beside the baseline's answer, as the head's exam pairs and marks them."""

from __future__ import annotations

from rageval_action.core.comparing.exams import Corpora, ExamQuestion, corpora, head_exam
from rageval_action.core.comparing.factors import turnover
from rageval_action.core.comparing.pairing import pair_questions
from rageval_action.core.measuring.query_layout import QueryPair, lay_out, side_of
from rageval_action.core.model.record import QueryRow, RunRecord


def query_pairs(candidate: RunRecord, baseline: RunRecord | None = None) -> list[QueryPair]:
    """Every query of the candidate, in its order, beside the baseline's answer to the same text and asker.

    Both are laid out by the head's labels. Where these cannot be applied to the old run, it keeps its own.
    """
    if baseline is None:
        side, k = side_of(candidate), candidate.record.k
        return [QueryPair(after=lay_out(row, side, k)) for row in candidate.queries]
    rechunked = turnover(baseline.corpus, candidate.corpus).rechunked
    sides = corpora(candidate, side_of(baseline), side_of(candidate), rechunked=rechunked)
    by_asker = baseline.record.exam is not None
    pairs = pair_questions(baseline.queries, candidate.queries, by_asker=by_asker)
    known = {pair.after.query_id: pair.before for pair in pairs.same}
    asked = head_exam(candidate, pairs, sides)
    return [_laid_out(one, known.get(one.row.query_id), sides, candidate.record.k) for one in asked]


def _laid_out(one: ExamQuestion, before: QueryRow | None, sides: Corpora, k: int) -> QueryPair:
    after = lay_out(one.row, sides.new, k, labels=one.labels_after)
    if before is None:
        return QueryPair(after=after)
    labels = one.labels_before if one.before is not None else None
    return QueryPair(after=after, before=lay_out(before, sides.old, k, labels=labels), moved=one.moved)
