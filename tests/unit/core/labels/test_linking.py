"""A golden set meets a snapshot: the unit is found, evidence is resolved, and whatever is missing is named."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_action.core.labels.linking import Linked, link, unit_of
from rageval_action.core.model.types import (
    Chunk,
    Evidence,
    EvidenceItem,
    EvidenceItems,
    GoldenSet,
    Grades,
    Groups,
    Notice,
    Query,
    Unanswerable,
    UnitChoice,
)
from rageval_action.errors import GoldenError

CHUNKS = [
    Chunk(id="a#0", doc="a", text="alpha one. The quote is cut"),
    Chunk(id="a#1", doc="a", text="here and goes on."),
    Chunk(id="b#0", doc="b", text="beta"),
    Chunk(id="c#0", doc="c", text="gamma"),
]


def _golden(*queries: Query, path: str = "golden.jsonl") -> GoldenSet:
    return GoldenSet(queries=queries, format="canonical", path=path, sha256="")


def _link(*queries: Query, unit: UnitChoice = "auto", chunks: list[Chunk] = CHUNKS) -> Linked:
    return link(_golden(*queries), chunks, unit)


def _ids(name: str, *ids: str, line: int = 0) -> Query:
    return Query(id=name, text="?", relevant=dict.fromkeys(ids, 1), line=line)


def _quote(name: str, doc: str, quote: str, line: int = 0) -> Query:
    return Query(id=name, text="?", evidence=(Evidence(doc=doc, quote=quote),), line=line)


def _notices(linked: Linked, code: str) -> list[Notice]:
    return [notice for notice in linked.notices if notice.code == code]


def _refusal(*queries: Query, unit: UnitChoice = "auto", chunks: list[Chunk] = CHUNKS) -> GoldenError:
    with pytest.raises(GoldenError) as caught:
        _link(*queries, unit=unit, chunks=chunks)
    assert caught.value.exit_code == 2
    return caught.value


class TestUnit:
    def test_auto_finds_documents(self) -> None:
        linked = _link(_ids("q1", "a", "b"), _ids("q2", "a", "nope"))
        assert linked.unit == "document"
        assert linked.judgments == {"q1": Grades({"a": 1, "b": 1}), "q2": Grades({"a": 1, "nope": 1})}
        assert _notices(linked, "golden.unit") == [
            Notice(
                code="golden.unit",
                text="unit: document. 2 of 3 judged ids are document ids of the snapshot.",
                where="golden.jsonl",
            )
        ]

    def test_auto_finds_chunks(self) -> None:
        linked = _link(_ids("q1", "a#0", "nope"))
        assert linked.unit == "chunk"
        assert "1 of 2 judged ids are chunk ids" in _notices(linked, "golden.unit")[0].text

    def test_auto_finds_evidence(self) -> None:
        linked = _link(
            _quote("q1", "a", "The quote is cut here"), _quote("q2", "b", "beta"), _quote("q3", "b", "nope")
        )
        assert linked.unit == "evidence"
        assert linked.judgments["q1"] == EvidenceItems(
            (EvidenceItem(doc="a", quote="The quote is cut here", chunks=("a#0", "a#1")),)
        )
        assert (
            _notices(linked, "golden.unit")[0].text
            == "unit: evidence. 2 of 3 quotes are found in the snapshot."
        )

    def test_ids_that_are_both_name_documents(self) -> None:
        chunks = [Chunk(id=name, doc=name, text=name) for name in "xy"]
        assert _link(_ids("q", "x", "y"), chunks=chunks).unit == "document"

    def test_one_id_that_is_only_a_chunk_decides_when_the_others_are_both(self) -> None:
        chunks = [Chunk(id="x", doc="x", text=""), Chunk(id="x2", doc="x", text="")]
        assert _link(_ids("q", "x", "x2"), chunks=chunks).unit == "chunk"
        chunks = [Chunk(id="x", doc="x", text=""), Chunk(id="y1", doc="y", text="")]
        assert _link(_ids("q", "x", "y"), chunks=chunks).unit == "document"

    def test_a_choice_is_followed_without_a_notice(self) -> None:
        linked = _link(_ids("q", "x"), unit="chunk", chunks=[Chunk(id="x", doc="x", text="")])
        assert linked.unit == "chunk"
        assert linked.notices == ()
        assert (
            _link(_ids("q", "x"), unit="document", chunks=[Chunk(id="x", doc="x", text="")]).unit
            == "document"
        )

    def test_a_set_of_unanswerable_queries_has_nothing_to_find(self) -> None:
        linked = _link(Query(id="q", text="?", answerable=False))
        assert linked == Linked(unit="document", judgments={"q": Unanswerable()})

    def test_ids_are_compared_in_nfc(self) -> None:
        nfd = unicodedata.normalize("NFD", "café")
        chunks = [Chunk(id="1", doc="café", text="x")]
        assert _link(_ids("q", nfd), chunks=chunks).judgments == {"q": Grades({"café": 1})}
        assert _link(_quote("q", nfd, "x"), chunks=chunks).missing == {}
        groups = Query(id="q", text="?", any_of=((nfd,),))
        assert _link(groups, chunks=chunks).judgments == {"q": Groups((("café",),))}

    def test_evidence_is_ranked_by_chunk_whatever_the_unit(self) -> None:
        assert unit_of(EvidenceItems(()), "document") == "evidence"
        assert unit_of(Grades({}), "document") == "document"
        assert unit_of(Unanswerable(), "chunk") == "chunk"


class TestJudgments:
    def test_grades_are_kept_as_they_are(self) -> None:
        query = Query(id="q", text="?", relevant={"a": 3, "b": 0, "gone": -1})
        linked = _link(query)
        assert linked.judgments == {"q": Grades({"a": 3, "b": 0, "gone": -1})}
        assert linked.missing == {}

    def test_ids_decide_beside_evidence(self) -> None:
        query = Query(
            id="q", text="?", relevant={"a": 1}, evidence=(Evidence(doc="b", quote="beta"),), line=4
        )
        linked = _link(query)
        assert (linked.unit, linked.judgments) == ("document", {"q": Grades({"a": 1})})
        assert [notice.where for notice in _notices(linked, "golden.evidence-unused")] == ["golden.jsonl:4"]

    def test_evidence_decides_when_it_is_the_unit(self) -> None:
        query = Query(
            id="q", text="?", relevant={"a": 1}, evidence=(Evidence(doc="b", quote="beta"),), line=4
        )
        linked = _link(query, unit="evidence")
        assert linked.unit == "evidence"
        assert linked.judgments == {
            "q": EvidenceItems((EvidenceItem(doc="b", quote="beta", chunks=("b#0",)),))
        }
        assert [notice.where for notice in _notices(linked, "golden.ids-unused")] == ["golden.jsonl:4"]
        assert _notices(linked, "golden.evidence-unused") == []

    def test_groups_take_relevant_ids_as_groups_of_one(self) -> None:
        query = Query(id="q", text="?", relevant={"a": 1, "b": 1, "c": 0}, any_of=(("b", "c"),))
        linked = _link(query)
        assert linked.judgments == {"q": Groups((("b", "c"), ("a",)))}
        assert _notices(linked, "golden.grades-unused") == []

    def test_grades_beside_groups_are_said_not_to_count(self) -> None:
        query = Query(id="q", text="?", relevant={"a": 2}, any_of=(("b",),), line=9)
        (notice,) = _notices(_link(_ids("p", "a"), query), "golden.grades-unused")
        assert notice.text.startswith("1 of 2 queries")
        assert notice.where == "golden.jsonl:9"

    def test_rows_without_ids_are_scored_by_their_evidence(self) -> None:
        linked = _link(_ids("q1", "a"), _ids("q2", "b"), _quote("q3", "c", "gamma", line=3))
        assert linked.unit == "document"
        assert linked.judgments["q3"] == EvidenceItems(
            (EvidenceItem(doc="c", quote="gamma", chunks=("c#0",)),)
        )
        (notice,) = _notices(linked, "golden.mixed-units")
        assert notice.text.startswith("1 of 3 queries have only evidence")
        assert notice.where == "golden.jsonl:3"

    @pytest.mark.parametrize("unit", ["document", "chunk"])
    def test_so_they_are_under_a_chosen_unit(self, unit: UnitChoice) -> None:
        linked = _link(_ids("q1", "a", "a#0"), _quote("q2", "b", "beta"), unit=unit)
        assert linked.unit == unit
        assert isinstance(linked.judgments["q2"], EvidenceItems)
        assert len(_notices(linked, "golden.mixed-units")) == 1

    def test_rows_without_evidence_fall_back_to_chunks(self) -> None:
        graded = Query(id="q1", text="?", relevant={"a#0": 2, "a#1": 1}, line=1)
        linked = _link(graded, _quote("q2", "b", "beta", line=2), unit="evidence")
        assert linked.unit == "evidence"
        assert linked.judgments["q1"] == Grades({"a#0": 2, "a#1": 1})
        (notice,) = _notices(linked, "golden.no-evidence")
        assert notice.text == (
            "1 of 2 queries have no evidence and are scored by judged chunks, in the same mean"
        )
        assert notice.where == "golden.jsonl:1"
        assert _notices(linked, "golden.grades-unused") == []
        assert _notices(linked, "golden.mixed-units") == []

    def test_rows_without_evidence_fall_back_to_whole_documents(self) -> None:
        graded = Query(id="q1", text="?", relevant={"a": 2, "b": 0, "gone": 1})
        grouped = Query(id="q2", text="?", any_of=(("b", "c"),))
        linked = _link(graded, grouped, _quote("q3", "b", "beta"), unit="evidence")
        assert linked.judgments["q1"] == EvidenceItems(
            (
                EvidenceItem(doc="a", quote="", chunks=("a#0", "a#1")),
                EvidenceItem(doc="gone", quote=""),
            )
        )
        assert linked.judgments["q2"] == EvidenceItems(
            (EvidenceItem(doc="b | c", quote="", chunks=("b#0", "c#0"), documents=("b", "c")),)
        )
        assert linked.missing == {"q1": ("gone",)}
        assert len(_notices(linked, "golden.grades-unused")) == 1

    def test_unanswerable_queries_are_kept_in_their_place(self) -> None:
        linked = _link(Query(id="q1", text="?", answerable=False), _ids("q2", "a"))
        assert list(linked.judgments) == ["q1", "q2"]
        assert linked.judgments["q1"] == Unanswerable()

    def test_queries_of_one_document_keep_their_own_items(self) -> None:
        both = Query(
            id="q1", text="?", evidence=(Evidence(doc="a", quote="alpha"), Evidence(doc="b", quote="beta"))
        )
        linked = _link(both, _quote("q2", "a", "goes on"))
        assert linked.judgments == {
            "q1": EvidenceItems(
                (
                    EvidenceItem(doc="a", quote="alpha", chunks=("a#0",)),
                    EvidenceItem(doc="b", quote="beta", chunks=("b#0",)),
                )
            ),
            "q2": EvidenceItems((EvidenceItem(doc="a", quote="goes on", chunks=("a#1",)),)),
        }


class TestMissing:
    def test_missing_ids_are_named_with_line_and_near_miss(self) -> None:
        linked = _link(_ids("q1", "a", "b ", line=1), _ids("q2", "A", "nope", line=2))
        assert linked.missing == {"q1": ("b ",), "q2": ("A", "nope")}
        assert [(notice.text, notice.where) for notice in _notices(linked, "golden.id-not-in-snapshot")] == [
            ("`b ` is not in the snapshot; did you mean `b`?", "golden.jsonl:1"),
            ("`A` is not in the snapshot; did you mean `a`?", "golden.jsonl:2"),
            ("`nope` is not in the snapshot", "golden.jsonl:2"),
        ]

    def test_the_query_is_named_where_there_is_no_line(self) -> None:
        linked = _link(_ids("q1", "a", "nope"))
        (notice,) = _notices(linked, "golden.id-not-in-snapshot")
        assert (notice.text, notice.where) == ("`nope` is not in the snapshot (query `q1`)", "golden.jsonl")

    def test_group_members_are_missing_too(self) -> None:
        linked = _link(Query(id="q", text="?", any_of=(("a", "x"), ("y", "x")), line=1))
        assert linked.missing == {"q": ("x", "y")}
        assert len(_notices(linked, "golden.id-not-in-snapshot")) == 2

    @pytest.mark.parametrize(
        ("unit", "ids", "text"),
        [
            ("document", ("a", "a#0"), "`a#0` is a chunk of the snapshot, not a document"),
            ("chunk", ("a#0", "a"), "`a` is a document of the snapshot, not a chunk"),
        ],
    )
    def test_an_id_of_the_other_kind_is_said_to_be_one(
        self, unit: UnitChoice, ids: tuple[str, ...], text: str
    ) -> None:
        linked = _link(_ids("q", *ids, line=1), unit=unit)
        assert linked.missing == {"q": (ids[1],)}
        assert [notice.text for notice in _notices(linked, "golden.id-not-in-snapshot")] == [text]

    def test_missing_quotes_are_named(self) -> None:
        linked = _link(
            _quote("q1", "a", "alpha", line=1),
            _quote("q2", "a", "x" * 81, line=2),
            _quote("q3", "A", "y" * 80, line=3),
            _quote("q4", "nope", "z", line=4),
        )
        assert linked.missing == {"q2": ("x" * 81,), "q3": ("y" * 80,), "q4": ("z",)}
        assert [
            (notice.text, notice.where) for notice in _notices(linked, "golden.quote-not-in-snapshot")
        ] == [
            (f"the document `a` does not hold the quote “{'x' * 80}…”", "golden.jsonl:2"),
            (
                f"`A`, the document of the quote “{'y' * 80}”, is not in the snapshot; did you mean `a`?",
                "golden.jsonl:3",
            ),
            ("`nope`, the document of the quote “z”, is not in the snapshot", "golden.jsonl:4"),
        ]

    @pytest.mark.parametrize(
        ("count", "listed", "more"), [(20, 20, None), (21, 21, "1 more"), (99, 21, "79 more")]
    )
    def test_twenty_are_listed_and_the_rest_counted(self, count: int, listed: int, more: str | None) -> None:
        ids = _link(_ids("q", "a", *(f"x{i}" for i in range(count)), line=1))
        evidence = tuple(Evidence(doc="b", quote=f"x{i}") for i in range(count))
        quotes = _link(Query(id="q", text="?", evidence=(*evidence, Evidence(doc="b", quote="beta")), line=1))
        for linked, code in ((ids, "golden.id-not-in-snapshot"), (quotes, "golden.quote-not-in-snapshot")):
            notices = _notices(linked, code)
            assert len(notices) == listed
            assert notices[19].text.count("x19") == 1
            if more:
                assert notices[-1].text.startswith(more)
                assert notices[-1].where == "golden.jsonl"
            assert len(linked.missing["q"]) == count


class TestRefusals:
    def test_an_empty_set(self) -> None:
        error = _refusal()
        assert (error.code, error.where) == ("golden.empty", "golden.jsonl")

    def test_a_query_without_judgment(self) -> None:
        error = _refusal(_ids("q1", "a"), Query(id="q2", text="?", line=2))
        assert (error.code, error.where) == ("golden.no-judgment", "golden.jsonl:2")
        assert error.message == "nothing says what should be found for the query `q2`."
        error = _refusal(*(Query(id=name, text="?") for name in "abc"))
        assert error.where == "golden.jsonl"
        assert error.message.endswith("`a`. 2 more queries have none either.")

    def test_documents_and_chunks_in_one_set(self) -> None:
        error = _refusal(
            _ids("q1", "a", line=1), _ids("q2", "a#0", "b", line=2), _ids("q3", "a#0", "a", line=3)
        )
        assert (error.code, error.where) == ("golden.mixed-units", "golden.jsonl")
        assert error.message == (
            "2 judged ids are only document ids (`a` at golden.jsonl:1, `b` at golden.jsonl:2) and "
            "1 are only chunk ids (`a#0` at golden.jsonl:2)."
        )
        assert "unit: document" in error.hint

    def test_examples_of_mixed_ids_are_few(self) -> None:
        chunks = [Chunk(id=f"{name}#", doc=name, text="") for name in "abcde"]
        error = _refusal(_ids("q1", *"abcd", line=1), _ids("q2", "e#", line=2), chunks=chunks)
        assert "4 judged ids are only document ids (`a` at golden.jsonl:1, " in error.message
        assert "`c` at golden.jsonl:1, …)" in error.message
        assert "`d`" not in error.message

    def test_mixed_ids_are_refused_beside_evidence_too(self) -> None:
        error = _refusal(_ids("q1", "a"), _ids("q2", "a#0"), _quote("q3", "b", "beta"), unit="evidence")
        assert error.code == "golden.mixed-units"

    def test_ids_of_another_corpus(self) -> None:
        error = _refusal(_ids("q1", "x", line=3), _ids("q2", "A", "x", line=4))
        assert (error.code, error.where) == ("golden.no-id-matches", "golden.jsonl")
        assert error.message == (
            "none of the 3 judged ids or quotes is in the snapshot, whose first chunk is `a#0` of the document `a`; "
            "for example `x` is not in the snapshot."
        )
        assert "chunked again" in error.hint
        assert "evidence" in error.hint

    def test_the_near_miss_of_the_first_id_is_named(self) -> None:
        message = _refusal(_ids("q", "A", line=1)).message
        assert message.endswith("for example `A` is not in the snapshot; did you mean `a`?")

    def test_ids_of_the_other_kind_are_named_as_such(self) -> None:
        assert (
            "`a` is a document of the snapshot, not a chunk" in _refusal(_ids("q", "a"), unit="chunk").message
        )

    def test_quotes_of_another_corpus(self) -> None:
        error = _refusal(_quote("q", "a", "nope"))
        assert error.code == "golden.no-id-matches"
        assert "the document `a` does not hold the quote “nope”" in error.message

    def test_an_empty_snapshot(self) -> None:
        assert (
            "is in the snapshot, which is empty; for example" in _refusal(_ids("q", "a"), chunks=[]).message
        )

    def test_one_find_is_enough(self) -> None:
        assert _link(_ids("q1", "x"), _quote("q2", "b", "beta")).missing == {"q1": ("x",)}
        assert _link(_ids("q1", "a"), _quote("q2", "b", "nope")).missing == {"q2": ("nope",)}
        assert _link(_ids("q1", "x", "a")).missing == {"q1": ("x",)}

    def test_only_irrelevant_ids_ask_for_nothing(self) -> None:
        linked = _link(Query(id="q", text="?", relevant={"x": 0}))
        assert linked.judgments == {"q": Grades({"x": 0})}
        assert linked.missing == {}


@given(st.permutations(CHUNKS))
def test_storage_order_of_documents_does_not_matter(chunks: list[Chunk]) -> None:
    queries = (_ids("q1", "a", "x"), _quote("q2", "b", "beta"), _quote("q3", "a", "goes on"))
    assert _link(*queries, chunks=chunks) == _link(*queries)


@pytest.mark.slow
def test_a_hundred_thousand_rows_meet_a_million_chunks() -> None:
    chunks = [Chunk(id=f"d{i // 5}#{i % 5}", doc=f"d{i // 5}", text="t") for i in range(1_000_000)]
    queries = [_ids(f"q{i}", f"d{i}", f"D{i + 1}", line=i + 1) for i in range(100_000)]
    linked = link(_golden(*queries), chunks, "auto")
    assert len(linked.missing) == 100_000
    assert _notices(linked, "labels.damaged")[0].text.startswith("100,000 of 100,000 missing labels")
    assert _notices(linked, "golden.id-not-in-snapshot")[0].text.endswith("did you mean `d1`?")


DAMAGES = {
    "a `.0` behind the number": ("{}.0", "{}"),
    "invisible characters": ("{}\u200b", "{}"),
    "blanks or Unicode form": ("{} ", "{}"),
    "upper and lower case": ("DOC{}", "doc{}"),
    "leading zeros": ("d-{}", "d-00{}"),
    "the folders in front": ("docs/{}.md", "src/kb/{}.md"),
    "the part behind `#`": ("https://x.org/{}#top", "https://x.org/{}"),
}


class TestDanglingLabels:
    @pytest.mark.parametrize("difference", DAMAGES)
    @pytest.mark.parametrize("turned", [False, True])
    def test_damage_is_recognised_and_counted(self, difference: str, *, turned: bool) -> None:
        forms = DAMAGES[difference][:: -1 if turned else 1]
        wanted, held = ([form.format(number) for number in range(101, 108)] for form in forms)
        chunks = [Chunk(id=f"c{at}", doc=name, text="t") for at, name in enumerate([*held, "sound"])]
        queries = [_ids(f"q{at}", name) for at, name in enumerate([*wanted, "sound", "nowhere"])]
        (notice,) = _notices(_link(*queries, chunks=chunks), "labels.damaged")
        assert notice.text.startswith(
            f"7 of 8 missing labels differ from an id of the index only in {difference} ("
        )
        assert notice.text.endswith("7 are found when written as there")
        hint = _refusal(*queries[:7], chunks=chunks).hint
        assert hint.startswith(f"7 of 7 missing labels differ from an id of the index only in {difference}")

    def test_one_slip_is_no_damage_and_two_meanings_are_none(self) -> None:
        chunks = [
            Chunk(id=f"c{at}", doc=name, text="t")
            for at, name in enumerate(["x", "a/k", "b/k", "a/l", "b/l"])
        ]
        assert _notices(_link(_ids("q", "x", "X"), chunks=chunks), "labels.damaged") == []
        assert _notices(_link(_ids("q", "x", "k", "l"), chunks=chunks), "labels.damaged") == []

    def test_documents_of_quotes_are_damaged_too(self) -> None:
        quotes = (_quote("q1", "A", "alpha"), _quote("q2", "B", "beta"), _quote("q3", "c", "gamma"))
        (notice,) = _notices(_link(*quotes), "labels.damaged")
        assert notice.text.startswith("2 of 2 missing labels")

    def test_what_cannot_be_seen_is_spelt_out(self) -> None:
        queries = (_ids("q1", "a\u200b", "b\u200b", "c"),)
        assert "(`a\\u200b`, in the index `a`)" in _notices(_link(*queries), "labels.damaged")[0].text

    @pytest.mark.parametrize(
        ("gone", "told"), [(1, []), (2, ["18 % of the labels (2 of 11) are not in the index"])]
    )
    def test_more_than_a_tenth_is_told_with_its_share(self, gone: int, told: list[str]) -> None:
        chunks = [Chunk(id=f"d{at}", doc=f"d{at}", text="t") for at in range(9)]
        rows = [_ids(f"q{at}", f"d{at}") for at in range(9)] + [
            _ids(f"g{at}", f"gone{at}") for at in range(gone)
        ]
        found = _notices(_link(*rows, chunks=chunks), "labels.dangling")
        assert [notice.text.partition(";")[0] for notice in found] == told

    def test_an_id_of_a_chunk_and_of_another_document_is_told(self) -> None:
        chunks = [
            Chunk(id="x", doc="y", text="t"),
            Chunk(id="x1", doc="x", text="t"),
            Chunk(id="y", doc="y", text="t"),
        ]
        (notice,) = _notices(_link(_ids("q", "x", "y"), chunks=chunks), "golden.ambiguous-id")
        assert notice.text.startswith("1 judged id could be a document or a chunk of another document: `x`")
        assert "read as document ids" in notice.text
        assert _notices(_link(_ids("q", "x"), chunks=chunks, unit="document"), "golden.ambiguous-id") == []
