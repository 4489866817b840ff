"""A report in words: they are those of the documents that were read, and a pass denies no drop."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.loss_clusters import clusters
from rageval_action.core.judging.outcomes import NoBaseline
from rageval_action.core.judging.sentences import summary
from rageval_action.core.judging.sentences.summary import title
from rageval_action.core.wording import escape
from tests.unit.reports.situations import GOOD, SITUATIONS, drop, judged, lowered, old, record

EXPECTED = Path(__file__).parents[4] / "expected"

LOOSE = {"measure": "recall@5", "max_drop": 0.5}
UNDECIDED = {"measure": "mrr", "max_drop": 0.1, "rule": "non-inferior"}


def _after_a_drop(*gates):
    after = lowered(GOOD, range(1, 40, 4), 9)
    return judged(old(record(GOOD)), record(after, chunker="split 1200"), {"gates": list(gates)}).document


def test_a_drop_that_the_gates_allow_is_still_a_drop():
    document = _after_a_drop(LOOSE)
    assert document.verdict == "pass"
    assert title(document) == ("NOTE", "Retrieval got worse, within what the gates allow")


def test_a_drop_beside_a_gate_that_cannot_be_decided_is_still_a_drop():
    document = _after_a_drop(LOOSE, UNDECIDED)
    assert document.verdict == "inconclusive"
    assert title(document) == ("WARNING", "Retrieval got worse, and a gate cannot be decided")


def test_a_drop_that_is_not_allowed_fails():
    assert title(drop().document) == ("CAUTION", "Retrieval got worse")


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_every_sentence_stands_in_the_report_that_was_read(name):
    document = SITUATIONS[name]().document
    groups = () if summary.void(document) else clusters(document.queries)
    sentences = [
        f"{title(document)[1]}. {summary.first(document)}",
        *summary.also(document),
        summary.hardest(document, groups),
        summary.baseline(document),
        summary.label_effect(document),
        f"{summary.blast(document)} {summary.causes(groups)}".strip(),
        summary.power(document),
    ]
    shown = (EXPECTED / name / "terminal.txt").read_text(encoding="utf-8")
    for sentence in sentences:
        assert escape.log_line(sentence) in shown


def test_a_measure_that_a_sentence_begins_with_keeps_its_letters():
    found = judged(old(record(GOOD)), record(GOOD), {"gates": [{"measure": "mrr", "min": 0.99}]}).document
    assert summary.first(found).startswith("mrr is ")
    slow = {"gates": [{"latency": "total", "max_ratio": 1.5}, {"measure": "mrr", "max_drop": 0.1}]}
    document = judged(NoBaseline("recall@5 has no baseline"), record(GOOD), slow).document
    assert summary.first(document) == "Recall@5 has no baseline."


def test_without_reasons_nothing_is_said():
    assert summary.first(replace(drop().document, reasons=())) == ""


def test_a_pass_says_what_it_rests_on():
    unchanged = judged(old(record(GOOD)), record(GOOD), {"gates": []}).document
    assert summary.first(unchanged).endswith("There is no gate.")
    assert summary.first(replace(unchanged, measures=())) == "There is no gate."
    moved = list(GOOD)
    moved[0], moved[10] = 9, 1
    level = judged(old(record(GOOD)), record(moved), {"gates": []}).document
    assert summary.first(level).startswith("recall@5 is the same, 1 query down and 1 up. ")


def test_more_reasons_than_fit_are_counted():
    gates = [{"measure": f"recall@{k}", "min": 0.999} for k in range(1, 8)]
    document = judged(old(record(GOOD)), record(GOOD), {"gates": gates}).document
    assert len(document.reasons) == 7
    assert len(summary.also(document)) == 5
    assert summary.also(document)[-1] == "2 more reasons under Gates."


@pytest.mark.parametrize(
    ("gates", "points"),
    [
        ([{"measure": "recall@5", "max_drop": 0.04}], "4.0"),
        (
            [{"measure": "recall@5", "max_drop": 0.04, "slice": "lang:en"}, {"measure": "mrr", "min": 0.1}],
            "2.0",
        ),
        ([{"measure": "recall@5", "max_drop": 0}], "2.0"),
    ],
)
def test_power_is_about_the_drop_that_a_gate_names(gates, points):
    after = record(lowered(GOOD, range(1, 40, 4), 9))
    document = judged(old(record(GOOD)), after, {"gates": gates}).document
    assert f"; for {points} points you need about " in summary.power(document)
