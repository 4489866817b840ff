"""Facts beside the scores: none is claimed that was not measured or stated."""

from __future__ import annotations

import pytest

from rageval_action.reports import notes
from tests.unit.reports.situations import GOOD, judged, old, record


@pytest.mark.parametrize("name", ["chunker", "model"])
def test_what_neither_side_states_is_not_called_unchanged(name):
    made = judged(old(record(GOOD, **{name: ""})), record(GOOD, **{name: ""}))
    told = notes.unchanged(made.document, made.after.record)
    assert told == tuple(one for one in notes.WATCHED if one != name)


def test_what_one_side_does_not_state_is_not_called_none():
    made = judged(old(record(GOOD, chunker="")), record(GOOD))
    assert [(one.name, one.before) for one in notes.changed(made.document)] == [("chunker", "not stated")]


@pytest.mark.parametrize(
    ("before", "after", "claimed"),
    [
        ({"search.py": "a"}, {"search.py": "a"}, True),
        ({"search.py": "a"}, {"search.py": "b"}, False),
        ({}, {"search.py": "a"}, False),
        ({}, {}, False),
    ],
)
def test_a_retriever_of_ones_own_is_unchanged_only_where_its_code_is(before, after, claimed):
    made = judged(
        old(record(GOOD, name="python", code=before)),
        record(GOOD, name="python", code=after),
    )
    assert ("retriever" in notes.unchanged(made.document, made.after.record)) is claimed


@pytest.mark.parametrize("parameters", [{}, {"first.retriever": "http"}])
def test_another_system_is_not_tracked(parameters):
    name = "hybrid" if parameters else "http"
    same = record(GOOD, name=name, parameters=parameters)
    made = judged(old(same), same)
    assert "retriever" not in notes.unchanged(made.document, made.after.record)
