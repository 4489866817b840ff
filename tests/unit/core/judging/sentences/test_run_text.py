"""What a run says of itself: nothing is claimed that was not measured."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rageval_action.core.judging.sentences import run_text
from rageval_action.core.model.record import NoAnswer
from tests.unit.reports.situations import GOOD, record


@pytest.mark.parametrize(
    ("judged_queries", "text"),
    [
        (0, "Access was not judged: no query that was answered says who asks."),
        (1, "No forbidden hit in 1 query that says who asks (filtered while searching, then audited)."),
        (7, "No forbidden hit in 7 queries that say who asks (filtered while searching, then audited)."),
        (None, "No hit that a query may not see (filtered while searching, then audited)."),
    ],
)
def test_access_counts_only_the_queries_that_were_judged(judged_queries, text):
    assert run_text.acl(replace(record(GOOD).record, acl_judged=judged_queries)) == text


@pytest.mark.parametrize(("hits", "text"), [(1, "1 hit"), (2, "2 hits")])
def test_hits_that_may_not_be_seen_come_first(hits, text):
    leaking = replace(record(GOOD).record, acl_violations=hits, acl_mode="audit", acl_judged=9)
    assert run_text.acl(leaking) == f"{text} that the query may not see (judged as returned)."


@pytest.mark.parametrize(
    ("track", "text"),
    [
        (NoAnswer(n=0, reason="x"), ""),
        (
            NoAnswer(n=1, reason="no score threshold was given"),
            "1 unanswerable query: not measured, no score",
        ),
        (
            NoAnswer(n=8, threshold=0.5, false_retrieval_rate=0.25),
            "8 unanswerable queries: 25 % return something at or above the score 0.5, where nothing should come.",
        ),
    ],
)
def test_questions_without_an_answer(track, text):
    found = run_text.no_answer(replace(record(GOOD).record, no_answer=track))
    assert found.startswith(text)
    assert bool(found) == bool(text)


def test_the_footer_names_what_ranked():
    made = record(GOOD, reranker="cross").record
    assert run_text.footer(made).startswith("60 queries (unit: document) · ")
    assert " with cross, depth 100 · run candidate-r" in run_text.footer(made)
    assert f" · {made.retriever.name}, depth" in run_text.footer(record(GOOD).record)
