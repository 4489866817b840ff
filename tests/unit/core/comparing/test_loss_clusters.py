"""Losses grouped by what they share, each group with advice that has a source."""

from __future__ import annotations

from rageval_action.core.comparing.loss_clusters import clusters
from rageval_action.core.comparing.query_changes import QueryChange
from rageval_action.core.judging.sentences.cause_words import ADVICE
from rageval_action.core.measuring.miss_causes import CAUSES
from rageval_action.reports.notes import groups


def lost(name: str, cause: str, *by: str, tags: tuple[str, ...] = (), change: str = "lost") -> QueryChange:
    return QueryChange(
        id=name,
        change=change,
        measure="recall@5",
        cause=cause,
        baseline_rank=1,
        candidate_rank=9,
        by=by,
        tags=tags,
    )


def by_kind(found, kind):
    return [(group.name, group.queries, group.advice) for group in found if group.kind == kind]


def test_causes_are_groups_the_largest_first():
    found = clusters([lost("a", "outranked"), lost("b", "not-indexed"), lost("c", "not-indexed")])
    assert by_kind(found, "cause") == [
        ("not-indexed", ("b", "c"), "not-indexed"),
        ("outranked", ("a",), "outranked"),
    ]


def test_gains_and_misses_are_no_losses():
    assert clusters([lost("a", "outranked", change="gained"), lost("b", "outranked", change="missed")]) == ()


def test_a_cause_without_a_name_makes_no_group():
    assert clusters([lost("a", "")]) == ()


def test_ranks_just_below_the_cut_call_for_a_reranker():
    near = [
        lost("a", "outranked", tags=("close",)),
        lost("b", "outranked", tags=("close",)),
        lost("c", "outranked"),
    ]
    assert by_kind(clusters(near), "cause")[0][2] == "outranked-close"
    assert clusters(near)[0].fitting == 2
    assert groups(clusters(near))[0].advice == f"For 2 of 3: {ADVICE['outranked-close'].text}"
    assert groups(clusters(near[:2]))[0].advice == ADVICE["outranked-close"].text
    assert (
        by_kind(clusters([*near, lost("d", "outranked"), lost("e", "outranked")]), "cause")[0][2]
        == "outranked"
    )


def test_the_right_document_by_the_wrong_chunk_calls_for_other_chunks():
    found = clusters([lost("a", "outranked", tags=("right-document", "close"))])
    assert by_kind(found, "cause")[0][2] == "right-document"


def test_a_rival_of_several_queries_is_a_group():
    found = clusters(
        [lost("a", "outranked", "x", "y"), lost("b", "duplicate", "x"), lost("c", "re-identified", "y")]
    )
    assert by_kind(found, "rival") == [("x", ("a", "b"), "rival")]


def test_a_slice_with_more_than_its_share_is_a_group():
    slices = {f"q{at}": ["tag:small"] if at < 10 else ["tag:large"] for at in range(100)}
    found = clusters([lost("q1", "outranked"), lost("q2", "outranked"), lost("q50", "outranked")], slices)
    assert by_kind(found, "slice") == [("tag:small", ("q1", "q2"), "slice")]


def test_exact_terms_call_for_lexical_search():
    slices = {f"q{at}": ["tag:exact-term"] if at < 10 else [] for at in range(100)}
    found = clusters([lost("q1", "outranked"), lost("q2", "outranked")], slices)
    assert by_kind(found, "slice")[0][2] == "exact-terms"


def test_no_lexical_search_is_advised_for_exact_terms_lost_otherwise():
    slices = {f"q{at}": ["tag:exact-term"] if at < 10 else [] for at in range(100)}
    copies = [lost("q1", "duplicate"), lost("q2", "not-indexed")]
    assert by_kind(clusters(copies, slices), "slice")[0][2] == "slice"
    found = clusters([*copies, lost("q3", "below-depth")], slices)
    assert [(group.advice, group.fitting) for group in found if group.kind == "slice"] == [("exact-terms", 1)]


def test_every_advice_has_a_source_and_every_cause_of_a_loss_an_advice():
    for advice in ADVICE.values():
        assert advice.text.endswith(".")
        assert advice.source
    unexplained = set(CAUSES) - set(ADVICE)
    assert unexplained == {"query-changed", "no-relevant-retrieved-before"}
