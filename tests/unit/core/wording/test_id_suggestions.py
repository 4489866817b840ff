"""A slip of the pen is named, with the closest id first; ids are never taken for one another."""

from __future__ import annotations

import unicodedata

import pytest

from rageval_action.core.wording.id_suggestions import Near, Slip, near_misses


@pytest.mark.parametrize(
    ("wanted", "known", "slip"),
    [
        ("doc-1 ", "doc-1", "blanks"),
        ("\u00a0doc  1", "doc 1", "blanks"),
        (unicodedata.normalize("NFD", "café"), "café", "blanks"),
        ("doc\u200b-1", "doc-1", "invisible"),
        ("doc-1", "\ufeffdoc-1", "invisible"),
        ("101.0", "101", "decimal"),
        ("101", "101.00", "decimal"),
        ("ＤＯＣ-1", "doc-1", "case"),
        ("Doc-A", "doc-a", "case"),
        ("STRASSE", "straße", "case"),
        ("q-7", "q-007", "zeros"),
        ("2024-010", "2024-10", "zeros"),
        ("docs/guide/VPN.md", "vpn.md", "folders"),
        ("vpn.md", "kb/vpn.md", "folders"),
        ("kb\\vpn.md", "vpn.md", "folders"),
        ("kb/", "KB", "folders"),
        ("https://x.org/a#install", "https://x.org/a", "fragment"),
        ("https://x.org/a", "https://x.org/a#top", "fragment"),
    ],
)
def test_slips_are_recognised(wanted: str, known: str, slip: Slip) -> None:
    assert near_misses([wanted], ["else", known, "other"]) == {wanted: Near(known, slip)}


@pytest.mark.parametrize(
    ("wanted", "known"),
    [
        ("doc-1", "doc-2"),
        ("a0", "a"),
        ("10", "1"),
        ("1.5", "1"),
        ("v1.0", "v1"),
        ("vpn", "vpn.md"),
        ("/", ""),
        ("a#1", "a"),
        ("https://x.org/a#1", "https://x.org/a#2"),
    ],
)
def test_other_ids_are_not(wanted: str, known: str) -> None:
    assert near_misses([wanted], [known]) == {}


def _closest(wanted: str, known: list[str]) -> tuple[str, bool]:
    near = near_misses([wanted], known)[wanted]
    return near.id, near.alone


def test_the_fewest_differences_win_then_the_smallest_id() -> None:
    known = ["x/doc-1", "DOC-01", "DOC-1", "doc-1\t", "Doc-1"]
    assert _closest("doc-1", known) == ("doc-1\t", True)
    assert _closest("doc-1", ["Doc-1", *known[:3]]) == ("DOC-1", False)
    assert _closest("doc-1", ["b/doc-1", "a/doc-1"]) == ("a/doc-1", False)
    assert _closest("doc-1", ["a/doc-1", "DOC-01"]) == ("DOC-01", True)


def test_the_most_folders_in_common_win() -> None:
    known = ["new/a/index.md", "new/b/index.md", "index.md"]
    assert _closest("old/b/index.md", known) == ("new/b/index.md", True)
    assert _closest("old/c/index.md", known) == ("index.md", False)


def test_several_ids_may_share_one_neighbour() -> None:
    near = near_misses(["A", "a ", "b"], iter(["a"]))
    assert {name: one.id for name, one in near.items()} == {"A": "a", "a ": "a"}
