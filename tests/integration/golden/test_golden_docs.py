"""What docs/golden-sets.md says of published sets is what `golden check` finds in them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from rageval_action.golden.audit import labels, texts
from rageval_action.golden.audit.findings import Finding, Subject
from rageval_action.golden.formats import read_golden
from rageval_action.golden.question_wording import pointer
from tests.real_corpora import shared
from tests.small_project import ROOT
from tests.unit.retrievers.text_corpora import corpus

PAGE = (ROOT / "docs" / "golden-sets.md").read_text(encoding="utf-8")

TITLES = {
    "anthropic_docs": "Anthropic documentation questions",
    "anthropic_codebases": "Anthropic code questions",
    "cranfield": "Cranfield",
    "drcd_zh_tw": "DRCD, Traditional Chinese",
}


def checked(name: str) -> tuple[Subject, dict[str, Finding]]:
    """The set read as its owners publish it, and the findings that the page tells of, by code."""
    folder = shared(name)
    golden = read_golden(f"queries={folder}/queries.jsonl,qrels={folder}/qrels.tsv")
    subject = Subject(golden, corpus(name)[0].chunks)
    checks = (texts.parroting, texts.wording, labels.duplicates)
    return subject, {found.code: found for check in checks for found in check(subject)}


def count(findings: dict[str, Finding], code: str) -> int:
    return len(findings[code].rows) if code in findings else 0


@pytest.mark.parametrize("name", list(TITLES))
def test_the_table_of_published_sets_is_what_the_check_finds(name: str) -> None:
    subject, findings = checked(name)
    total = len(subject.queries)
    figures = re.findall(r"\d+", findings["check.parroting-score"].text)
    overlap, runs = ", ".join(f"{figure} %" for figure in figures[:3]), ", ".join(figures[3:])
    copied = count(findings, "check.parroting")
    share = f" ({copied / total:.1%})".replace("%", " %") if copied else ""
    near = count(findings, "check.near-duplicates")
    assert f"| {TITLES[name]} | {total:,} | {overlap} | {runs} | {copied}{share} | {near} |" in PAGE


def test_what_else_is_found_in_the_chinese_set() -> None:
    subject, findings = checked("drcd_zh_tw")
    words = " ".join(PAGE.split())
    assert count(findings, "check.conflicts") == 1
    assert "one question that is in the set twice with different paragraphs" in words
    assert f"and {count(findings, 'check.not-self-contained')} that point at a text" in words
    pointed = Counter(found for query in subject.queries if (found := pointer(query.text)))
    assert pointed["文中"] > sum(pointed.values()) / 2
