"""A finished run becomes a record: scores, slices, causes, provenance, and what a reader must be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from rageval_action.core.labels.linking import Linked, link
from rageval_action.core.measuring.base_questions import BaseAnswers
from rageval_action.core.measuring.evaluation import Provenance, Settings, assemble
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.measuring.record_summary import means, no_answer, query_sha256, scored, slice_means
from rageval_action.core.model.hashing import query_key
from rageval_action.core.model.record import GitInfo, NoAnswer, Quantiles, RunRecord
from rageval_action.core.model.snapshot import Manifest, Snapshot
from rageval_action.core.model.types import (
    Chunk,
    ChunkAcl,
    Evidence,
    GoldenSet,
    Grades,
    Groups,
    Hit,
    Notice,
    Query,
    QueryAcl,
    Ranking,
    Run,
    Unanswerable,
)
from tests.synthetic_runs import NOW, chunks, hits, row

TEXTS = {"a": ["alpha", "aleph"], "b": "beta", "c": "gamma"}
CORPUS = chunks(TEXTS)
MEASURES = parse_measures(["recall@1,2", "mrr", "judged@5"])


def golden(*queries: Query, **more: Any) -> GoldenSet:
    return GoldenSet(queries=queries, format="jsonl", path="golden.jsonl", sha256="0" * 64, **more)


def query(name: str, relevant: Mapping[str, int] | None = None, **more: Any) -> Query:
    return Query(id=name, text=more.pop("text", f"question {name}"), relevant=dict(relevant or {}), **more)


def snapshot(corpus: Sequence[Chunk] = CORPUS, **more: Any) -> Snapshot:
    notices, vectors = more.pop("notices", ()), more.pop("query_vectors", {})
    values: dict[str, Any] = {
        "chunks": len(corpus),
        "documents": len({chunk.doc for chunk in corpus}),
        "dimension": 4,
        "dtype": "float32",
        "metric": "cosine",
        "normalised": True,
    }
    return Snapshot(
        path="index",
        manifest=Manifest(**{**values, **more}),
        chunks=tuple(corpus),
        notices=notices,
        query_vectors=vectors,
    )


def retrieved(rankings: Sequence[Ranking], **more: Any) -> Run:
    return Run(rankings=tuple(rankings), retriever="dense", depth=more.pop("depth", 100), **more)


def ranking(name: str, *names: str, corpus: Sequence[Chunk] = CORPUS, **more: Any) -> Ranking:
    return Ranking(query_id=name, hits=hits(names, {chunk.id: chunk for chunk in corpus}), **more)


def settings(**more: Any) -> Settings:
    return Settings(**{"measures": MEASURES, "k": 2, "access": "enforce", **more})


def made(
    queries: Sequence[Query],
    rankings: Sequence[Ranking],
    *,
    corpus: Sequence[Chunk] = CORPUS,
    unit: Any = "auto",
    held: Snapshot | None = None,
    run: Run | None = None,
    provenance: Provenance | None = None,
    golden_notices: tuple[Notice, ...] = (),
    base: BaseAnswers | None = None,
    **more: Any,
) -> RunRecord:
    asked = golden(*queries, notices=golden_notices)
    return assemble(
        asked,
        link(asked, corpus, unit),
        held or snapshot(corpus),
        run or retrieved(rankings),
        settings(**more),
        provenance or Provenance(run_id="r", created_at=NOW),
        base,
    )


def codes(found: RunRecord) -> list[str]:
    return [note.code for note in found.record.warnings]


class TestRecord:
    def test_everything_has_its_place(self) -> None:
        queries = [
            query("q1", {"a": 2}, tags=("x",), type="lookup", lang="en", line=3, acl=QueryAcl(principal="u")),
            query("q2", {"b": 1}, source="synthetic"),
            query("q3", answerable=False),
        ]
        rankings = [
            ranking("q1", "b#0", "a#1", latency_ms={"total": 3.0}),
            ranking("q2", error="timeout"),
            ranking("q3", "c#0"),
        ]
        run = retrieved(
            rankings,
            parameters={"reranker": "cross", "nprobe": 3},
            warm_up=2,
            cost={"tokens": 7.0},
        )
        origin = Provenance(
            run_id="run-9",
            created_at=NOW,
            git=GitInfo(sha="abc"),
            versions={"numpy": "2"},
            hardware={"cpus": 4},
            region="eu",
        )
        held = snapshot(
            fingerprint="f0", build_id="b1", source_commit="c0", model="m", revision="r", chunker="s"
        )
        found = made(
            queries,
            rankings,
            run=run,
            provenance=origin,
            held=held,
            unreviewed=4,
            policy={"k": 2},
            access="audit",
        ).record
        assert (found.run_id, found.created_at, found.git.sha, found.region) == ("run-9", NOW, "abc", "eu")
        assert (found.versions, found.hardware, found.policy, found.k) == (
            {"numpy": "2"},
            {"cpus": 4},
            {"k": 2},
            2,
        )
        assert (found.retriever.name, found.retriever.reranker, found.retriever.depth) == (
            "dense",
            "cross",
            100,
        )
        assert found.retriever.parameters == {"reranker": "cross", "nprobe": 3}
        assert (found.warm_up, found.cost, found.acl_mode, found.errors) == (2, {"tokens": 7.0}, "audit", 1)
        assert (found.golden.path, found.golden.sha256, found.golden.format) == (
            "golden.jsonl",
            "0" * 64,
            "jsonl",
        )
        assert (found.golden.unit, found.golden.queries, found.golden.answerable) == ("document", 3, 2)
        assert (found.golden.unanswerable, found.golden.unreviewed) == (1, 4)
        assert found.golden.sources == {"unknown": 2, "synthetic": 1}
        assert (found.snapshot.fingerprint, found.snapshot.build_id, found.snapshot.source_commit) == (
            "f0",
            "b1",
            "c0",
        )
        assert (found.snapshot.model, found.snapshot.revision, found.snapshot.chunker) == ("m", "r", "s")
        assert (found.snapshot.chunks, found.snapshot.documents, found.snapshot.metric) == (4, 3, "cosine")
        assert found.latency_ms == {"total": Quantiles(p50=3.0, p95=3.0, n=1)}

    def test_cached_query_vectors_are_told_apart(self) -> None:
        asked = [query(name, {"a": 1}) for name in ("q1", "q2")]

        def checksum(number: float, *names: str) -> str:
            vectors = {
                query_key(model="m", revision="", prefix="p: ", text=f"question {name}"): np.full(
                    4, number, dtype=np.float32
                )
                for name in names
            }
            held = snapshot(model="m", query_prefix="p: ", query_vectors=vectors)
            return made(asked, [ranking("q1"), ranking("q2")], held=held).record.snapshot.query_vectors_sha256

        assert len(checksum(1.0, "q1", "q2")) == 64
        assert checksum(1.0, "q1", "q2") == checksum(1.0, "q2", "q1", "another")
        assert checksum(1.0, "q1", "q2") != checksum(2.0, "q1", "q2")
        assert checksum(1.0, "q1") == checksum(1.0) == "", "not all of them are cached"

    def test_rows(self) -> None:
        asked = query(
            "q1", {"a": 2, "b": 1}, tags=("x",), type="t", lang="en", line=3, acl=QueryAcl(principal="u")
        )
        (found,) = made([asked], [ranking("q1", "b#0", "a#1")]).queries
        assert (found.query_id, found.query, found.line) == ("q1", "question q1", 3)
        assert (found.tags, found.type, found.lang, found.source, found.principal) == (
            ("x",),
            "t",
            "en",
            "unknown",
            "u",
        )
        assert found.query_sha256 == query_sha256("question q1")
        assert found.judgments == Grades({"a": 2, "b": 1})
        assert found.scores == {"recall@1": 0.5, "recall@2": 1.0, "mrr": 1.0, "judged@5": 1.0}
        assert [hit.id for hit in found.results] == ["b#0", "a#1"]
        assert found.misses == ()

    def test_texts_are_whole_or_left_out(self) -> None:
        asked = query("q1", {"a": 1}, text="x" * 400)
        assert made([asked], [ranking("q1")]).queries[0].query == "x" * 400
        assert made([asked], [ranking("q1")], keep_texts=False).queries[0].query == ""
        assert made([asked], [ranking("q1")], keep_texts=False).queries[0].query_sha256 == query_sha256(
            "x" * 400
        )

    def test_means_count_failed_queries_and_leave_out_the_undefined(self) -> None:
        found = made(
            [query("q1", {"a": 1}), query("q2", {"a": 1})],
            [ranking("q1", "a#0"), ranking("q2", error="down")],
        ).record
        assert (found.measures["recall@1"].mean, found.measures["recall@1"].n) == (0.5, 2)
        assert (found.measures["judged@5"].mean, found.measures["judged@5"].n) == (1.0, 1)
        empty = made([query("q1", {"a": 1})], [ranking("q1")]).record
        assert (empty.measures["judged@5"].mean, empty.measures["judged@5"].n) == (None, 0)

    def test_slices_of_scored_queries(self) -> None:
        queries = [
            query("q1", {"a": 1}, tags=("x",)),
            query("q2", {"b": 1}),
            query("q3", answerable=False, tags=("x",)),
        ]
        found = made(queries, [ranking("q1", "a#0"), ranking("q2"), ranking("q3", "a#0")]).record
        assert set(found.slices) == {"source:unknown", "tag:x"}
        assert (found.slices["tag:x"].n, found.slices["tag:x"].measures["mrr"].mean) == (1, 1.0)
        assert (found.slices["source:unknown"].n, found.slices["source:unknown"].measures["mrr"].mean) == (
            2,
            0.5,
        )

    def test_scores_are_cut_at_the_depth(self) -> None:
        rankings = [ranking("q1", "a#0", "b#0", "c#0")]
        deep = made([query("q1", {"c": 1})], rankings)
        flat = made([query("q1", {"c": 1})], rankings, run=retrieved(rankings, depth=2))
        assert deep.queries[0].scores["mrr"] == pytest.approx(1 / 3)
        assert flat.queries[0].scores["mrr"] == 0.0
        assert len(flat.queries[0].results) == 3

    def test_access_violations_are_counted(self) -> None:
        denied = Hit(id="a#0", doc="a", rank=1, score=1.0, acl_allowed=False)
        allowed = Hit(id="b#0", doc="b", rank=2, score=0.5, acl_allowed=True)
        unknown = Hit(id="c#0", doc="c", rank=3, score=0.4)
        bad = Ranking(query_id="q1", hits=(denied, allowed, unknown))
        found = made([query("q1", {"a": 1}), query("q2", {"a": 1})], [bad, ranking("q2", "a#0")]).record
        assert (found.acl_violations, found.acl_judged) == (1, 1)

    def test_a_run_of_other_length_is_our_bug(self) -> None:
        with pytest.raises(ValueError, match="zip"):
            made([query("q1", {"a": 1})], [])


class TestSight:
    CORPUS = (
        Chunk(id="s#0", doc="s", text="one", acl=ChunkAcl(tenant="acme", groups=("ops",))),
        Chunk(id="s#1", doc="s", text="two", acl=ChunkAcl(principals=("ana",))),
        Chunk(id="m#0", doc="m", text="three", acl=ChunkAcl(tenant="acme")),
        Chunk(id="m#1", doc="m", text="four"),
        Chunk(id="o#0", doc="o", text="five"),
    )

    def cause(self, name: str, acl: QueryAcl | None, unit: str = "auto") -> str:
        asked = query("q1", {name: 1, "o#0" if "#" in name else "o": 1}, acl=acl)
        found = made([asked], [ranking("q1", "o#0", corpus=self.CORPUS)], corpus=self.CORPUS, unit=unit)
        return next(miss.cause for miss in found.queries[0].misses if miss.item == name)

    @pytest.mark.parametrize(
        ("name", "acl", "cause"),
        [
            ("s", QueryAcl(tenant="other"), "acl-filtered"),
            ("s", QueryAcl(principal="ana"), "below-depth"),
            ("s", None, "below-depth"),
            ("m", QueryAcl(tenant="other"), "below-depth"),
            ("s#0", QueryAcl(principal="ana"), "acl-filtered"),
            ("s#1", QueryAcl(principal="ana"), "below-depth"),
            ("m#0", QueryAcl(tenant="other"), "acl-filtered"),
            ("m#1", QueryAcl(tenant="other"), "below-depth"),
        ],
    )
    def test_what_a_principal_may_not_see(self, name: str, acl: QueryAcl | None, cause: str) -> None:
        assert self.cause(name, acl, "chunk" if "#" in name else "document") == cause

    def test_evidence_is_seen_chunk_by_chunk(self) -> None:
        asked = query("q1", evidence=(Evidence(doc="s", quote="one"),), acl=QueryAcl(principal="ana"))
        also = query("q2", {"o": 1})
        rankings = [ranking("q1", "o#0", corpus=self.CORPUS), ranking("q2", "o#0", corpus=self.CORPUS)]
        found = made([asked, also], rankings, corpus=self.CORPUS)
        assert found.record.golden.unit == "document"
        assert found.queries[0].misses[0].cause == "acl-filtered"


class TestOtherUnit:
    def test_documents_beside_chunks(self) -> None:
        found = made([query("q1", {"a#1": 1})], [ranking("q1", "a#0", "b#0")], unit="chunk").record
        assert found.measures["recall@1"].mean == 0.0
        assert found.unit_measures["document"]["recall@1"].mean == 1.0

    def test_the_best_chunk_makes_the_document(self) -> None:
        asked = query("q1", {"a#0": 0, "a#1": 2, "b#0": -1})
        found = made(
            [asked], [ranking("q1", "b#0", "a#0")], unit="chunk", measures=parse_measures(["ndcg@10"])
        ).record
        assert found.unit_measures["document"]["ndcg@10"].mean == pytest.approx(0.6309297535714574)

    def test_a_judged_chunk_that_is_gone_is_a_document_of_its_own(self) -> None:
        asked = query("q1", {"a#0": 1, "gone#1": 1})
        found = made([asked], [ranking("q1", "a#0")], unit="chunk").record
        assert found.unit_measures["document"]["recall@1"].mean == 0.5

    def test_not_where_chunks_are_documents(self) -> None:
        corpus = tuple(Chunk(id=name, doc=name, text=name) for name in "abc")
        ranked = [Ranking(query_id="q1", hits=())]
        assert made([query("q1", {"a": 1})], ranked, corpus=corpus, unit="chunk").record.unit_measures == {}

    @pytest.mark.parametrize("unit", ["document", "auto"])
    def test_not_beside_documents(self, unit: str) -> None:
        assert made([query("q1", {"a": 1})], [ranking("q1")], unit=unit).record.unit_measures == {}

    def test_not_with_groups(self) -> None:
        queries = [query("q1", any_of=(("a#0", "a#1"),)), query("q2", {"b#0": 1})]
        assert made(queries, [ranking("q1"), ranking("q2")], unit="chunk").record.unit_measures == {}


class TestLatency:
    def test_quantiles_by_stage(self) -> None:
        rankings = [
            ranking(
                f"q{number}", latency_ms={"total": float(number), **({"embed": 1.0} if number < 3 else {})}
            )
            for number in range(1, 5)
        ]
        found = made([query(f"q{number}", {"a": 1}) for number in range(1, 5)], rankings).record.latency_ms
        assert list(found) == ["embed", "total"]
        assert found["total"] == Quantiles(p50=2.5, p95=pytest.approx(3.85), n=4)
        assert found["embed"].n == 2

    def test_not_timed(self) -> None:
        assert made([query("q1", {"a": 1})], [ranking("q1")]).record.latency_ms == {}


class TestNoAnswer:
    def track(self, threshold: float | None, *rankings: Ranking) -> NoAnswer:
        queries = [query(one.query_id, answerable=False) for one in rankings]
        every = [query("x", {"a": 1}), *queries]
        return made(every, [ranking("x"), *rankings], threshold=threshold).record.no_answer

    def test_no_such_query(self) -> None:
        assert self.track(0.5) == NoAnswer(
            n=0, threshold=0.5, reason="the golden set has no unanswerable query"
        )

    def test_no_threshold(self) -> None:
        assert self.track(None, ranking("n1", "a#0")) == NoAnswer(n=1, reason="no score threshold was given")

    def test_rate(self) -> None:
        found = self.track(
            0.5, ranking("n1", "a#0"), ranking("n2"), ranking("n3", "c#0", "b#0"), ranking("n4")
        )
        assert found == NoAnswer(n=4, threshold=0.5, false_retrieval_rate=0.5)

    def test_at_the_threshold_counts(self) -> None:
        assert self.track(1.0, ranking("n1", "a#0")).false_retrieval_rate == 1.0
        assert self.track(1.0 + 1e-12, ranking("n1", "a#0")).false_retrieval_rate == 0.0

    def test_failed_queries_are_not_in_the_rate(self) -> None:
        found = self.track(0.5, ranking("n1", "a#0"), ranking("n2", error="down"))
        assert (found.n, found.false_retrieval_rate) == (2, 1.0)
        found = self.track(0.5, ranking("n2", error="down"))
        assert found == NoAnswer(n=1, threshold=0.5, reason="the retriever failed for all of them")


class TestWarnings:
    def test_the_notes_of_everybody_in_order(self) -> None:
        asked = golden(query("q1", {"a": 1}), notices=(Notice(code="1", text=""),))
        linked = Linked("document", {"q1": Grades({"a": 1})}, (Notice(code="3", text=""),))
        held = snapshot(notices=(Notice(code="2", text=""),), documents=1000)
        run = retrieved([ranking("q1")], notices=(Notice(code="4", text=""),))
        found = assemble(asked, linked, held, run, settings(), Provenance(run_id="r", created_at=NOW))
        assert codes(found) == ["1", "2", "3", "4"]

    @pytest.mark.parametrize(("documents", "told"), [(99, True), (100, False), (3, True)])
    def test_a_small_corpus(self, documents: int, told: bool) -> None:
        found = made([query("q1", {"a": 1})], [ranking("q1")], held=snapshot(documents=documents))
        assert ("corpus.small" in codes(found)) is told
        if told:
            note = next(note for note in found.record.warnings if note.code == "corpus.small")
            assert note.text == f"k = 2 of {documents} documents: in a corpus this small a hit is easy"

    @pytest.mark.parametrize("documents", [1, 2])
    def test_a_corpus_that_fits_into_k(self, documents: int) -> None:
        found = made([query("q1", {"a": 1})], [ranking("q1")], held=snapshot(documents=documents))
        note = next(note for note in found.record.warnings if note.code == "corpus.small")
        assert note.text.endswith(": all of them fit, so that next to nothing can be missed")

    def test_mostly_synthetic(self) -> None:
        def asked(synthetic: int) -> RunRecord:
            sources = ["synthetic" if number < synthetic else "human" for number in range(4)]
            queries = [query(f"q{n}", {"a": 1}, source=source) for n, source in enumerate(sources)]
            return made(queries, [ranking(f"q{n}") for n in range(4)])

        assert "golden.synthetic" not in codes(asked(2))
        note = next(note for note in asked(3).record.warnings if note.code == "golden.synthetic")
        assert note.text == "3 of 4 queries are synthetic: compare runs, do not quote as quality"

    def test_a_slice_that_is_judged_and_that_no_query_is_in(self) -> None:
        queries = [
            query("q1", {"a": 1}, tags=("exact-term",)),
            query("q2", {"a": 1}, tags=("slow",), type="concept"),
            query("q3", answerable=False, tags=("outside",)),
        ]
        judged = ("tag:exact-trem", "type:concept", "tag:outside", "lang:en")
        found = made(queries, [ranking(q.id) for q in queries], judged=judged)
        told = [note.text for note in found.record.warnings if note.code == "policy.empty-slice"]
        start, end = "a gate or a waiver is about", "in which there is no query"
        assert told == [
            f'{start} "tag:exact-trem", {end} (did you mean tag:exact-term?)',
            f'{start} "tag:outside", {end} (there are source:unknown, tag:exact-term, tag:slow, type:concept)',
            f'{start} "lang:en", {end} (there are source:unknown, tag:exact-term, tag:slow, type:concept)',
        ]
        assert "policy.empty-slice" not in codes(made(queries, [ranking(q.id) for q in queries]))

    def test_nothing_relevant(self) -> None:
        found = made(
            [query("q1", {"a": 0}), query("q2", {"a": 1}), query("q3", answerable=False)],
            [ranking("q1"), ranking("q2"), ranking("q3")],
        )
        note = next(note for note in found.record.warnings if note.code == "golden.nothing-relevant")
        assert note.text == "nothing relevant to find, scored 0: 1 query (q1)"


class TestSummary:
    def test_the_text_is_hashed_in_nfc(self) -> None:
        assert query_sha256("cafe\u0301") == query_sha256("caf\u00e9")
        assert query_sha256("a") == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"

    def test_a_mean_from_an_exact_sum(self) -> None:
        rows = [row(f"q{number}", [], ["a"], CORPUS) for number in range(3)]
        done = scored(rows, "document", 100, MEASURES)
        assert means(done, MEASURES)["mrr"].mean == 0.0
        assert means([], MEASURES)["mrr"].mean is None
        assert slice_means([], MEASURES) == {}

    def test_unanswerable_rows_have_no_scores(self) -> None:
        rows = [row("q1", ["b"], Unanswerable(), CORPUS), row("q2", ["b"], Groups((("b", "c"),)), CORPUS)]
        done = scored(rows, "document", 100, MEASURES)
        assert done[0].scores == {}
        assert done[1].scores["mrr"] == 1.0
        assert no_answer(done, 0.1).n == 1


class TestBaseExam:
    """The base's questions beside the head's own."""

    def answered(self, *alone: str, **more: Any) -> RunRecord:
        """The base asks a and b; the head asks a by another label, and c."""
        before = made(
            [query("a", {"b": 1}), query("b", {"c": 1}), query("a2", {"c": 1}, text="question a")],
            [ranking("a", "b#0"), ranking("b", "c#0"), ranking("a2", "c#0")],
        )
        queries = tuple(query(name) for name in alone)
        base = BaseAnswers(
            baseline=before,
            queries=queries,
            run=retrieved([ranking(name, "b#0", "c#0") for name in alone]),
            unasked=more.pop("unasked", {}),
        )
        asked = [query("a", {"c": 1}), query("c", {"b": 1})]
        return made(asked, [ranking("a", "c#0"), ranking("c", "b#0")], base=base)

    def test_rows_of_both_carry_the_base_s_labels(self) -> None:
        found = self.answered("b")
        assert [(one.query_id, one.asked_for) for one in found.queries] == [("a", "both"), ("c", "head")]
        assert found.queries[0].judgments == Grades({"c": 1})
        assert found.queries[0].base_judgments == Grades({"b": 1})
        assert found.queries[1].base_judgments is None

    def test_its_own_rows_enter_no_summary(self) -> None:
        found = self.answered("b")
        (alone,) = found.asked_for_base
        assert (alone.query_id, alone.asked_for, alone.base_judgments) == ("b", "base", Grades({"c": 1}))
        assert [hit.id for hit in alone.results] == ["b#0", "c#0"]
        assert found.record.golden.queries == 2
        assert found.record.measures["mrr"].n == 2

    def test_what_could_not_be_asked_is_remembered_with_the_exam(self) -> None:
        found = self.answered(unasked={"b": "no-vector"})
        assert (found.asked_for_base, found.record.base_unasked) == ((), {"b": "no-vector"})
        assert found.record.base_exam is not None
        assert made([query("a", {"b": 1})], [ranking("a", "b#0")]).record.base_exam is None
