"""Facts beside the scores: none is claimed that was not measured or stated."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rageval_action.core.judging.sentences import run_text
from rageval_action.reports import notes
from tests.unit.reports.situations import GOOD, judged, old, record


@pytest.mark.parametrize(
    ("judged_queries", "told"),
    [
        (0, "Access was not judged: no query that was answered says who asks."),
        (1, "No forbidden hit in 1 query that says who asks (filtered while searching, then audited)."),
        (7, "No forbidden hit in 7 queries that say who asks (filtered while searching, then audited)."),
        (None, "No hit that a query may not see (filtered while searching, then audited)."),
    ],
)
def test_access_counts_only_the_queries_that_were_judged(judged_queries, told):
    assert run_text.acl(replace(record(GOOD).record, acl_judged=judged_queries)) == told


@pytest.mark.parametrize("name", ["chunker", "model"])
def test_what_neither_side_states_is_not_called_unchanged(name):
    made = judged(old(record(GOOD, **{name: ""})), record(GOOD, **{name: ""}))
    told = notes.unchanged(made.told, made.after.record)
    assert told == tuple(one for one in notes.WATCHED if one != name)


def test_what_one_side_does_not_state_is_not_called_none():
    made = judged(old(record(GOOD, chunker="")), record(GOOD))
    assert [(one.name, one.before) for one in notes.changed(made.told)] == [("chunker", "not stated")]
