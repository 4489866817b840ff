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
