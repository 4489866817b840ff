"""Measures as values that parse and print. What they compute is tested in `test_scoring`."""

from __future__ import annotations

import pytest

from rageval_action.core.measuring.measures import (
    ALIASES,
    DEFAULT_LADDER,
    MEASURES,
    Definition,
    Measure,
    is_measure,
    ladder,
    parse_measure,
    parse_measures,
)
from rageval_action.errors import ConfigError
from tests.small_project import ROOT


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("recall@5", "recall@5"),
        (" recall@5 ", "recall@5"),
        ("recall @ 5", "recall@5"),
        ("nDCG@10", "ndcg@10"),
        ("MRR", "mrr"),
        ("mrr@10", "mrr@10"),
        ("recip_rank", "mrr"),
        ("rr@10", "mrr@10"),
        ("success@1", "hit@1"),
        ("hit_rate@3", "hit@3"),
        ("P@10", "precision@10"),
        ("Rprec", "r-precision"),
        ("R_precision", "r-precision"),
        ("r-precision", "r-precision"),
        ("map", "map"),
        ("map@1000000", "map@1000000"),
        ("ndcg", "ndcg"),
        ("precision_returned@3", "precision_returned@3"),
        ("recall@005", "recall@5"),
    ],
)
def test_a_measure_prints_its_canonical_name(text: str, printed: str) -> None:
    assert str(parse_measure(text)) == printed


@pytest.mark.parametrize("name", list(MEASURES))
def test_every_measure_reads_back_what_it_prints(name: str) -> None:
    cutoffs = {"required": [7], "optional": [0, 7], "forbidden": [0]}[MEASURES[name].cutoff]
    for cutoff in cutoffs:
        measure = Measure(name, cutoff)
        assert parse_measure(str(measure)) == measure


