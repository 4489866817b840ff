"""The verdict in words: a pass is no denial of a drop that the table shows."""

from __future__ import annotations

from rageval_action.core.judging.sentences.summary import title
from tests.unit.reports.situations import GOOD, drop, judged, lowered, old, record

LOOSE = {"measure": "recall@5", "max_drop": 0.5}
UNDECIDED = {"measure": "mrr", "max_drop": 0.1, "rule": "non-inferior"}


def _after_a_drop(*gates):
    after = lowered(GOOD, range(1, 40, 4), 9)
    return judged(old(record(GOOD)), record(after, chunker="split 1200"), {"gates": list(gates)}).told


def test_a_drop_that_the_gates_allow_is_still_a_drop():
    told = _after_a_drop(LOOSE)
    assert told.verdict == "pass"
    assert title(told) == ("NOTE", "Retrieval got worse, within what the gates allow")


def test_a_drop_beside_a_gate_that_cannot_be_decided_is_still_a_drop():
    told = _after_a_drop(LOOSE, UNDECIDED)
    assert told.verdict == "inconclusive"
    assert title(told) == ("WARNING", "Retrieval got worse, and a gate cannot be decided")


def test_a_drop_that_is_not_allowed_fails():
    assert title(drop().told) == ("CAUTION", "Retrieval got worse")
