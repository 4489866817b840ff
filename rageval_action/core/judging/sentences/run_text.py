"""What one run says of itself, whatever it is compared with."""

from __future__ import annotations

from rageval_action.core.model.record import Record
from rageval_action.core.wording import lists, numbers


def no_answer(record: Record) -> str:
    """How often something came back where nothing should; empty without such queries."""
    track = record.no_answer
    if not track.n:
        return ""
    count = lists.plural(track.n, "unanswerable query", "unanswerable queries")
    if track.false_retrieval_rate is None or track.threshold is None:
        return f"{count}: not measured, {track.reason}."
    rate = numbers.share(track.false_retrieval_rate)
    return f"{count}: {rate} return something at or above the score {track.threshold:g}, where nothing should come."


def acl(record: Record) -> str:
    """Whether anything came back that the asker may not see."""
    how = {"enforce": "filtered while searching, then audited", "audit": "judged as returned"}[
        record.acl_mode
    ]
    if record.acl_violations:
        return f"{lists.plural(record.acl_violations, 'hit')} that the query may not see ({how})."
    if record.acl_judged is None:
        return f"No hit that a query may not see ({how})."
    if not record.acl_judged:
        return "Access was not judged: no query that was answered says who asks."
    asking = lists.plural(record.acl_judged, "query that says", "queries that say")
    return f"No forbidden hit in {asking} who asks ({how})."


def footer(record: Record) -> str:
    """What was measured, in one line."""
    snapshot, golden = record.snapshot, record.golden
    reranker = record.retriever.reranker
    ranked_by = f"{record.retriever.name} with {reranker}" if reranker else record.retriever.name
    parts = [
        f"{lists.queries(golden.queries)} (unit: {golden.unit})",
        f"{lists.plural(snapshot.chunks, 'chunk')} of {lists.plural(snapshot.documents, 'document')}",
        f"{ranked_by}, depth {record.retriever.depth}",
        f"run {record.run_id[:12]}",
    ]
    return " · ".join(parts)