def test_the_page_of_measures_tells_each_as_it_is_defined() -> None:
    table = [
        line.strip("| ").split(" | ")
        for line in (ROOT / "docs" / "measures.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    assert [row[0] for row in table] == [
        f"`{name}{ {'required': '@k', 'optional': '[@k]', 'forbidden': ''}[entry.cutoff] }`"
        for name, entry in MEASURES.items()
    ]
    assert [tuple(row[1:3]) for row in table] == [
        (entry.summary, entry.source) for entry in MEASURES.values()
    ]
    also = {
        alias: row[0].strip("`").partition("[")[0].partition("@")[0]
        for row in table
        for alias in _coded(row[3:])
    }
    assert also == ALIASES


def _coded(cells: list[str]) -> list[str]:
    return [name.strip(" `|") for cell in cells for name in cell.split(",") if name.strip(" `|")]


def test_aliases_name_measures_and_shadow_none() -> None:
    assert set(ALIASES.values()) <= set(MEASURES)
    assert not set(ALIASES) & set(MEASURES)


@pytest.mark.parametrize(
    "text",
    [
        "recall",
        "recall@",
        "recall@0",
        "recall@-1",
        "recall@1.5",
        "recall@1000001",
        "recall@12345678901234567890",
        "recall@five",
        "recall@5@5",
        "recall@٥",
        "mrr@",
        "r-precision@5",
        "hit",
        "precision",
        "judged",
    ],
)
def test_a_bad_cutoff_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_measure(text)
    assert caught.value.code == "config.bad-cutoff"
    assert text in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("Recall", '"Recall" needs a cutoff.', "Write recall@5, say."),
        ("rprec@3", '"rprec@3": r-precision takes no cutoff.', "Write r-precision."),
        (
            "p@0",
            '"p@0": the cutoff "0" is not a whole number from 1 to 1,000,000.',
            "Write it as in recall@5.",
        ),
    ],
)
def test_a_bad_cutoff_is_told_with_what_to_write(text: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_measure(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_an_unknown_measure_is_told_with_all_that_are_known() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_measure("P_10")
    assert caught.value.message == 'there is no measure "P_10".'
    assert caught.value.hint == (
        'Did you mean "precision@10"? Known: recall@k, hit@k, precision@k, precision_returned@k, recall_cap@k, mrr[@k], '
        "ndcg[@k], ndcg_exp@k, map[@k], r-precision, judged@k, unjudged@k."
    )


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("recal@5", '"recall@5"'),
        ("recall_5", '"recall@5"'),
        ("recall5", '"recall@5"'),
        ("P_10", '"precision@10"'),
        ("ndcg_cut_10", '"ndcg@10"'),
        ("map_cut.10", '"map@10"'),
        ("succes@1", '"hit@1"'),
        ("nddcg", '"ndcg"'),
    ],
)
def test_an_unknown_measure_gets_a_near_match_and_the_list(text: str, guess: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_measure(text)
    assert caught.value.code == "config.unknown-measure"
    assert text in caught.value.message
    assert f"Did you mean {guess}?" in caught.value.hint
    for spelled in ("recall@k", "mrr[@k]", "r-precision"):
        assert spelled in caught.value.hint


@pytest.mark.parametrize("text", ["faithfulness", "", "@5", "5"])
def test_what_resembles_no_measure_gets_no_guess(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_measure(text)
    assert caught.value.code == "config.unknown-measure"
    assert caught.value.hint.startswith("Known: recall@k, ")


@pytest.mark.parametrize(
    ("texts", "printed"),
    [
        (["recall@1,3,5,10"], "recall@1 recall@3 recall@5 recall@10"),
        (["recall@1,3,mrr"], "recall@1 recall@3 mrr"),
        (["recall@1, 3 ,mrr"], "recall@1 recall@3 mrr"),
        (["mrr", "recall@5", "mrr"], "mrr recall@5"),
        (["hit@5,success@5"], "hit@5"),
        (["recall@5,"], "recall@5"),
        (["recall@1,precision@2,3"], "recall@1 precision@2 precision@3"),
        ([], ""),
        (iter(["mrr"]), "mrr"),
    ],
)
def test_lists_of_measures(texts: list[str], printed: str) -> None:
    assert " ".join(map(str, parse_measures(texts))) == printed


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["mrr,3"], "config.bad-cutoff"),
        (["3,recall@5"], "config.bad-cutoff"),
        (["recall@5", "3"], "config.bad-cutoff"),
        (["recall@1,0"], "config.bad-cutoff"),
        (["recall@1,²"], "config.bad-cutoff"),
        ([""], "config.unknown-measure"),
        ([" , "], "config.unknown-measure"),
        (["recall@1,x"], "config.unknown-measure"),
    ],
)
def test_lists_that_cannot_be_read(texts: list[str], code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_measures(texts)
    assert caught.value.code == code


def test_a_number_without_a_measure_says_which_text_it_is_in() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_measures(["mrr,3"])
    assert caught.value.message == '"mrr,3": the number 3 follows no measure with a cutoff.'
    assert caught.value.hint == "Write recall@1,3,5."


def test_the_default_ladder() -> None:
    assert ladder(5) == parse_measures(DEFAULT_LADDER)
    assert " ".join(map(str, ladder(5))) == "recall@1 recall@3 recall@5 recall@10 hit@5 mrr ndcg@10"
    assert " ".join(map(str, ladder(7))) == "recall@1 recall@3 recall@5 recall@7 recall@10 hit@7 mrr ndcg@10"
    assert (
        " ".join(map(str, ladder(20))) == "recall@1 recall@3 recall@5 recall@10 recall@20 hit@20 mrr ndcg@10"
    )


def test_measures_are_values() -> None:
    assert len({Measure("recall", 5), Measure("recall", 5), Measure("recall", 10)}) == 2
    mixed = [Measure("recall", 10), Measure("recall", 5), Measure("mrr")]
    assert sorted(mixed) == [Measure("mrr", 0), Measure("recall", 5), Measure("recall", 10)]
    with pytest.raises(AttributeError, match="immutable"):
        mixed[0].cutoff = 3  # type: ignore[misc]


def test_definitions_are_values_with_named_fields() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        MEASURES["mrr"].cutoff = "required"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Definition(MEASURES["mrr"].compute, "optional", "", "")  # type: ignore[misc]


def test_a_measure_is_known_by_how_it_is_spelt() -> None:
    assert all(is_measure(str(measure)) for measure in parse_measures(["recall@1,10", "mrr", "ndcg_exp@5"]))
    for text in ("recall", "recall@0", "recall@5 ", "tag:x", ""):
        assert not is_measure(text)
