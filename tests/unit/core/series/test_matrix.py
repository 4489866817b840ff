"""Configurations side by side: values with intervals, comparisons with the first, and words where there is no number."""

from __future__ import annotations

import pytest

from rageval_action.core.model.record import Quantiles
from rageval_action.core.model.types import Notice
from rageval_action.core.series.matrix import MOST_ERRORS, Against, Measured, NotRun, tabulate
from rageval_action.core.statistics.paired_comparison import holm
from tests.synthetic_runs import amended, ranked

FIRST = ranked([1, 1, 2, 0, 3, 1, 0, 2, 1, 1], latency_ms={"total": Quantiles(p50=1.0, p95=2.0, n=10)})
BETTER = ranked([1, 1, 1, 1, 1, 1, 1, 2, 1, 1], cost={"USD": 0.25})
MIXED = ranked([0, 1, 1, 1, 3, 1, 0, 2, 1, 1])
MEASURES = ("recall@1", "hit@5")


def test_each_configuration_has_its_own_values_and_intervals() -> None:
    table = tabulate([("plain", FIRST), ("tuned", BETTER)], MEASURES, "golden.jsonl")
    assert (table.golden, table.queries, table.unit, table.measures) == (
        "golden.jsonl",
        10,
        "document",
        MEASURES,
    )
    plain, tuned = table.configurations
    assert (plain.name, plain.retriever, plain.queries, plain.errors) == ("plain", "dense", 10, 0)
    assert plain.latency["total"].p95 == 2.0
    assert tuned.cost == {"USD": 0.25}
    first = plain.scores["recall@1"]
    assert isinstance(first, Measured)
    assert (first.mean, first.n) == (0.5, 10)
    assert first.ci[0] < 0.5 < first.ci[1]


def test_later_configurations_are_compared_with_the_first_and_corrected_for_their_number() -> None:
    table = tabulate([("a", FIRST), ("b", BETTER), ("c", MIXED)], MEASURES, "g")
    first, *others = table.configurations
    assert first.against == {}
    found = [other.against["recall@1"] for other in others]
    assert [(one.n, one.better, one.worse, one.same) for one in found] == [(10, 4, 0, 6), (10, 2, 1, 7)]
    assert found[0].delta == pytest.approx(0.4)
    assert [one.p_adjusted for one in found] == holm([one.p for one in found])
    assert found[0].p_adjusted > found[0].p


def test_what_did_not_run_says_why_and_is_compared_with_nothing() -> None:
    table = tabulate([("a", FIRST), ("b", NotRun(reason="no key")), ("c", BETTER)], MEASURES, "g")
    assert table.configurations[1].scores == {name: NotRun(reason="no key") for name in MEASURES}
    assert table.configurations[1].against == {}
    assert isinstance(table.configurations[2].against["hit@5"], Against)


def test_without_a_first_configuration_there_is_nothing_to_compare_with() -> None:
    table = tabulate([("a", NotRun(reason="broken")), ("b", FIRST)], MEASURES, "g")
    assert all(not row.against for row in table.configurations)
    assert table.queries == 10


def test_an_empty_matrix_is_empty() -> None:
    table = tabulate([], MEASURES, "g")
    assert (table.configurations, table.queries, table.unit, table.warnings) == ((), 0, "", ())


def test_a_configuration_that_failed_too_often_was_not_measured() -> None:
    at_the_limit = ranked([1] * 10, fields={0: {"error": "timed out"}})
    beyond = ranked([1] * 10, fields={0: {"error": "timed out"}, 1: {"error": "timed out"}})
    assert at_the_limit.record.errors == MOST_ERRORS * 10
    table = tabulate([("a", FIRST), ("b", at_the_limit), ("c", beyond)], MEASURES, "g")
    assert isinstance(table.configurations[1].scores["hit@5"], Measured)
    assert table.configurations[2].scores["hit@5"] == NotRun(reason="2 of 10 queries failed")
    assert table.configurations[2].errors == 2
    assert table.configurations[2].against == {}


def test_a_measure_that_nobody_scored_has_no_value() -> None:
    table = tabulate([("a", FIRST)], ("map",), "g")
    assert table.configurations[0].scores["map"] == NotRun(reason="no query is judged for it")


def test_warnings_are_told_once_and_leaks_and_depths_are_named() -> None:
    said = Notice(code="corpus.small", text="small")
    leaky = amended(BETTER, warnings=(said,), acl_violations=3, depth=50)
    table = tabulate(
        [("a", amended(FIRST, warnings=(said,))), ("b", leaky), ("c", NotRun(reason="x"))], MEASURES, "g"
    )
    assert [(one.code, one.text) for one in table.warnings] == [
        ("corpus.small", "small"),
        ("matrix.acl", "b returned 3 hits that the query may not see"),
        ("matrix.depth", "rankings are of different depths (50, 100): mrr and map depend on it"),
    ]
    assert table.configurations[1].acl_violations == 3


def test_a_warning_of_some_configurations_names_them() -> None:
    said = Notice(code="golden.unknown-id", text="`x` is not in the snapshot", where="g:3")
    warned = amended(FIRST, warnings=(said,))
    table = tabulate([("a", FIRST), ("b", warned), ("c", warned)], MEASURES, "g")
    assert table.warnings == (
        Notice(code="golden.unknown-id", text="b, c: `x` is not in the snapshot", where="g:3"),
    )
