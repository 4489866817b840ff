"""What the measures compute: by hand, against trec_eval's code, and against a plain re-telling for groups."""

from __future__ import annotations

import json
import math

import msgspec
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_action.core.measuring.measures import MEASURES, Measure, parse_measures
from rageval_action.core.measuring.scoring import MeasureScores, ScoreReport, as_labels, batch, mean, score
from rageval_action.core.model.ranking import order
from rageval_action.core.model.types import EvidenceItem, EvidenceItems, Grades, Groups, Unanswerable

FIXED = settings(derandomize=True, deadline=None)
CUTOFFS = (1, 2, 3, 5, 10)
EVERY = tuple(
    Measure(name, cutoff)
    for name, entry in MEASURES.items()
    for cutoff in (
        *(CUTOFFS if entry.cutoff != "forbidden" else ()),
        *((0,) if entry.cutoff != "required" else ()),
    )
)


def one(ids: str, label: Grades | Groups, measures: str, *, level: int = 1) -> list[float]:
    """Values of one query whose ranking is the letters of `ids`."""
    chosen = parse_measures([measures])
    return [float(column[0]) for column in score(batch([list(ids)], [label], level=level), chosen).values()]


GRADED = Grades({"a": 3, "b": 1, "c": 2, "z": 1, "n": 0, "m": -1})
"""a, b, c, z relevant (z never retrieved below), n judged not relevant, m unjudged."""


@pytest.mark.parametrize(
    ("ids", "measures", "expected"),
    [
        ("xanbmc", "recall@1,2,4,6,100", [0, 1 / 4, 2 / 4, 3 / 4, 3 / 4]),
        ("xanbmc", "hit@1,2,6", [0, 1, 1]),
        ("xanbmc", "precision@1,2,4,10", [0, 1 / 2, 2 / 4, 3 / 10]),
        ("xanbmc", "precision_returned@1,2,4,10", [0, 1 / 2, 2 / 4, 3 / 6]),
        ("xanbmc", "recall_cap@1,2,3,6,10", [0, 1 / 2, 1 / 3, 3 / 4, 3 / 4]),
        ("xanbmc", "mrr,mrr@1,mrr@2", [1 / 2, 0, 1 / 2]),
        ("xanbmc", "map", [(1 / 2 + 2 / 4 + 3 / 6) / 4]),
        ("xanbmc", "map@4", [(1 / 2 + 2 / 4) / 4]),
        ("xanbmc", "r-precision", [2 / 4]),
        ("xanbmc", "judged@1,2,3,5,6,10", [0, 1 / 2, 2 / 3, 3 / 5, 4 / 6, 4 / 6]),
        ("xanbmc", "unjudged@1,2,3,5,6,10", [1, 1 / 2, 1 / 3, 2 / 5, 2 / 6, 2 / 10]),
        ("xa", "ndcg@1", [0]),
        ("xa", "ndcg@2", [(3 / math.log2(3)) / (3 + 2 / math.log2(3))]),
        ("xa", "ndcg", [(3 / math.log2(3)) / (3 + 2 / math.log2(3) + 1 / 2 + 1 / math.log2(5))]),
        ("ca", "ndcg_exp@1", [3 / 7]),
        ("ca", "ndcg_exp@2", [(3 + 7 / math.log2(3)) / (7 + 3 / math.log2(3))]),
        ("acbz", "ndcg,ndcg_exp@4,map,r-precision,recall@4,recall_cap@1", [1, 1, 1, 1, 1, 1]),
        (
            "",
            "recall@5,hit@5,precision@5,precision_returned@5,recall_cap@5,mrr,map,ndcg,r-precision",
            [0] * 9,
        ),
        ("", "unjudged@5,ndcg_exp@5", [0, 0]),
    ],
)
def test_by_hand(ids: str, measures: str, expected: list[float]) -> None:
    assert one(ids, GRADED, measures) == pytest.approx(expected, abs=1e-15)


def test_judged_of_an_empty_ranking_is_not_a_number() -> None:
    assert math.isnan(one("", GRADED, "judged@5")[0])


@pytest.mark.parametrize(
    "label", [Grades({}), Grades({"a": 0}), Grades({"a": -1, "b": -2}), Groups(())], ids=str
)
def test_nothing_relevant_scores_zero(label: Grades | Groups) -> None:
    for measure, column in score(batch([["a", "b"]], [label]), EVERY).items():
        if measure.name not in {"judged", "unjudged"}:
            assert column.tolist() == [0.0], measure


