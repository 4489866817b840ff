"""Labels follow texts from one corpus to the next."""

from __future__ import annotations

import pytest

from rageval_action.core.labels.successors import (
    Gone,
    Held,
    Moved,
    Successors,
    Unclear,
    follow,
    names_of,
    successor_documents,
)
from rageval_action.core.model.corpus import Lookup, corpus_of, hash64
from rageval_action.core.model.types import Chunk, EvidenceItem, Grades, Groups, Unanswerable


def lookup(documents: dict[str, list[str]], ids: dict[str, str] | None = None) -> Lookup:
    """Documents with the texts of their chunks; ids are `doc#n` unless `ids` names the chunk of a text."""
    return Lookup(
        corpus_of(
            Chunk(id=(ids or {}).get(text, f"{doc}#{n}"), doc=doc, text=text)
            for doc, texts in documents.items()
            for n, text in enumerate(texts)
        )
    )


BASE = {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"], "c": ["c1"]}


def became(
    after: dict[str, list[str]], name: str, unit: str = "document", *, rechunked: bool = False
) -> object:
    return Successors(lookup(BASE), lookup(after), rechunked=rechunked).of(name, unit)  # type: ignore[arg-type]


class TestDocuments:
    def test_an_id_that_is_still_there_is_itself_whatever_it_holds(self) -> None:
        assert became({"a": ["other"]}, "a") == Held()

    def test_a_renamed_document_is_followed(self) -> None:
        assert became({"new": BASE["a"], "b": BASE["b"]}, "a") == Moved(hash64("new"))

    def test_half_of_the_texts_are_enough_and_fewer_are_not(self) -> None:
        assert became({"new": ["a1", "a2", "x", "y"]}, "a") == Moved(hash64("new"))
        assert became({"new": ["a1", "x"]}, "a") == Gone()

    def test_a_file_that_copies_every_chunk_carries_on_no_document(self) -> None:
        everything = [text for texts in BASE.values() for text in texts]
        assert became({"copy": [*everything, "more", "and more"]}, "b") == Unclear("text-elsewhere")

    def test_two_heirs_are_unclear(self) -> None:
        assert became({"one": BASE["a"], "two": BASE["a"]}, "a") == Unclear("several-successors")

    def test_a_document_that_went_into_one_that_was_there_is_unclear(self) -> None:
        assert became({"b": [*BASE["b"], *BASE["c"]]}, "c") == Unclear("text-elsewhere")

    def test_what_nobody_carries_is_gone(self) -> None:
        assert became({"b": BASE["b"]}, "a") == Gone()
        assert became({"b": BASE["b"]}, "never indexed") == Gone()


class TestChunks:
    def test_a_new_id_for_the_same_text_is_followed(self) -> None:
        assert became({"new": BASE["a"]}, "a#1", "chunk") == Moved(hash64("new#1"))

    def test_an_old_chunk_with_the_same_text_is_no_heir(self) -> None:
        before = lookup({"a": ["same"], "b": ["same"]})
        after = lookup({"b": ["same"]})
        assert Successors(before, after, rechunked=False).of("a#0", "chunk") == Unclear("text-elsewhere")

    @pytest.mark.parametrize(("rechunked", "found"), [(False, Held()), (True, Unclear("other-text"))])
    def test_an_id_with_another_text_is_another_chunk_only_where_all_was_cut_anew(
        self, rechunked: bool, found: object
    ) -> None:
        assert became({"a": ["a2", "a1"]}, "a#0", "chunk", rechunked=rechunked) == found


class TestFollow:
    def follow(self, judgments: object, after: dict[str, list[str]]) -> object:
        there = lookup(after)
        return follow(
            judgments,  # type: ignore[arg-type]
            "document",
            Successors(lookup(BASE), there, rechunked=False),
            names_of(frozenset(after)),
        )

    def test_grades_and_groups_are_renamed(self) -> None:
        after = {"new": BASE["a"], "b": BASE["b"], "c": BASE["c"]}
        found = self.follow(Grades({"a": 2, "b": 1, "zero": 0}), after)
        assert found.judgments == Grades({"new": 2, "b": 1, "zero": 0})
        assert (found.moved, found.gone, found.unclear) == ({"a": "new"}, (), {})
        grouped = self.follow(Groups((("a", "c"), ("b",))), after)
        assert grouped.judgments == Groups((("new", "c"), ("b",)))

    def test_what_is_gone_stays_in_the_denominator(self) -> None:
        found = self.follow(Grades({"a": 1, "b": 1}), {"b": BASE["b"]})
        assert found.judgments == Grades({"a": 1, "b": 1})
        assert found.gone == ("a",)

    def test_a_successor_that_was_never_retrieved_keeps_the_old_name(self) -> None:
        found = follow(
            Grades({"a": 1}),
            "document",
            Successors(lookup(BASE), lookup({"new": BASE["a"]}), rechunked=False),
            {},
        )
        assert found.judgments == Grades({"a": 1})
        assert found.gone == ()

    def test_two_labels_that_become_one_keep_the_better_grade(self) -> None:
        before = lookup({"a": ["t1", "t2"], "b": ["t1", "t2"]})
        after = lookup({"new": ["t1", "t2"]})
        found = follow(
            Grades({"a": 1, "b": 3}),
            "document",
            Successors(before, after, rechunked=False),
            names_of(frozenset({"new"})),
        )
        assert found.judgments == Grades({"new": 3})

    def test_an_unanswerable_query_has_nothing_to_follow(self) -> None:
        assert self.follow(Unanswerable(), BASE).judgments == Unanswerable()

    def test_quotes_are_looked_up_in_the_renamed_document(self) -> None:
        after = {"new": BASE["a"], "b": BASE["b"]}
        successors = Successors(lookup(BASE), lookup(after), rechunked=False)
        items = (EvidenceItem(doc="a", quote="a1"), EvidenceItem(doc="b | c", quote=""))
        assert successor_documents(items, successors, names_of(frozenset(after))) == {"a": "new"}
