"""What else changed between two runs, and what a reader is told before the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.core.comparing.exams import ExamQuestion
from rageval_action.core.comparing.factors import (
    Factor,
    Turnover,
    caveats,
    factors,
    turnover,
)
from rageval_action.core.comparing.golden_changes import Pairing
from rageval_action.core.judging.sentences.notices import of_caveat
from rageval_action.core.model.corpus import corpus_of
from tests.synthetic_runs import amended, chunks, compared, ranked

BASE = ranked([1, 1]).record
UNTOUCHED = Pairing(paired=2)
SAME = Turnover(new_ids=0.0, same_texts=1.0, documents_added=0, documents_removed=0, documents_kept=9)


def changed(**more: Any) -> tuple[Factor, ...]:
    return factors(BASE, amended(ranked([1, 1]), **more).record, SAME, UNTOUCHED)


def turn(before: Mapping[str, Sequence[str] | str], after: Mapping[str, Sequence[str] | str]) -> Turnover:
    return turnover(corpus_of(chunks(before)), corpus_of(chunks(after)))


class TestTurnover:
    def test_nothing(self) -> None:
        texts = {"a": ["one", "two"], "b": "three"}
        found = turn(texts, texts)
        assert found == Turnover(
            new_ids=0.0, same_texts=1.0, documents_added=0, documents_removed=0, documents_kept=2
        )
        assert not found.rechunked

    def test_documents_come_and_go(self) -> None:
        found = turn({"a": "one", "b": "two", "c": "three"}, {"b": "two", "c": "3", "d": "four", "e": "five"})
        assert found == Turnover(
            new_ids=0.5,
            same_texts=0.25,
            documents_added=2,
            documents_removed=1,
            documents_kept=2,
            rewritten=0.5,
        )

    def test_chunked_anew_under_the_old_ids(self) -> None:
        before = {name: ["one " + name, "two " + name, "three " + name] for name in "abc"}
        found = turn(before, {name: [" ".join(texts)] for name, texts in before.items()})
        assert (found.new_ids, found.rewritten, found.recut) == (0.0, 1.0, 1.0)
        assert found.rechunked
        assert found.in_place
        finer = turn(before, {name: ["one", name, "two", name] for name in before})
        assert (finer.new_ids, finer.rewritten, finer.in_place) == (0.25, 1.0, True)

    def test_edited_is_not_chunked_anew(self) -> None:
        before = {name: ["one " + name, "two " + name] for name in "abc"}
        found = turn(before, {name: [text + "!" for text in texts] for name, texts in before.items()})
        assert (found.rewritten, found.recut, found.rechunked) == (1.0, 0.0, False)

    def test_another_corpus_under_the_old_ids_is_not_either(self) -> None:
        before = corpus_of(chunks({"a": ["one", "two"]}))
        after = corpus_of([replace(one, doc="x") for one in chunks({"a": ["three", "four"]})])
        found = turnover(before, after)
        assert (found.rewritten, found.recut, found.rechunked) == (1.0, 0.0, False)

    @pytest.mark.parametrize(
        ("new_ids", "rewritten", "recut", "in_place"),
        [
            (0.0, 0.5, 0.5, True),
            (0.49, 1.0, 1.0, True),
            (0.5, 1.0, 1.0, False),
            (0.0, 0.49, 1.0, False),
            (0.0, 1.0, 0.49, False),
        ],
    )
    def test_borders_under_the_old_ids(
        self, new_ids: float, rewritten: float, recut: float, in_place: bool
    ) -> None:
        found = replace(SAME, new_ids=new_ids, rewritten=rewritten, recut=recut)
        assert found.in_place is in_place
        assert replace(found, same_texts=0.1, documents_added=10).rechunked is False

    def test_chunked_anew(self) -> None:
        found = turn({"a": ["one", "two"], "b": "three"}, {"a": ["o", "ne", "t", "wo", "!"], "b": "three"})
        assert (found.new_ids, found.rechunked) == (0.5, True)

    def test_renamed_as_a_whole(self) -> None:
        found = turn({"a": "one", "b": "two"}, {"x": "one", "y": "two"})
        assert (found.new_ids, found.same_texts, found.documents_kept) == (1.0, 1.0, 0)
        assert found.rechunked

    def test_another_corpus_is_not_chunked_anew(self) -> None:
        assert not turn({"a": "one", "b": "two"}, {"x": "three", "y": "four"}).rechunked

    @pytest.mark.parametrize(
        ("new_ids", "same_texts", "added", "kept", "rechunked"),
        [
            (0.5, 0.5, 5, 0, True),
            (0.49, 1.0, 0, 5, False),
            (0.5, 0.49, 5, 4, False),
            (0.5, 0.49, 5, 5, True),
            (1.0, 0.0, 0, 1, True),
        ],
    )
    def test_borders(self, new_ids: float, same_texts: float, added: int, kept: int, rechunked: bool) -> None:
        found = Turnover(
            new_ids=new_ids,
            same_texts=same_texts,
            documents_added=added,
            documents_removed=0,
            documents_kept=kept,
        )
        assert found.rechunked is rechunked

    def test_empty_corpora(self) -> None:
        assert turn({}, {}) == Turnover(
            new_ids=0.0, same_texts=1.0, documents_added=0, documents_removed=0, documents_kept=0
        )
        assert turn({}, {"a": "x"}).new_ids == 1.0
        assert turn({"a": "x"}, {}).documents_removed == 1


class TestFactors:
    def test_none(self) -> None:
        assert changed() == ()
        assert changed(run_id="2", warm_up=3, region="x", versions={"a": "1"}) == ()

    @pytest.mark.parametrize(
        ("more", "name", "before", "after"),
        [
            ({"model": "big"}, "model", "mini 8 dimensions", "big 8 dimensions"),
            ({"revision": "r2"}, "model", "mini 8 dimensions", "mini r2 8 dimensions"),
            (
                {"query_prefix": "query: "},
                "model",
                "mini 8 dimensions",
                "mini query prefix 'query: ' 8 dimensions",
            ),
            ({"document_prefix": "x"}, "model", "mini 8 dimensions", "mini document prefix 'x' 8 dimensions"),
            ({"dimension": 0}, "model", "mini 8 dimensions", "mini"),
            ({"model": ""}, "model", "mini 8 dimensions", "unnamed 8 dimensions"),
            ({"model": "", "dimension": 0}, "model", "mini 8 dimensions", ""),
            ({"chunker": "split 200"}, "chunker", "split 400", "split 200"),
            ({"metric": "l2"}, "metric", "cosine", "l2"),
            ({"name": "bm25"}, "retriever", "dense", "bm25"),
            ({"parameters": {"b": 2, "a": 1.5}}, "retriever", "dense", "dense a=1.5 b=2"),
            ({"reranker": "cross"}, "retriever", "dense", "dense cross"),
            ({"acl_mode": "audit"}, "access", "enforce", "audit"),
            ({"k": 3}, "k", "5", "3"),
            ({"unit": "chunk"}, "unit", "document", "chunk"),
            ({"depth": 50}, "depth", "100", "50"),
            ({"fingerprint": "0123456789abcdef"}, "snapshot", "ffffffffffff", "0123456789ab"),
        ],
    )
    def test_each(self, more: dict[str, Any], name: str, before: str, after: str) -> None:
        assert changed(**more) == (Factor(name=name, before=before, after=after),)

    @pytest.mark.parametrize("more", [{"model": "big"}, {"chunker": "x"}, {"metric": "l2"}])
    def test_a_new_fingerprint_is_explained_by_what_made_it(self, more: dict[str, Any]) -> None:
        assert len(changed(fingerprint="0" * 64, **more)) == 1

    def test_of_a_retriever_only_the_options_that_differ_are_told(self) -> None:
        one, other = {"fusion": "rrf", "k1": 1.2, "b": 0.75}, {"fusion": "rrf", "k1": 1.6, "c": 2}
        before, after = (
            ranked([1], name="hybrid", parameters=one),
            ranked([1], name="hybrid", parameters=other),
        )
        (factor,) = compared(before, after).factors
        assert (factor.name, factor.before, factor.after) == (
            "retriever",
            "hybrid b=0.75 k1=1.2",
            "hybrid c=2 k1=1.6",
        )

    @pytest.mark.parametrize("name", ["latency_queries", "dense.latency_queries"])
    def test_how_many_queries_were_timed_makes_no_other_retriever(self, name: str) -> None:
        before, after = (ranked([1], parameters={"metric": "ip", name: timed}) for timed in (27, 28))
        assert compared(before, after).factors == ()

    def test_a_new_fingerprint_beside_another_retriever_is_a_factor_of_its_own(self) -> None:
        assert [one.name for one in changed(fingerprint="0" * 64, name="bm25")] == ["retriever", "snapshot"]

    @pytest.mark.parametrize(("added", "removed"), [(3, 0), (0, 2), (3, 2)])
    def test_documents(self, added: int, removed: int) -> None:
        turned = Turnover(
            new_ids=0.1, same_texts=0.9, documents_added=added, documents_removed=removed, documents_kept=5
        )
        after = amended(ranked([1, 1]), documents=20, chunks=40, fingerprint="0", chunker="other").record
        (chunker, corpus) = factors(BASE, after, turned, UNTOUCHED)
        assert chunker.name == "chunker"
        assert corpus.name == "corpus"
        assert corpus.before == "14 documents, 14 chunks"
        assert corpus.after == f"20 documents, 40 chunks: {added} added, {removed} removed"

    def test_texts_changed_under_the_same_chunker(self) -> None:
        turned = Turnover(
            new_ids=0.0, same_texts=0.99, documents_added=0, documents_removed=0, documents_kept=9
        )
        assert [one.name for one in factors(BASE, BASE, turned, UNTOUCHED)] == ["corpus"]
        fewer = amended(ranked([1, 1]), chunks=13).record
        assert [one.name for one in factors(BASE, fewer, SAME, UNTOUCHED)] == ["corpus"]

    def test_texts_changed_by_the_chunker(self) -> None:
        turned = Turnover(
            new_ids=0.9, same_texts=0.1, documents_added=0, documents_removed=0, documents_kept=9
        )
        after = amended(ranked([1, 1]), chunker="split 200", chunks=99).record
        found = factors(BASE, after, turned, UNTOUCHED)
        assert [(one.name, one.after) for one in found] == [
            ("chunker", "split 200"),
            ("corpus", "14 documents, 99 chunks: 0 added, 0 removed"),
        ]
        as_many = amended(ranked([1, 1]), chunker="split 200").record
        assert [one.name for one in factors(BASE, as_many, turned, UNTOUCHED)] == ["chunker"]

    @pytest.mark.parametrize(
        ("name", "field"),
        [
            ("query vectors", lambda value: {"query_vectors_sha256": value}),
            ("run file", lambda value: {"parameters": {"sha256": value} if value else {}}),
        ],
    )
    def test_checksums(self, name: str, field: Callable[[str], dict[str, Any]]) -> None:
        def told(old: str, new: str) -> list[str]:
            before = amended(ranked([1, 1]), **field(old)).record
            after = amended(ranked([1, 1]), **field(new)).record
            return [one.name for one in factors(before, after, SAME, UNTOUCHED)]

        assert told("a" * 64, "b" * 64) == [name]
        assert told("a" * 64, "a" * 64) == told("", "b" * 64) == told("a" * 64, "") == told("", "") == []
        both = (
            amended(ranked([1, 1]), **field("a" * 64)).record,
            amended(ranked([1, 1]), **field("b" * 64)).record,
        )
        (found,) = factors(*both, SAME, UNTOUCHED)
        assert (found.before, found.after) == ("a" * 12, "b" * 12)
        assert caveats(*both, [found, Factor(name="corpus", before="", after="")], SAME, UNTOUCHED) == ()

    def test_code_that_ranked_is_compared_by_hash(self) -> None:
        def told(old: dict[str, str], new: dict[str, str]) -> list[tuple[str, str, str]]:
            before, after = (amended(ranked([1, 1]), code=code).record for code in (old, new))
            found = factors(before, after, SAME, Pairing(paired=2))
            return [(one.name, one.before, one.after) for one in found]

        same = {"util.py": "c" * 64}
        found = told({"search.py": "a" * 64, **same}, {"search.py": "b" * 64, "new.py": "d" * 64, **same})
        assert found == [
            ("retriever code", f"search.py {'a' * 12}", f"new.py {'d' * 12}, search.py {'b' * 12}")
        ]
        assert told(same, same) == told({}, {}) == []
        assert told({}, same) == [("retriever code", "", f"util.py {'c' * 12}")]

    def test_query_vectors_of_another_model_or_other_queries_are_no_factor(self) -> None:
        before = amended(ranked([1, 1]), query_vectors_sha256="a").record
        after = amended(ranked([1, 1]), query_vectors_sha256="b").record
        assert len(factors(before, after, SAME, UNTOUCHED)) == 1
        for field in ("new", "removed", "reworded"):
            found = factors(before, after, SAME, Pairing(paired=2, **{field: ("q",)}))
            assert [one.name for one in found] == ["golden set"]
        bigger = amended(ranked([1, 1]), query_vectors_sha256="b", model="big").record
        assert [one.name for one in factors(before, bigger, SAME, UNTOUCHED)] == ["model"]

    def test_golden_set(self) -> None:
        after = amended(ranked([1, 1]), queries=3).record
        golden = Pairing(
            paired=2,
            new=("a",),
            removed=("b", "c"),
            reworded=("d",),
            relabelled=("e", "f", "g"),
            retagged=("h",),
            renamed=("i",),
            access_changed=("j", "k"),
        )
        (found,) = factors(BASE, after, SAME, golden)
        assert (found.name, found.before) == ("golden set", "2 queries")
        assert found.after == (
            "3 queries: 3 relabelled, 1 retagged, 1 renamed, 1 new, 2 removed, 1 reworded, 2 for another asker"
        )

    @pytest.mark.parametrize(
        "field", ["new", "removed", "reworded", "relabelled", "retagged", "renamed", "access_changed"]
    )
    def test_each_change_of_the_golden_set_is_one(self, field: str) -> None:
        assert len(factors(BASE, BASE, SAME, Pairing(paired=2, **{field: ("q",)}))) == 1


class TestWarnings:
    def notes(
        self, found: Sequence[Factor] = (), turned: Turnover = SAME, **more: Any
    ) -> list[tuple[str, str]]:
        golden, asked = more.pop("golden", UNTOUCHED), more.pop("asked", ())
        before = amended(ranked([1] * 20), **more).record
        return [
            (one.code, of_caveat(one).text) for one in caveats(before, BASE, found, turned, golden, asked)
        ]

    def question(self, name: str, **more: Any) -> ExamQuestion:
        """A question of the base's exam."""
        (one,) = compared(ranked([1]), ranked([1])).base_questions
        assert one.before is not None
        return replace(one, before=replace(one.before, query_id=name), after=None, **more)

    def test_none(self) -> None:
        assert self.notes() == []

    def test_chunked_anew_comes_first(self) -> None:
        turned = Turnover(
            new_ids=0.934, same_texts=0.25, documents_added=0, documents_removed=0, documents_kept=9
        )
        found = [Factor(name=name, before="a", after="b") for name in ("model", "chunker")]
        notes = self.notes(found, turned, errors=20, depth=5, golden=Pairing(paired=2, removed=("q",)))
        assert notes[0] == ("corpus.rechunked", "re-chunked: 93 % of ids new, 25 % of texts known")
        assert [code for code, _ in notes] == [
            "corpus.rechunked",
            "baseline.errors",
            "several-factors",
            "golden.removed",
            "depth",
        ]

    def test_chunked_anew_under_the_old_ids(self) -> None:
        turned = replace(SAME, same_texts=0.24, rewritten=0.757, recut=0.9)
        told = ("corpus.rechunked", "re-chunked: 76 % of the chunk ids that stayed hold another text")
        assert self.notes([], turned) == [told]
        asked = [self.question(name, unknown="other-text") for name in "ab"]
        assert self.notes([], turned, asked=[*asked, self.question("c", unknown="no-vector")]) == [
            told,
            ("labels.rewritten", "labels no longer mean the same text: 2 queries (a, b)"),
        ]

    def test_labels_that_follow_their_texts_are_told(self) -> None:
        asked = [self.question("a", moved={"old": "new"}), self.question("b")]
        text = "their documents have new ids now, which the labels follow: 1 query (a)"
        assert self.notes(asked=asked) == [("labels.followed", text)]

    def test_another_number_of_chunks_is_the_chunker_s(self) -> None:
        found = [Factor(name=name, before="a", after="b") for name in ("chunker", "corpus")]
        assert self.notes(found) == []
        for came, went in ((1, 0), (0, 1)):
            grown = replace(SAME, documents_added=came, documents_removed=went)
            assert [code for code, _ in self.notes(found, grown)] == ["several-factors"]

    def test_another_corpus(self) -> None:
        turned = Turnover(
            new_ids=0.9, same_texts=0.2, documents_added=9, documents_removed=9, documents_kept=1
        )
        text = "another corpus: 90 % of ids new, 20 % of texts known, documents kept: 1"
        assert self.notes([], turned) == [("corpus.replaced", text)]

    def test_half_of_the_ids_is_the_border(self) -> None:
        def turned(share: float) -> Turnover:
            return Turnover(
                new_ids=share, same_texts=1.0, documents_added=0, documents_removed=0, documents_kept=9
            )

        assert [code for code, _ in self.notes([], turned(0.5))] == ["corpus.rechunked"]
        assert self.notes([], turned(0.499)) == []

    def test_a_baseline_that_failed(self) -> None:
        text = "the baseline's retriever failed for 2 of 20 queries: anything looks better than that"
        assert self.notes(errors=2) == [("baseline.errors", text)]
        assert self.notes(errors=1) == []

    def test_several_factors(self) -> None:
        found = [
            Factor(name=name, before="a", after="b") for name in ("model", "chunker", "access", "corpus")
        ]
        text = "model, chunker changed at once: the comparison cannot tell which of them moved the score"
        assert self.notes(found) == [("several-factors", text)]
        assert self.notes(found[1:3]) == []
        judging = [
            Factor(name=name, before="a", after="b")
            for name in ("golden set", "k", "unit", "depth", "access")
        ]
        assert self.notes(judging) == []

    @pytest.mark.parametrize("name", ["model", "chunker", "corpus", "snapshot", "retriever"])
    def test_what_counts_as_a_factor(self, name: str) -> None:
        pair = [Factor(name=one, before="a", after="b") for one in (name, "metric")]
        assert [code for code, _ in self.notes(pair)] == ["several-factors"]

    def test_depth(self) -> None:
        assert self.notes(depth=30) == [
            ("depth", "both sides are scored at depth 30, the smaller of the two")
        ]
        assert self.notes(depth=300) == [
            ("depth", "both sides are scored at depth 100, the smaller of the two")
        ]

    def test_golden_set(self) -> None:
        golden = Pairing(
            paired=2,
            new=("n",),
            removed=("a", "b"),
            reworded=("c",),
            relabelled=("d",),
            retagged=("e",),
            renamed=("f",),
            access_changed=("g",),
            since_baseline=("d", "n"),
        )
        assert self.notes(golden=golden) == [
            ("golden.removed", "removed from the golden set; the base exam keeps them: 2 queries (a, b)"),
            ("golden.reworded", "reworded; the base exam keeps the old wording: 1 query (c)"),
            ("golden.new", "new in the golden set: 1 query (n)"),
            ("golden.relabelled", "judged by other labels than before: 1 query (d)"),
            ("golden.retagged", "in other slices than before: 1 query (e)"),
            ("golden.access-changed", "asked by somebody else than before: 1 query (g)"),
            ("golden.since-baseline", "changed on the base branch since the baseline: 2 queries (d, n)"),
        ]