def test_the_level_raises_the_bar_for_binary_measures_only() -> None:
    plain = "ndcg@3,ndcg_exp@3,judged@3,unjudged@3"
    assert one("bca", GRADED, plain, level=2) == one("bca", GRADED, plain, level=1)
    assert one("bca", GRADED, "recall@2,hit@1,precision@3,mrr,map,r-precision", level=2) == pytest.approx(
        [1 / 2, 0, 2 / 3, 1 / 2, (1 / 2 + 2 / 3) / 2, 1 / 2]
    )
    assert one("bca", GRADED, "recall@3,recall_cap@3", level=4) == [0, 0]


@pytest.mark.parametrize("level", [0, -1])
def test_a_level_below_one_is_a_fault_of_the_caller(level: int) -> None:
    with pytest.raises(ValueError, match=f"1 or more, not {level}"):
        batch([], [], level=level)


def test_rankings_and_labels_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="shorter"):
        batch([["a"], ["b"]], [Grades({})])


def test_a_repeated_id_counts_where_it_stands_first() -> None:
    assert one("xaxa", Grades({"a": 1, "b": 1}), "mrr,recall@4,map") == [1 / 2, 1 / 2, 1 / 4]


def test_queries_do_not_touch_one_another() -> None:
    labels = [GRADED, Grades({}), Groups((("a", "b"), ("q",))), Grades({"q": 1})]
    rankings = [list("xanbmc"), list("ab"), list("xba"), []]
    together = score(batch(rankings, labels), EVERY)
    for at, (ids, label) in enumerate(zip(rankings, labels, strict=True)):
        alone = score(batch([ids], [label]), EVERY)
        for measure in EVERY:
            np.testing.assert_array_equal(together[measure][at], alone[measure][0], err_msg=str(measure))


def test_no_queries_give_no_values() -> None:
    values = score(batch([], []), EVERY)
    assert list(values) == list(EVERY)
    assert all(column.shape == (0,) and column.dtype == np.float64 for column in values.values())


def test_great_grades_do_not_overflow_the_exponential_gain() -> None:
    assert one("ab", Grades({"a": 5000, "b": 1}), "ndcg_exp@2") == [1]
    assert one("ba", Grades({"a": 5000, "b": 1}), "ndcg_exp@2") == pytest.approx([1 / math.log2(3)])


# Groups


def test_a_group_counts_once_at_its_first_member() -> None:
    label = Groups((("a", "b"), ("c",)))
    assert one("xbaxc", label, "recall@1,2,3,5,hit@1,2,mrr") == [0, 1 / 2, 1 / 2, 1, 0, 1, 1 / 2]
    assert one("xbaxc", label, "map") == [(1 / 2 + 2 / 5) / 2]


def test_one_hit_may_satisfy_several_groups_and_no_measure_leaves_the_unit_interval() -> None:
    label = Groups((("a", "b"), ("a",), ("a", "c")))
    assert one("a", label, "recall@1,hit@1,mrr") == [1, 1, 1]
    assert one("a", label, "precision@1,2,precision_returned@1,3,recall_cap@1,2") == [1, 1, 1, 1, 1, 1]
    assert one("a", label, "map,ndcg,r-precision,map@1,ndcg@1,ndcg_exp@3") == pytest.approx(
        [1, 1, 1, 1 / 3, 1, 1], abs=0
    )
    # Places of the three finds at rank 3 are 3, 3, 3.
    assert one("xxa", label, "precision@3,r-precision,recall_cap@2,3,map") == pytest.approx(
        [1, 1, 0, 1, (1 / 3 + 2 / 3 + 3 / 3) / 3]
    )


def test_a_group_that_nothing_can_satisfy_stays_in_the_denominator() -> None:
    assert one("a", Groups((("a",), ())), "recall@5,recall_cap@5,r-precision") == [1 / 2, 1 / 2, 1 / 2]


def test_positions_that_hold_any_member_are_judged() -> None:
    label = Groups((("a", "b"), ("c", "b")))
    assert one("axbc", label, "judged@1,2,3,4,unjudged@1,2,3,4") == [
        1,
        1 / 2,
        2 / 3,
        3 / 4,
        0,
        1 / 2,
        1 / 3,
        1 / 4,
    ]


