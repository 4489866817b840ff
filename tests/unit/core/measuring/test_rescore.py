"""A record under other labels: rankings stay, everything that rests on labels is worked out again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.measuring.rescore import rejudged
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.types import (
    Evidence,
    EvidenceItem,
    EvidenceItems,
    GoldenSet,
    Grades,
    Groups,
    Notice,
    Query,
    Unanswerable,
)
from rageval_action.errors import GoldenError
from tests.synthetic_runs import FILLERS, amended, chunks, plain_chunks, row, run

MEASURES = parse_measures(["recall@5", "mrr"])
CORPUS = plain_chunks([*FILLERS, "a", "b"])
RANKED = ["a", *FILLERS[:6], "b"]


def golden(*queries: Query, **more: Any) -> GoldenSet:
    return GoldenSet(queries=queries, format="jsonl", path="new.jsonl", sha256="b" * 64, **more)


def query(name: str = "q1", **more: Any) -> Query:
    return Query(id=name, text=more.pop("text", f"question {name}"), line=more.pop("line", 9), **more)


def record(names: Sequence[str] = ("q1", "q2"), **more: Any) -> RunRecord:
    return run([row(name, RANKED, ["a"], CORPUS, tags=("old",)) for name in names], CORPUS, **more)


def test_new_labels_new_scores_new_causes() -> None:
    before = record()
    after = rejudged(before, golden(query("q1", relevant={"b": 2}), query("q2", relevant={"a": 1})), MEASURES)
    assert after.queries[0].scores == {"recall@5": 0.0, "mrr": 1 / 8}
    assert (after.queries[0].misses[0].cause, after.queries[0].misses[0].rank) == ("outranked", 8)
    assert after.queries[0].results == before.queries[0].results
    assert after.record.measures["mrr"].mean == pytest.approx((1 / 8 + 1) / 2)
    assert after.corpus is before.corpus


def test_what_the_golden_set_says_of_a_query_is_taken_over() -> None:
    asked = query(relevant={"a": 1}, tags=("new",), type="t", lang="en", source="synthetic", line=41)
    found = rejudged(record(), golden(asked), MEASURES)
    (one,) = found.queries
    assert (one.tags, one.type, one.lang, one.source, one.line) == (("new",), "t", "en", "synthetic", 41)
    assert set(found.record.slices) == {"tag:new", "type:t", "lang:en", "source:synthetic"}
    assert (found.record.golden.path, found.record.golden.sha256) == ("new.jsonl", "b" * 64)
    assert (found.record.golden.queries, found.record.golden.sources) == (1, {"synthetic": 1})


def test_only_queries_with_the_same_id_and_text() -> None:
    asked = golden(
        query("q1", relevant={"a": 1}, text="other words"), query("q2", relevant={"a": 1}), query("q3")
    )
    assert [one.query_id for one in rejudged(record(), asked, MEASURES).queries] == ["q2"]


def test_no_query_in_common() -> None:
    with pytest.raises(GoldenError) as caught:
        rejudged(record(), golden(query("q9", relevant={"a": 1})), MEASURES)
    assert (caught.value.code, caught.value.where) == ("golden.no-query-matches", "new.jsonl")


def test_counts_are_of_the_rows_that_are_left() -> None:
    rows = [row("q1", RANKED, ["a"], CORPUS), row("q2", [], ["a"], CORPUS, error="down")]
    denied = replace(rows[0].results[0], acl_allowed=False)
    rows[0] = replace(rows[0], results=(denied, *rows[0].results[1:]))
    before = run(rows, CORPUS)
    assert (before.record.errors, before.record.acl_violations) == (1, 1)
    only_first = rejudged(before, golden(query("q1", relevant={"a": 1})), MEASURES).record
    assert (only_first.errors, only_first.acl_violations) == (0, 1)
    only_second = rejudged(before, golden(query("q2", relevant={"a": 1})), MEASURES).record
    assert (only_second.errors, only_second.acl_violations) == (1, 0)
    assert (only_first.acl_judged, only_second.acl_judged) == (1, 0)


def test_warnings_about_the_old_golden_set_go() -> None:
    old = (Notice(code="golden.synthetic", text=""), Notice(code="corpus.small", text=""))
    before = amended(record(), warnings=old, unit_measures={"document": {}})
    asked = golden(query(relevant={"a": 1}), notices=(Notice(code="golden.new", text=""),))
    found = rejudged(before, asked, MEASURES).record
    assert [note.code for note in found.warnings] == ["golden.new", "corpus.small"]
    assert found.unit_measures == {}


def test_scores_are_cut_at_the_depth_of_the_record() -> None:
    found = rejudged(record(depth=5), golden(query(relevant={"b": 1})), MEASURES)
    assert found.queries[0].scores["mrr"] == 0.0


def test_the_no_answer_track_keeps_its_threshold() -> None:
    asked = golden(query(answerable=False), query("q2", relevant={"a": 1}))
    found = rejudged(record(threshold=0.5), asked, MEASURES)
    assert found.queries[0].judgments == Unanswerable()
    assert (found.record.no_answer.n, found.record.no_answer.false_retrieval_rate) == (1, 1.0)
    assert found.record.golden.unanswerable == 1
    assert rejudged(record(), asked, MEASURES).record.no_answer.reason == "no score threshold was given"


def test_what_was_hidden_stays_hidden() -> None:
    before = record(("q1",))
    rows = [row("q1", FILLERS, ["a", "b"], CORPUS)]
    hidden = run(rows, CORPUS)
    misses = tuple(
        replace(miss, cause="acl-filtered") if miss.item == "a" else miss for miss in hidden.queries[0].misses
    )
    told = RunRecord(
        record=before.record, queries=(replace(hidden.queries[0], misses=misses),), corpus=before.corpus
    )
    found = rejudged(told, golden(query(relevant={"a": 2, "b": 1})), MEASURES)
    assert [(miss.item, miss.cause) for miss in found.queries[0].misses] == [
        ("a", "acl-filtered"),
        ("b", "below-depth"),
    ]


class TestJudgments:
    def asked(
        self, asked: Query, *, unit: str = "document", corpus: Any = CORPUS, ranked: Sequence[str] = RANKED
    ) -> object:
        before = run([row("q1", ranked, ["a"], corpus)], corpus, unit=unit)
        return rejudged(before, golden(asked), MEASURES).queries[0].judgments

    def test_grades_and_groups(self) -> None:
        assert self.asked(query(relevant={"a": 2, "b": 0})) == Grades({"a": 2, "b": 0})
        assert self.asked(query(any_of=(("a", "b"),))) == Groups((("a", "b"),))
        both = query(relevant={"a": 1, "f1": 1, "f2": 0}, any_of=(("a", "b"),))
        assert self.asked(both) == Groups((("a", "b"), ("f1",)))

    def test_ids_are_compared_in_nfc(self) -> None:
        assert self.asked(query(relevant={"cafe\u0301": 1})) == Grades({"caf\u00e9": 1})
        assert self.asked(query(any_of=(("cafe\u0301",),))) == Groups((("caf\u00e9",),))

    def test_ids_decide_unless_the_unit_is_evidence(self) -> None:
        texts = chunks({"d": ["one", "two"], "a": "x"})
        asked = query(relevant={"d": 1}, evidence=(Evidence(doc="d", quote="two", start=3),))
        assert self.asked(asked, corpus=texts, ranked=["d#1"]) == Grades({"d": 1})
        item = EvidenceItem(doc="d", quote="two", start=3, chunks=("d#1",))
        assert self.asked(asked, unit="evidence", corpus=texts, ranked=["d#1"]) == EvidenceItems((item,))
        grouped = query(any_of=(("d",),), evidence=(Evidence(doc="d", quote="two", start=3),))
        assert self.asked(grouped, corpus=texts, ranked=["d#1"]) == Groups((("d",),))

    def test_evidence_as_the_record_resolved_it(self) -> None:
        held = EvidenceItems((EvidenceItem(doc="d", quote="two", chunks=("d#1",)),))
        texts = chunks({"d": ["one", "two"]})
        before = run([row("q1", ["d#0"], held, texts)], texts, unit="evidence")
        found = rejudged(before, golden(query(evidence=(Evidence(doc="d", quote="two"),))), MEASURES)
        assert found.queries[0].judgments == held

    def test_evidence_without_texts_is_refused_with_its_line(self) -> None:
        with pytest.raises(GoldenError) as caught:
            self.asked(query(evidence=(Evidence(doc="a", quote="words"),), line=17))
        assert (caught.value.code, caught.value.where) == ("golden.evidence-needs-texts", "new.jsonl:17")
        assert '"words"' in caught.value.message
        assert caught.value.hint

    def test_a_document_is_an_item_of_evidence(self) -> None:
        texts = chunks({"d": ["one", "two"], "a": "x"})
        asked = query(relevant={"d": 1, "a": 0})
        item = EvidenceItem(doc="d", quote="", chunks=("d#1",))
        assert self.asked(asked, unit="evidence", corpus=texts, ranked=["d#1", "a"]) == EvidenceItems((item,))

    def test_a_chunk_is_not(self) -> None:
        assert self.asked(query(relevant={"a#0": 1}), unit="evidence") == Grades({"a#0": 1})
