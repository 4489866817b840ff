"""Evidence is found by span or by text, across chunk borders, whatever the Unicode form and white space."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_action.core.labels.evidence import locate, resolve, unresolved
from rageval_action.core.model.types import Chunk, Evidence, EvidenceItem


def _chunks(*texts: str, doc: str = "d") -> list[Chunk]:
    return [Chunk(id=f"{doc}-{number}", doc=doc, text=text) for number, text in enumerate(texts)]


def _slices(text: str, *spans: tuple[int, int]) -> list[Chunk]:
    return [Chunk(id=f"d-{i}", doc="d", text=text[a:b], start=a, end=b) for i, (a, b) in enumerate(spans)]


def _found(chunks: list[Chunk], quote: str, start: int = -1) -> list[str]:
    (item,) = resolve([Evidence(doc="d", quote=quote, start=start)], {"d": chunks}).items
    return [name.removeprefix("d-") for name in item.chunks]


@pytest.mark.parametrize(
    ("quote", "text", "places"),
    [
        ("b c", "a b c b\n\t c", [(2, 5), (6, 11)]),
        ("  b c ", "a b c", [(2, 5)]),
        ("Run", "run Run", [(4, 7)]),
        ("bc", "b c", []),
        ("b c", "bc", []),
        ("ＶＰＮ", "the VPN", [(4, 7)]),
        ("VPN gate", "the ＶＰＮ\u3000gate", [(4, 12)]),
        ("e", "cafe\u0301", []),
        ("caf\u00e9", "cafe\u0301!", [(0, 5)]),
        ("aba", "ababa", [(0, 3), (2, 5)]),
        (" ", "a b", []),
        ("不見了", "什麼不見了？", [(2, 5)]),
    ],
)
def test_locate_folds_unicode_and_white_space_and_keeps_case(
    quote: str, text: str, places: list[tuple[int, int]]
) -> None:
    assert locate(quote, text) == places


def test_every_chunk_that_contains_the_quote_counts() -> None:
    assert _found(_chunks("the  new\nserial", "old", "a new serial too"), "new serial") == ["0", "2"]


def test_chunks_are_named_in_the_order_of_their_ids() -> None:
    chunks = [Chunk(id=name, doc="d", text="same") for name in ("z", "a", "m")]
    assert resolve([Evidence(doc="d", quote="same")], {"d": chunks}).items[0].chunks == ("a", "m", "z")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("first run the", "rotate command now"), ["0", "1"]),
        (("first run the ro", "tate command now"), ["0", "1"]),
        (("first run the \n", "\n rotate command now"), ["0", "1"]),
        (("first run the", "", "rotate command now"), ["0", "2"]),
        (("first run", " the ", "rotate command"), ["0", "1", "2"]),
        (("run", "the", "rotate", "command", "x"), ["0", "1", "2", "3"]),
        (("first run the rotate", "the rotate command now"), ["0", "1"]),
        (("run the rotate command", "rotate command now"), ["0", "1"]),
        (("first run the rotate", "rotate now", "command"), []),
        (("first run", "not here", "the rotate command"), []),
        (("first run therotate", "command"), []),
    ],
)
def test_a_quote_cut_by_a_border_is_found_in_every_chunk_that_holds_a_part(
    texts: tuple[str, ...], expected: list[str]
) -> None:
    assert _found(_chunks(*texts), "run the rotate command") == expected


def test_letters_shared_by_chance_do_not_hide_a_quote() -> None:
    assert _found(_chunks("of glass", "sand and salt"), "glass sand") == ["0", "1"]
    assert _found(_chunks("of glass", "sand and salt"), "glassand") == ["0", "1"]


def test_a_chunk_that_shares_only_white_space_with_the_quote_does_not_count() -> None:
    assert _found(_chunks("foo \n", " \n ", "\n bar"), "foo bar") == ["0", "2"]


def test_a_letter_and_its_accent_may_be_cut_apart() -> None:
    assert _found(_chunks("un cafe", "\u0301 noir"), "café noir") == ["0", "1"]


def test_quotes_of_other_documents_are_not_searched() -> None:
    chunks_of = {"d": _chunks("alpha"), "e": _chunks("beta", doc="e")}
    items = resolve(
        [
            Evidence(doc="d", quote="beta"),
            Evidence(doc="e", quote="beta"),
            Evidence(doc="gone", quote="beta"),
        ],
        chunks_of,
    )
    assert [item.chunks for item in items.items] == [(), ("e-0",), ()]
    assert [item.doc for item in unresolved(items)] == ["d", "gone"]


def test_items_keep_their_order_and_say_what_was_asked() -> None:
    evidence = [
        Evidence(doc="d", quote="two"),
        Evidence(doc="e", quote="x", start=3),
        Evidence(doc="d", quote="one"),
    ]
    items = resolve(evidence, {"d": _chunks("one", "two")}).items
    assert items == (
        EvidenceItem(doc="d", quote="two", chunks=("d-1",)),
        EvidenceItem(doc="e", quote="x", start=3),
        EvidenceItem(doc="d", quote="one", chunks=("d-0",)),
    )


def test_document_ids_are_compared_in_nfc() -> None:
    nfd = unicodedata.normalize("NFD", "café")
    (item,) = resolve([Evidence(doc=nfd, quote="x")], {"café": _chunks("x")}).items
    assert (item.doc, item.chunks) == ("café", ("d-0",))


TEXT = "0123456789 abc 0123456789"


@pytest.mark.parametrize(
    ("start", "expected"),
    [(0, ["0"]), (3, ["0", "1"]), (8, ["1"]), (15, ["2"]), (24, ["2"])],
)
def test_a_span_decides_where_chunks_have_spans(start: int, expected: list[str]) -> None:
    assert _found(_slices(TEXT, (0, 5), (5, 15), (15, 25)), "345", start) == expected


def test_a_span_touches_a_chunk_only_by_overlap() -> None:
    chunks = _slices(TEXT, (0, 5), (5, 15))
    assert _found(chunks, "56", 5) == ["1"]
    assert _found(chunks, "34", 3) == ["0"]
    assert _found(chunks, "45", 4) == ["0", "1"]


def test_text_is_searched_when_the_span_meets_no_chunk_or_chunks_have_none() -> None:
    assert _found(_slices(TEXT, (0, 5), (5, 15)), "abc", 400) == ["1"]
    assert _found(_chunks("abc", "x"), "abc", 0) == ["0"]
    half = [*_slices(TEXT, (0, 5)), Chunk(id="d-1", doc="d", text="abc")]
    assert _found(half, "abc", 30) == ["1"]
    assert _found(half, "abc", 2) == ["0"]


def test_without_an_offset_spans_only_tell_how_chunks_adjoin() -> None:
    # Row order is not document order; the overlap "xx" repeats, which text alone would misread.
    text = "see xxxxxx end"
    chunks = _slices(text, (6, 14), (0, 8))
    assert _found(chunks, "see xxxxxx end") == ["0", "1"]
    assert _found(chunks, "see xxxx end") == []


def test_spans_that_the_texts_contradict_do_not_join() -> None:
    chunks = [
        Chunk(id="d-0", doc="d", text="abcdef", start=0, end=6),
        Chunk(id="d-1", doc="d", text="XYghij", start=4, end=10),
    ]
    assert _found(chunks, "efXY") == ["0", "1"]
    assert _found(chunks, "ghij") == ["1"]


def test_a_chunk_inside_its_neighbour_is_found_by_its_own_text() -> None:
    chunks = _slices("alpha beta gamma", (0, 16), (6, 10), (6, 16))
    assert _found(chunks, "beta") == ["0", "1", "2"]
    assert _found(chunks, "alpha beta") == ["0"]


def test_trimmed_chunks_with_spans_join_by_text() -> None:
    text = "one two \n\n three four"
    chunks = [
        Chunk(id="d-0", doc="d", text="one two", start=0, end=10),
        Chunk(id="d-1", doc="d", text="three four", start=8, end=21),
    ]
    assert text[8:21].strip() == "three four"
    assert _found(chunks, "two three") == ["0", "1"]


def _windows(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    return [(at, min(at + size, length)) for at in range(0, length, max(size - overlap, 1))]


def _touched(text: str, spans: list[tuple[int, int]], start: int, end: int) -> set[str]:
    return {str(i) for i, (a, b) in enumerate(spans) if text[max(a, start) : min(b, end)].strip()}


@given(st.text(alphabet="ab \n中é", min_size=1, max_size=40), st.integers(1, 9), st.integers(0, 4), st.data())
def test_any_quote_is_found_where_a_chunker_cut_it(
    text: str, size: int, overlap: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    spans = _windows(len(text), size, overlap)
    if text[start:end].strip():
        found = set(_found(_slices(text, *spans), text[start:end]))
        assert _touched(text, spans, start, end) <= found


@given(
    st.lists(
        st.sampled_from([chr(code) for code in range(0x4E00, 0x4E50)]), unique=True, min_size=1, max_size=40
    ),
    st.integers(1, 9),
    st.integers(0, 4),
    st.data(),
)
def test_texts_alone_tell_overlaps_when_nothing_repeats(
    signs: list[str], size: int, overlap: int, data: st.DataObject
) -> None:
    text = "".join(signs)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    spans = _windows(len(text), size, overlap)
    bare = _chunks(*(text[a:b] for a, b in spans))
    assert set(_found(bare, text[start:end])) == _touched(text, spans, start, end)
