"""One query explained."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.comparison import compare
from rageval_action.core.comparing.query_changes import QueryChange
from rageval_action.core.comparing.query_pairs import query_pairs
from rageval_action.core.judging.explanation import explain, find, overlap
from rageval_action.core.judging.sentences.cause_words import ADVICE
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.measuring.query_layout import recall_curve
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import Grades, Unanswerable
from rageval_action.reports.query_explanation import lines
from tests.synthetic_runs import FILLERS, chunks, plain_chunks, ranked, row, run


def explained(before, after, query_id="q000", texts=None):
    pair = next(pair for pair in query_pairs(after, before) if pair.after.row.query_id == query_id)
    change = None
    if before is not None:
        found = compare(before, after, parse_measures(["recall@5"])).queries
        change = next((one for one in found if one.id == query_id), None)
    by_hash = {text_hash(f"text of {name}"): text for name, text in (texts or {}).items()}
    return explain(pair, change, by_hash)


def test_a_lost_query_names_what_took_its_place_and_by_how_much():
    made = explained(
        ranked([2, 1]), ranked([8, 1]), texts={"f1": "question about q000", "r0": "nothing shared"}
    )
    assert (made.change, made.cause) == ("lost", "outranked")
    (wanted,) = made.wanted
    assert (wanted.label, wanted.before, wanted.after) == ("r0", 2, 8)
    assert (wanted.best.id, wanted.best.rank, wanted.best.overlap) == ("r0#0", 8, 0.0)
    assert [(rival.id, rival.before, rival.after) for rival in made.rivals][:2] == [
        ("f1", 1, 1),
        ("f2", 3, 2),
    ]
    assert made.rivals[0].passage.overlap == 1.0
    assert made.margin_before == pytest.approx(1 / 2 - 1)
    assert made.margin == pytest.approx(1 / 8 - 1)
    assert made.advice
    assert len(made.before) == len(made.after) == 10
    assert [place.id for place in made.before if place.relevant] == ["r0"]
    assert made.after[7].before == 2


def test_without_a_baseline_the_record_says_why():
    made = explained(None, ranked([8, 1]))
    assert (made.compared, made.change, made.cause, made.before) == (False, "same", "outranked", ())
    assert made.wanted[0].before == 0


def test_a_query_that_came_with_the_candidate_is_not_compared():
    made = explained(ranked([1]), ranked([1, 9]), "q001")
    assert not made.compared


def test_nothing_should_be_found_for_an_unanswerable_query():
    corpus = plain_chunks(FILLERS)
    made = explained(None, run([row("q000", FILLERS, Unanswerable(), corpus)], corpus))
    assert (made.change, made.wanted, made.rivals, made.margin) == ("unanswerable", (), (), None)


def test_the_best_chunk_of_the_right_document_is_named_when_the_chunk_itself_is_gone():
    corpus = chunks({"manual": ["one", "two", "three"], "other": "four"})
    rows = [row("q000", ["other#0", "manual#2"], Grades({"manual#0": 1}), corpus)]
    pair = query_pairs(run(rows, corpus, unit="chunk"))[0]
    made = explain(pair, None, {})
    assert made.wanted[0].after == 0
    assert made.wanted[0].best.id == "manual#2"


@pytest.mark.parametrize("ids", ["faq-{}", "{}", "other#{}", "faq/{}#x"])
def test_the_document_of_a_chunk_is_known_whatever_its_id_looks_like(ids):
    made = chunks({"faq": ["one", "two", "three", "four"], "other": "five"})
    corpus = [replace(chunk, id=ids.format(number)) for number, chunk in enumerate(made)]
    names = [chunk.id for chunk in corpus]
    rows = [row("q000", [names[4], names[2]], Grades({names[3]: 1}), corpus)]
    (pair,) = query_pairs(run(rows, corpus, unit="chunk"))
    assert explain(pair, None, {}).wanted[0].best.id == names[2]
    (line,) = [line for line in lines(explain(pair, None, {})) if line.lstrip().startswith("best chunk")]
    assert names[2] in line


def test_a_chunk_that_is_gone_belongs_to_the_document_that_the_baseline_knew():
    old = chunks({"faq": ["one", "two"], "other": "three"})
    new = [replace(old[1], id="faq-9"), old[2]]
    judgments = Grades({"faq#0": 1})
    before = run([row("q000", ["faq#0", "other#0"], judgments, old)], old, unit="chunk")
    after = run([row("q000", ["other#0", "faq-9"], judgments, new)], new, unit="chunk")
    (pair,) = query_pairs(after, before)
    assert explain(pair, None, {}).wanted[0].best.id == "faq-9"
    assert explain(query_pairs(after)[0], None, {}).wanted[0].best is None


def test_a_changed_text_is_not_the_same_query():
    corpus = plain_chunks(FILLERS)
    before = run([row("q000", FILLERS, ["f1"], corpus, query="old words")], corpus)
    after = run([row("q000", FILLERS, ["f1"], corpus, query="new words")], corpus)
    assert query_pairs(after, before)[0].before is None


def test_labels_that_the_old_corpus_could_not_know_stay_its_own():
    small, large = plain_chunks(FILLERS), plain_chunks([*FILLERS, "new"])
    before = run([row("q000", FILLERS, ["f2"], small)], small)
    after = run([row("q000", ["new", *FILLERS], ["new"], large)], large)
    pair = query_pairs(after, before)[0]
    assert pair.before.first == 2
    assert pair.after.first == 1


def test_the_curve_is_the_mean_share_found():
    layouts = [pair.after for pair in query_pairs(ranked([1, 3, 0, 9]))]
    assert recall_curve(layouts, 4) == [0.25, 0.25, 0.5, 0.5]
    assert recall_curve([], 4) == []


def test_a_query_without_an_answer_takes_no_part_in_the_curve():
    corpus = plain_chunks([*FILLERS, "r"])
    rows = [row("a", ["r", *FILLERS], ["r"], corpus), row("b", list(FILLERS), Unanswerable(), corpus)]
    made = run(rows, corpus)
    assert recall_curve([pair.after for pair in query_pairs(made, made)], 2) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("query", "text", "share"),
    [
        ("rotate the VPN certificate", "Ｒotate a vpn", 0.5),
        ("請假流程", "員工請假的流程如下", 2 / 3),
        ("貓", "貓與狗的相處", 0.0),
        ("error 9002", "ERROR: 9002!", 1.0),
    ],
)
def test_shared_words(query, text, share):
    assert overlap(query, text) == pytest.approx(share)


def test_a_text_without_words_shares_nothing_that_could_be_counted():
    assert overlap("?!", "text") is None


def test_queries_are_found_by_id_or_by_words():
    rows = ranked([1, 2]).queries
    assert [one.query_id for one in find(rows, "q001")] == ["q001"]
    assert [one.query_id for one in find(rows, "QUESTION")] == ["q000", "q001"]
    assert find(rows, "nothing") == []


def test_words_of_a_query_need_not_stand_together():
    texts = ("Rotate the key?", "The key")
    rows = [one.revised(query=text) for one, text in zip(ranked([1, 2]).queries, texts, strict=True)]
    assert [one.query_id for one in find(rows, "key, rotate")] == ["q000"]
    assert [one.query_id for one in find(rows, "the key")] == ["q000", "q001"]
    assert find(rows, "?!") == []


def test_a_query_that_only_changed_its_text_has_no_advice():
    change = QueryChange(
        id="q000",
        change="changed",
        measure="recall@5",
        cause="query-changed",
        baseline_rank=None,
        candidate_rank=None,
    )
    made = explain(query_pairs(ranked([1]))[0], change, {})
    assert (made.change, made.advice) == ("changed", "")


def test_advice_follows_the_rank_with_and_without_a_baseline():
    """Up to 2k a text is just below the cut; the advice never says otherwise than the circumstances."""
    for rank, advice in ((10, "outranked-close"), (11, "outranked")):
        for before in (None, ranked([rank]), ranked([1])):
            made = explained(before, ranked([rank]))
            assert made.advice == ADVICE[advice].text
            assert ("close" in made.circumstances) == (advice == "outranked-close")


def test_what_a_gained_query_was_missed_for_is_past():
    made = explained(ranked([9]), ranked([1]))
    assert (made.change, made.cause, made.advice) == ("gained", "outranked", "")
    assert any("It was missing before: outranked by f1" in line for line in lines(made))


def test_without_a_baseline_it_says_what_is_found():
    first = [
        next(line for line in lines(explained(None, ranked([rank]))) if line.startswith("It finds"))
        for rank in (1, 8)
    ]
    assert first[0] == "It finds what it should in the top 5."
    assert first[1].startswith("It finds nothing relevant in the top 5. Cause: outranked")
    assert any(line == "Should find r0 (grade 1): not ranked" for line in lines(explained(None, ranked([0]))))
    assert any("rank 2 → not ranked" in line for line in lines(explained(ranked([2]), ranked([0]))))
