"""The notes of a comparison in words: what else changed, and what became of the waivers."""

from __future__ import annotations

from rageval_action.core.comparing.factors import TURNED_OVER, Caveat, Turnover
from rageval_action.core.judging.verdict import WaiverNote
from rageval_action.core.model.types import Notice
from rageval_action.core.wording.lists import listed, queries

QUERIES = {
    "labels.rewritten": "labels no longer mean the same text",
    "labels.gone": "could not be marked, since what their labels name is gone",
    "labels.followed": "their documents have new ids now, which the labels follow",
    "golden.removed": "removed from the golden set; the base exam keeps them",
    "golden.reworded": "reworded; the base exam keeps the old wording",
    "golden.new": "new in the golden set",
    "golden.relabelled": "judged by other labels than before",
    "golden.retagged": "in other slices than before",
    "golden.access-changed": "asked by somebody else than before",
    "golden.since-baseline": "changed on the base branch since the baseline",
}
"""Code of a caveat about some queries -> what is the matter with them."""


def of_caveat(caveat: Caveat) -> Notice:
    """One caveat of a comparison."""
    return Notice(code=caveat.code, text=_caveat(caveat))


def _caveat(caveat: Caveat) -> str:
    if caveat.turnover is not None:
        return _turnover(caveat.turnover)
    if caveat.code in QUERIES:
        return f"{QUERIES[caveat.code]}: {queries(len(caveat.names))} ({listed(caveat.names)})"
    if caveat.code == "several-factors":
        changed = ", ".join(caveat.names)
        return f"{changed} changed at once: the comparison cannot tell which of them moved the score"
    if caveat.code == "baseline.errors":
        failed = f"{caveat.failed} of {queries(caveat.queries)}"
        return f"the baseline's retriever failed for {failed}: anything looks better than that"
    return f"both sides are scored at depth {caveat.depth}, the smaller of the two"


def _turnover(corpus: Turnover) -> str:
    if corpus.new_ids < TURNED_OVER:
        return f"re-chunked: {round(100 * corpus.rewritten)} % of the chunk ids that stayed hold another text"
    shares = f"{round(100 * corpus.new_ids)} % of ids new, {round(100 * corpus.same_texts)} % of texts known"
    if corpus.rechunked:
        return f"re-chunked: {shares}"
    return f"another corpus: {shares}, documents kept: {corpus.documents_kept}"


def of_waiver(note: WaiverNote) -> Notice:
    """One waiver that does nothing."""
    waiver = note.waiver
    place = f"{waiver.measure} of {waiver.slice}" if waiver.slice else waiver.measure
    what = "fits no gate" if note.code == "waiver.no-gate" else f"ran out on {waiver.until}"
    return Notice(code=note.code, text=f"the waiver of {place} ({waiver.owner}) {what}")
