"""Folding is NFKC with white space reduced, and every position leads back to the text."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_action.core.labels.text_folding import fold, joins_previous

TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from("ab \n\u3000\u0301\u0323é\u1112\u1161\u11ab한ﬁ½\u00b4\ufdfaＡ中\u09c7\u09beｶ\uff9e²"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=30,
)


@given(TEXTS)
def test_a_folded_text_is_nfkc_without_white_space(text: str) -> None:
    words = unicodedata.normalize("NFKC", text).split()
    folded = fold(text)
    assert folded.text == "".join(words)
    ends = [sum(map(len, words[:count])) for count in range(1, len(words))]
    assert list(folded.gaps) == ends


@given(TEXTS, st.data())
def test_the_origin_of_a_part_folds_to_a_text_that_holds_the_part(text: str, data: st.DataObject) -> None:
    folded = fold(text)
    if not folded.text:
        return
    start = data.draw(st.integers(0, len(folded.text) - 1))
    end = data.draw(st.integers(start + 1, len(folded.text)))
    first, last = folded.origin(start, end)
    assert 0 <= first < last <= len(text)
    assert folded.text[start:end] in fold(text[first:last]).text
    assert not text[first].isspace()
    assert not text[last - 1].isspace()


def test_plain_words_keep_their_places() -> None:
    folded = fold("  Hello,\n\tbig  world ")
    assert (folded.text, folded.gaps) == ("Hello,bigworld", (6, 9))
    assert folded.origin(0, 6) == (2, 8)
    assert folded.origin(5, 7) == (7, 11)
    assert folded.origin(9, 14) == (15, 20)


@pytest.mark.parametrize(
    ("text", "part", "origin"),
    [
        ("ﬁle ﬁve", "fi", [(0, 1), (4, 5)]),
        ("x½y", "1⁄2", [(1, 2)]),
        ("cafe\u0301 bar", "é", [(3, 5)]),
        ("\u1112\u1161\u11ab국", "한", [(0, 3)]),
        ("ｶ\uff9eス", "ガ", [(0, 2)]),
    ],
)
def test_characters_that_change_length_are_found_whole(
    text: str, part: str, origin: list[tuple[int, int]]
) -> None:
    folded = fold(text)
    assert [folded.origin(at, at + len(part)) for at in folded.occurrences(fold(part))] == origin


def test_gaps_inside_a_part_exclude_its_edges() -> None:
    folded = fold("a b c d")
    assert folded.gaps_within(1, 3) == (1,)
    assert folded.gaps_within(0, 4) == (1, 2, 3)
    assert folded.gaps_within(2, 3) == ()


def test_overlapping_occurrences_count_and_nothing_occurs_nowhere() -> None:
    assert list(fold("ababa").occurrences(fold("aba"))) == [0, 2]
    assert list(fold("aba").occurrences(fold(" \n"))) == []


def test_no_character_composes_with_one_that_is_not_said_to_join() -> None:
    seconds = set()
    for code in range(sys.maxunicode + 1):
        decomposed = unicodedata.decomposition(chr(code))
        if decomposed and not decomposed.startswith("<") and " " in decomposed:
            seconds.add(chr(int(decomposed.split()[1], 16)))
        if unicodedata.combining(chr(code)):
            seconds.add(chr(code))
    assert len(seconds) > 900
    assert [hex(ord(second)) for second in seconds if not joins_previous(second)] == []


def test_no_visible_character_folds_to_nothing_or_ends_in_a_blank() -> None:
    for code in range(sys.maxunicode + 1):
        if not chr(code).isspace():
            folded = unicodedata.normalize("NFKC", chr(code))
            assert folded.strip()
            assert not folded[-1].isspace()