def test_the_level_does_not_touch_groups() -> None:
    label = Groups((("a", "b"), ("c",)))
    for measure in EVERY:
        assert one("xbc", label, str(measure), level=3) == pytest.approx(one("xbc", label, str(measure))), (
            measure
        )


def retold(ids: list[str], groups: tuple[tuple[str, ...], ...], k: int) -> dict[str, float]:
    """The group semantics once more, query by query and find by find."""
    ranks = sorted(
        min(ids.index(name) + 1 for name in group if name in ids) for group in groups if set(group) & set(ids)
    )
    places = [max(rank, nth) for nth, rank in enumerate(ranks, 1)]
    total, shown = len(groups), min(k, len(ids))
    within = sum(place <= k for place in places)
    held = sum(name in {member for group in groups for member in group} for name in ids[:k])
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(total, k) + 1))
    gained = sum(1 / math.log2(place + 1) for place in places if place <= k)
    precisions = [nth / place for nth, place in enumerate(places, 1) if place <= k]
    return {
        "recall": sum(rank <= k for rank in ranks) / total,
        "hit": float(any(rank <= k for rank in ranks)),
        "precision": within / k,
        "precision_returned": sum(place <= shown for place in places) / shown if shown else 0.0,
        "recall_cap": within / min(k, total),
        "mrr": 1 / ranks[0] if ranks and ranks[0] <= k else 0.0,
        "ndcg": gained / ideal,
        "ndcg_exp": gained / ideal,
        "map": sum(precisions) / total,
        "r-precision": sum(place <= total for place in places) / total,
        "judged": held / shown if shown else math.nan,
        "unjudged": (shown - held) / k,
    }


LETTERS = st.sampled_from("abcdefgh")
RANKED = st.lists(LETTERS, unique=True, max_size=8)
SOME_GROUPS = st.lists(st.lists(LETTERS, unique=True, max_size=3).map(tuple), min_size=1, max_size=5).map(
    tuple
)


@FIXED
@given(ids=RANKED, groups=SOME_GROUPS, k=st.integers(1, 10))
def test_groups_are_scored_as_retold(ids: list[str], groups: tuple[tuple[str, ...], ...], k: int) -> None:
    expected = retold(ids, groups, k)
    seen = batch([ids], [Groups(groups)])
    for name, entry in MEASURES.items():
        got = score(seen, [Measure(name, 0 if entry.cutoff == "forbidden" else k)])
        assert next(iter(got.values()))[0] == pytest.approx(expected[name], abs=1e-15, nan_ok=True), name


GRADE_MAPS = st.dictionaries(LETTERS, st.integers(-2, 4), max_size=8)


@FIXED
@given(ids=RANKED, label=GRADE_MAPS.map(Grades) | SOME_GROUPS.map(Groups), level=st.integers(1, 4))
def test_every_score_lies_in_the_unit_interval(ids: list[str], label: Grades | Groups, level: int) -> None:
    for measure, column in score(batch([ids], [label], level=level), EVERY).items():
        assert 0.0 <= column[0] <= 1.0 or (measure.name == "judged" and not ids), measure


@FIXED
@given(
    grades=GRADE_MAPS.filter(lambda grades: any(grade > 0 for grade in grades.values())),
    extra=st.integers(0, 3),
)
def test_a_perfect_ranking_is_exactly_one(grades: dict[str, int], extra: int) -> None:
    worth = {name: grade for name, grade in grades.items() if grade > 0}
    ids = sorted(worth, key=worth.__getitem__, reverse=True) + ["x", "y", "z"][:extra]
    values = score(
        batch([ids], [Grades(grades)]), parse_measures(["ndcg,map,mrr,r-precision,ndcg_exp@3,ndcg@2"])
    )
    assert [column[0] for column in values.values()] == [1.0] * 6


# trec_eval as the oracle

QUERY_IDS = ("q1", "q2", "q3")
DOC_IDS = st.sampled_from(["d1", "d10", "d2", "D2", "é", "文", "d_3", "zz"])
EXACT_SCORES = st.integers(-40, 40).map(lambda n: n / 8)
"""Representable in the oracle's 32 bits, and few enough to tie often."""
ORACLE_NAMES = {
    "recall": "recall",
    "hit": "success",
    "precision": "P",
    "map": "map_cut",
    "ndcg": "ndcg_cut",
}
WHOLE_NAMES = {"map": "map", "ndcg": "ndcg_cut_1000", "mrr": "recip_rank", "r-precision": "Rprec"}
"""The oracle's own `ndcg` now and then never returns when a grade is negative; a deep cut is the same measure."""


