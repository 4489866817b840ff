"""A slip of the pen is named, with the closest id first; ids are never taken for one another."""

from __future__ import annotations

import unicodedata

import pytest

from rageval_action.core.wording.id_suggestions import near_misses


@pytest.mark.parametrize(
    ("wanted", "known"),
    [
        ("doc-1 ", "doc-1"),
        ("\u00a0doc  1", "doc 1"),
        (unicodedata.normalize("NFD", "café"), "café"),
        ("ＤＯＣ-1", "doc-1"),
        ("Doc-A", "doc-a"),
        ("STRASSE", "straße"),
        ("q-7", "q-007"),
        ("2024-010", "2024-10"),
        ("docs/guide/VPN.md", "vpn.md"),
        ("vpn.md", "kb/vpn.md"),
        ("kb\\vpn.md", "vpn.md"),
        ("kb/", "KB"),
    ],
)
def test_slips_are_recognised(wanted: str, known: str) -> None:
    assert near_misses([wanted], ["else", known, "other"]) == {wanted: known}


@pytest.mark.parametrize(
    ("wanted", "known"), [("doc-1", "doc-2"), ("a0", "a"), ("10", "1"), ("vpn", "vpn.md"), ("/", "")]
)
def test_other_ids_are_not(wanted: str, known: str) -> None:
    assert near_misses([wanted], [known]) == {}


def test_the_fewest_differences_win_then_the_smallest_id() -> None:
    known = ["x/doc-1", "DOC-01", "DOC-1", "doc-1\t", "Doc-1"]
    assert near_misses(["doc-1"], known) == {"doc-1": "doc-1\t"}
    assert near_misses(["doc-1"], known[:3]) == {"doc-1": "DOC-1"}
    assert near_misses(["doc-1"], ["b/doc-1", "a/doc-1"]) == {"doc-1": "a/doc-1"}
    assert near_misses(["doc-1"], ["a/doc-1", "DOC-01"]) == {"doc-1": "DOC-01"}


def test_several_ids_may_share_one_neighbour() -> None:
    assert near_misses(["A", "a ", "b"], iter(["a"])) == {"A": "a", "a ": "a"}
