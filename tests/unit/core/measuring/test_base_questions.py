"""What of the base's exam is still to be asked, by whom, and what it is judged by in the candidate's corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from rageval_action.core.measuring.base_questions import NOBODY, BaseLabels, ToAsk, to_ask
from rageval_action.core.model.access_names import asker_of
from rageval_action.core.model.corpus import Lookup, corpus_of
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.types import (
    Chunk,
    ChunkAcl,
    EvidenceItem,
    EvidenceItems,
    Grades,
    Query,
    QueryAcl,
    Unanswerable,
)
from tests.synthetic_runs import amended, chunks, plain_chunks, row, run

CORPUS = plain_chunks("abc")
ANN = QueryAcl(tenant="acme", principal="ann", groups=("ops", "dev"))


def asked(name: str, text: str, acl: QueryAcl | None = None, **more: Any) -> Any:
    who = asker_of(acl) if acl else None
    return row(name, ["a"], ["a"], CORPUS, query=text, acl=who, **more)


def base(*rows: Any) -> RunRecord:
    return run(rows, CORPUS)


def left(
    before: RunRecord, *queries: Query, corpus: Sequence[Chunk] = CORPUS, names_matter: bool = False
) -> ToAsk:
    return to_ask(before, queries, corpus, names_matter=names_matter)


class TestToAsk:
    def test_what_the_head_asks_to_the_letter_is_not_asked_again(self) -> None:
        before = base(asked("q1", "pay"), asked("q2", "pay now"), asked("q3", "cafe\u0301"))
        found = left(
            before, Query(id="x", text="pay"), Query(id="y", text="Pay now"), Query(id="z", text="café")
        )
        assert found == ToAsk(queries=(Query(id="q2", text="pay now", line=1),))

    def test_it_keeps_what_makes_slices(self) -> None:
        before = base(asked("q1", "pay", tags=("t",), type="lookup", lang="en", line=7))
        (query,) = left(before).queries
        assert query == Query(id="q1", text="pay", tags=("t",), type="lookup", lang="en", line=7)

    def test_another_asker_is_another_question(self) -> None:
        before = base(asked("q1", "pay", ANN), asked("q2", "pay"))
        assert [one.id for one in left(before, Query(id="x", text="pay", acl=ANN)).queries] == ["q2"]
        assert [one.id for one in left(before, Query(id="x", text="pay")).queries] == ["q1"]

    def test_an_older_record_does_not_say_who_asks(self) -> None:
        before = amended(base(asked("q1", "pay"), asked("q2", "other")), exam=None)
        assert [one.id for one in left(before, Query(id="x", text="pay", acl=ANN)).queries] == ["q2"]

    def test_without_its_text_it_cannot_be_asked(self) -> None:
        before = base(asked("q1", "pay"), asked("q2", "other"))
        bare = replace(before.queries[0], query="")
        forged = replace(before.queries[1], query="something else")
        found = left(RunRecord(record=before.record, queries=(bare, forged), corpus=before.corpus))
        assert found == ToAsk(unasked={"q1": "no-text", "q2": "no-text"})


class TestNames:
    BEFORE = base(asked("q1", "pay", ANN))

    def test_they_are_found_again_where_chunks_or_questions_hold_them(self) -> None:
        guarded = (
            replace(CORPUS[0], acl=ChunkAcl(tenant="acme", principals=("ann",))),
            replace(CORPUS[1], acl=ChunkAcl(groups=("dev",))),
            CORPUS[2],
        )
        (query,) = left(
            self.BEFORE, Query(id="x", text="other", acl=QueryAcl(groups=("ops",))), corpus=guarded
        ).queries
        assert query.acl == QueryAcl(tenant="acme", principal="ann", groups=("dev", "ops"))

    def test_a_name_that_nobody_names_is_a_stand_in_that_opens_nothing(self) -> None:
        (query,) = left(self.BEFORE).queries
        assert query.acl is not None
        assert query.acl.principal == f"{NOBODY}{text_hash('ann')}"
        assert not ChunkAcl(principals=("ann",)).admits(query.acl)

    def test_empty_names_stay_empty(self) -> None:
        (query,) = left(base(asked("q1", "pay", QueryAcl(groups=("ops",))))).queries
        assert query.acl is not None
        assert (query.acl.tenant, query.acl.principal) == ("", "")

    def test_a_retriever_that_is_told_names_is_told_no_stand_in(self) -> None:
        assert left(self.BEFORE, names_matter=True) == ToAsk(unasked={"q1": "no-asker"})
        known = Query(id="x", text="other", acl=ANN)
        assert [one.id for one in left(self.BEFORE, known, names_matter=True).queries] == ["q1"]
        plain = base(asked("q1", "pay"))
        assert [one.id for one in left(plain, names_matter=True).queries] == ["q1"]


class TestLabels:
    OLD = chunks({"a": ["one", "two"], "b": ["three"], "c": ["four"]})
    NEW = chunks({"z": ["one", "two"], "b": ["other three and more"], "c": ["four"]})

    def judged(self, judgments: Any) -> Any:
        made = row("q", ["a#0"], judgments, self.OLD)
        before = run([made], self.OLD)
        return BaseLabels(before, Lookup(corpus_of(self.NEW)), self.NEW).of(before.queries[0])

    def test_ids_follow_their_texts(self) -> None:
        assert self.judged({"a": 2, "b": 1}) == Grades({"z": 2, "b": 1})
        assert self.judged(Unanswerable()) == Unanswerable()

    def test_a_quote_is_looked_up_in_the_texts_and_keeps_its_key(self) -> None:
        items = (
            EvidenceItem(doc="a", quote="two", chunks=("a#1",)),
            EvidenceItem(doc="b", quote="three", chunks=("b#0",)),
            EvidenceItem(doc="c", quote="gone", chunks=("c#0",)),
        )
        assert self.judged(EvidenceItems(items)) == EvidenceItems(
            (
                replace(items[0], chunks=("z#1",)),
                replace(items[1], chunks=("b#0",)),
                replace(items[2], chunks=()),
            )
        )

    def test_a_whole_document_is_held_by_all_of_its_chunks(self) -> None:
        alone, several = EvidenceItem.whole(["a"], ["a#0"]), EvidenceItem.whole(["c", "a"], ["c#0"])
        assert self.judged(EvidenceItems((alone, several))) == EvidenceItems(
            (replace(alone, chunks=("z#0", "z#1")), replace(several, chunks=("c#0", "z#0", "z#1")))
        )