@settings(FIXED, max_examples=300)
@given(
    qrels=st.fixed_dictionaries(
        {q: st.dictionaries(DOC_IDS, st.integers(-1, 3), min_size=1) for q in QUERY_IDS}
    ),
    run=st.fixed_dictionaries({q: st.dictionaries(DOC_IDS, EXACT_SCORES, min_size=1) for q in QUERY_IDS}),
    level=st.integers(1, 3),
)
def test_values_are_those_of_trec_eval(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], level: int
) -> None:
    cutoffs = ",".join(map(str, CUTOFFS))
    wanted = {f"{name}.{cutoffs}" for name in ORACLE_NAMES.values()} | {
        "map",
        "ndcg_cut.1000",
        "recip_rank",
        "Rprec",
    }
    oracle = pytrec_eval.RelevanceEvaluator(qrels, wanted, relevance_level=level).evaluate(run)
    rankings = []
    for query in QUERY_IDS:
        ids, scores = list(run[query]), list(run[query].values())
        rankings.append([ids[at] for at in order(ids, scores)])
    seen = batch(rankings, [Grades(qrels[query]) for query in QUERY_IDS], level=level)
    expected = {Measure(name): theirs for name, theirs in WHOLE_NAMES.items()}
    expected |= {Measure(name, k): f"{theirs}_{k}" for name, theirs in ORACLE_NAMES.items() for k in CUTOFFS}
    for measure, column in score(seen, list(expected)).items():
        for query, value in zip(QUERY_IDS, column, strict=True):
            assert value == pytest.approx(oracle[query][expected[measure]], abs=1e-12), (measure, query)


# Labels and means


def test_grades_and_groups_are_labels_as_they_are() -> None:
    assert as_labels(GRADED) is GRADED
    groups = Groups((("a",),))
    assert as_labels(groups) is groups


def test_an_evidence_item_is_the_group_of_its_chunks() -> None:
    items = EvidenceItems(
        (EvidenceItem(doc="d", quote="x", chunks=("c1", "c2")), EvidenceItem(doc="d", quote="gone"))
    )
    assert as_labels(items) == Groups((("c1", "c2"), ()))


def test_an_unanswerable_query_has_no_labels() -> None:
    with pytest.raises(ValueError, match="unanswerable"):
        as_labels(Unanswerable())


def test_the_mean_leaves_out_what_is_not_defined() -> None:
    assert mean(np.array([1.0, math.nan, 0.0])) == 0.5
    assert mean([0.25]) == 0.25
    assert math.isnan(mean([]))
    assert math.isnan(mean([math.nan]))


@FIXED
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.randoms())
def test_the_mean_does_not_depend_on_the_order(values: list[float], chance: object) -> None:
    shuffled = list(values)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mean(values) == mean(shuffled)


def test_a_batch_is_a_value_that_equals_itself_alone() -> None:
    first, second = (batch([["a", "b"]], [Grades({"a": 1, "b": 1})]) for _ in range(2))
    assert first == first  # noqa: PLR0124 - arrays have no single truth value, so equality must be identity
    assert first != second
    assert first.found != second.found
    for value, field in ((first, "returned"), (first.found, "rank")):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(value, field, None)


# The report


def test_the_report_is_written_without_what_is_not_there() -> None:
    bare = ScoreReport(queries=1, measures={"mrr": MeasureScores(mean=None)})
    assert json.loads(msgspec.json.encode(bare)) == {
        "schema": "rageval.scores/1",
        "queries": 1,
        "measures": {"mrr": {"mean": None}},
        "warnings": [],
    }
    full = MeasureScores(mean=0.5, per_query={"q": 0.5, "r": None})
    assert json.loads(msgspec.json.encode(full)) == {"mean": 0.5, "per_query": {"q": 0.5, "r": None}}


def test_the_report_is_a_value_with_named_fields() -> None:
    report = ScoreReport(queries=1, measures={})
    for value, field in ((report, "queries"), (MeasureScores(mean=1.0), "mean")):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(value, field, 2)
    with pytest.raises(TypeError):
        MeasureScores(1.0)  # type: ignore[misc]
    with pytest.raises(TypeError):
        ScoreReport("rageval.scores/1", 1, {})  # type: ignore[misc]
