"""What a cause, a circumstance and a piece of advice read like."""

from __future__ import annotations

from msgspec import Struct

from rageval_action.core.comparing.loss_clusters import Cluster

CAUSES: dict[str, str] = {
    "retriever-error": "the retriever failed for this query",
    "not-indexed": "the item is not in the index",
    "re-identified": "its text is in the index under another id",
    "acl-filtered": "the query's principal may not see it",
    "duplicate": "an identical text took its place",
    "outranked": "other documents rank above it",
    "below-depth": "it is in the index, but below the depth that was searched",
    "query-changed": "the query's text is not the one the baseline answered",
    "no-relevant-retrieved-before": "it was missing before as well",
}
"""Primary cause -> what it says."""

CIRCUMSTANCES = {
    "other-relevant-found": "another relevant one is found",
    "close": "just below the cut",
    "right-document": "its document is found by another chunk",
    "tied-at-k": "tied with the last one shown",
}
"""Secondary tags of a cause, in words; primary causes among the tags are shown as they are."""


class Advice(Struct, frozen=True):
    """What to try, and where that is founded: `source` names a paper, a manual or a standard."""

    text: str
    source: str


ADVICE: dict[str, Advice] = {
    "exact-terms": Advice(
        "Names, codes and options are lost to texts that are merely about the subject: add a lexical retriever and "
        "fuse the two rankings (hybrid search).",
        "Thakur et al. 2021 (BEIR): BM25 beats dense models on several exact-match sets; Cormack et al. 2009 "
        "(reciprocal rank fusion)",
    ),
    "outranked-close": Advice(
        "The right text is just below the cut: rerank the first 50 with a cross-encoder, or feed the generator a "
        "few more.",
        "Nogueira & Cho 2019 (passage re-ranking with BERT)",
    ),
    "outranked": Advice(
        "Other texts rank far above the right one: look at the embedding model, its prefixes and the chunk size "
        "first.",
        "Wang et al. 2022 (E5: query and passage prefixes); Karpukhin et al. 2020 (DPR)",
    ),
    "not-indexed": Advice(
        "Neither the id nor its texts are in the index: look at ingestion (deleted, filtered out, never split into "
        "chunks, or renamed and cut anew at once).",
        "the record's corpus hashes: neither the id nor half of its texts are there",
    ),
    "re-identified": Advice(
        "The text is there under another id: nothing was lost but the label. Anchor labels to evidence quotes or "
        "document ids.",
        "the record's corpus hashes: the same text, another id",
    ),
    "duplicate": Advice(
        "An identical text took the place: remove duplicates when indexing, or judge both copies relevant.",
        "Bernstein & Zobel 2005 (redundant documents distort evaluation)",
    ),
    "acl-filtered": Advice(
        "The asking principal may not see the text any more: look at the access lists that ingestion wrote.",
        "the access rule of the snapshot format",
    ),
    "below-depth": Advice(
        "The text is indexed but not among the candidates at all: compare chunking and embedding model with those "
        "the corpus was indexed with; check the query prefix.",
        "Wang et al. 2022 (E5: a missing prefix costs recall)",
    ),
    "retriever-error": Advice(
        "The retriever failed: look at its log before looking at any score.",
        "the record's `error` of each query",
    ),
    "rival": Advice(
        "One document pushes the right ones out of several queries: it may be too general, too long or a copy. "
        "Split it, merge it or take it out of the index.",
        "Radovanović et al. 2010 (hubs in nearest-neighbour search)",
    ),
    "right-document": Advice(
        "The right document is found but not the right part of it: change the chunk size or overlap, or join "
        "neighbouring chunks when answering.",
        "Callan 1994 (passage-level evidence)",
    ),
    "slice": Advice(
        "The losses gather in one part of the questions: look at that part alone before changing anything global.",
        "the slices of this comparison",
    ),
}
"""Pattern -> what to try. Shown with every group, and explained in `docs/reports.md`."""


def advice(group: Cluster) -> tuple[str, str]:
    """What to try and its source; where it is not about the whole group, for how many of it."""
    found, size = ADVICE[group.advice], len(group.queries)
    text = found.text if group.fitting == size else f"For {group.fitting} of {size}: {found.text}"
    return text, found.source
