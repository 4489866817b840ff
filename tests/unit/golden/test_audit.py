from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_action.core.labels.tokens import tokens
from rageval_action.core.model.types import Chunk
from rageval_action.golden.audit.report import Audit, audit
from rageval_action.golden.audit.variants import Variants
from rageval_action.golden.formats import read_golden
from rageval_action.golden.near_duplicates import near_pairs
from rageval_action.golden.parroting import Limits, Parroting, score
from rageval_action.golden.privacy import Detector
from rageval_action.golden.question_wording import is_joined, pointer, preamble
from tests.fakes.question_corpus import FACTS, chunks


@pytest.fixture
def check(tmp_path: Path):
    def call(*rows: dict, corpus: list[Chunk] | None = None, **more: object) -> Audit:
        file = tmp_path / "golden.jsonl"
        file.write_text("\n".join(json.dumps(row) for row in rows))
        return audit(read_golden(file), chunks() if corpus is None else corpus, **more)

    return call


def finding(result: Audit, code: str):
    return next((one for one in result.findings if one.code == f"check.{code}"), None)


def row(id_: str, query: str, doc: str = "tide.md", **more: object) -> dict:
    return {"id": id_, "query": query, "relevant": [doc]} | more


def test_ids_that_match_nothing_are_an_error(check) -> None:
    result = check(row("a", "When does the gate open?"), row("b", "Where is fuel?", "fuel-old.md"))
    found = finding(result, "unmatched")
    assert (found.severity, [one.id for one in found.rows]) == ("error", ["b"])
    assert "fuel-old.md" in found.rows[0].detail
    assert result.errors == 1


def test_a_set_that_matches_nothing_at_all_is_one_error(check) -> None:
    result = check(row("a", "x", "nowhere"), row("b", "y", "nowhere-else"))
    assert result.errors == 1
    assert result.findings[0].code == "golden.no-id-matches"


def test_near_duplicates_and_conflicts(check) -> None:
    result = check(
        row("a", "How much does a berth cost in summer?", "fees.md"),
        row("b", "How much does a berth cost in summer??", "tide.md"),
        row("c", "how much does  a berth cost in summer", "fees.md"),
        row("d", "How much does a berth cost in summer?", "fees.md", acl={"tenant": "x"}),
        row("e", "Which radio channel is watched?", "safety.md", group="radio"),
        row("f", "Which radio channel is watched??", "safety.md", group="radio"),
    )
    assert [one.id for one in finding(result, "near-duplicates").rows] == ["b", "c"]
    assert [one.id for one in finding(result, "conflicts").rows] == ["b", "c"]


def test_coarse_labels(check) -> None:
    site = [
        Chunk(id=f"site/{doc}#{n}", doc=f"site/{doc}", text=f"{doc} {n}")
        for doc in range(4)
        for n in range(2)
    ]
    book = [Chunk(id=f"book#{n}", doc="book", text=f"page {n}") for n in range(60)]
    result = check(
        row("a", "folder?", "site"),
        row("b", "whole book?", "book"),
        {"id": "c", "query": "all?", "relevant": [f"site/{doc}" for doc in range(4)]},
        row("d", "fine?", "site/1"),
        corpus=[*site, *book],
    )
    found = {one.id: one.detail for one in finding(result, "coarse-labels").rows}
    assert set(found) == {"a", "b", "c"}
    assert "folder of 4 documents" in found["a"]
    assert "60 chunks" in found["b"]


def test_small_slices_cover_power_and_state(check) -> None:
    rows = [
        row(f"q{n}", f"question number {n} about berth {n * 7}?", "fees.md", tags=["berth"])
        for n in range(12)
    ]
    result = check(*rows, row("x", "gate times?", source="synthetic", review="pending"))
    assert "tag:berth (12)" in finding(result, "small-slices").text
    assert finding(result, "cover").severity == "warning"
    assert '"fees.md" by 12 of 13' in finding(result, "cover").text
    assert "4 of 6 documents (67%) are never asked about" in finding(result, "cover").text
    assert (
        "13 queries detect (80 % power) a drop in mean recall of about 0.174" in finding(result, "power").text
    )
    assert [one.id for one in finding(result, "pending").rows] == ["x"]
    assert finding(result, "no-unanswerable")
    assert not finding(result, "synthetic")


def test_parroting_is_scored_against_the_passage(check) -> None:
    sentence = FACTS["tide.md"][0][0]
    result = check(
        {"id": "a", "query": sentence.rstrip(".") + "?", "evidence": [{"doc": "tide.md", "quote": sentence}]},
        {"id": "b", "query": FACTS["tide.md"][0][1], "evidence": [{"doc": "tide.md", "quote": sentence}]},
    )
    assert [one.id for one in finding(result, "parroting").rows] == ["a"]
    told = finding(result, "parroting-score").text
    assert told.endswith("copied runs: median 8 tokens, nine in ten at most 15, longest 15.")


def test_wording_and_personal_data(check) -> None:
    result = check(
        row("a", "What does this document say about mooring?"),
        row("b", "Question: when does it open?"),
        row("c", "When does it open? And who opens it?"),
        row("d", "Why did ana.berg@harbour-office.org complain?"),
        row("e", "Is 212-555-0123 the harbour's (212) 555-0199 line?"),
    )
    assert finding(result, "not-self-contained").rows[0].id == "a"
    assert [one.id for one in finding(result, "preamble").rows] == ["b"]
    assert [one.id for one in finding(result, "joined").rows] == ["c"]
    private = {one.id: one.detail for one in finding(result, "personal-data").rows}
    assert private["d"] == "email"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("mail ana@office.org or +886 2 2720 8889", ["email", "phone"]),
        ("is user@example.com a placeholder", []),
        ("what is AKIAIOSFODNN7EXAMPLE for", ["key"]),
        ("why is sk-ant-api03-abcdefghijklmnop1234 refused", ["key"]),
        ("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 fails", ["key"]),
        ("STG-8815 on Android 15 at 10.0.0.1 since 2026-11-29 12:30", []),
        ("uuid 164a54d5-3acc-57e7-9008-cbbb15d1badd", []),
    ],
)
def test_personal_data_is_replaced_by_its_kind(text: str, kinds: list[str]) -> None:
    detector = Detector()
    if detector.missing:
        pytest.skip("the extra [check] is not installed")
    clean, found = detector.redact(text)
    assert found == kinds
    assert all(f"[{kind}]" in clean for kind in kinds)
    assert not any(secret in clean for secret in ("office.org", "2720", "AKIA", "api03", "a1B2"))


@pytest.mark.parametrize(
    ("query", "passage", "tag"),
    [
        ("ＶＰＮ setup", "The VPN is set up by the office.", "variant:width"),
        ("vpn setup", "The VPN is set up by the office.", "variant:case"),
        ("my e-mail is gone", "Every email is kept for a year.", "variant:hyphen"),
        ("single-sign-on fails at login", "Use sign-on tokens; check in twice.", ""),
        ("check-in desk", "The check in closes at nine.", "variant:hyphen"),
        (
            "SSO for guests",
            "Guests use single sign on with a card; session storage outlives.",
            "variant:abbreviation",
        ),
        ("SLA for outages", "The service level agreement names four hours.", "variant:abbreviation"),
        ("how does service level agreement work", "The SLA names four hours.", "variant:abbreviation"),
        ("k8s upgrade", "Upgrading kubernetes takes an hour.", "variant:abbreviation"),
        ("cafe\u0301 hours", "The cafe opens at nine.", "form:nfd"),
        ("boat price", "A vessel costs money.", "variant:synonym"),
        ("Boats wait", "The boats wait here.", ""),
    ],
)
def test_variants_become_tags(query: str, passage: str, tag: str) -> None:
    tags = Variants([["boat", "vessel"]]).tags(query, [passage])
    assert tag in tags if tag else not [one for one in tags if one != "variant:hyphen"]


def test_chinese_scripts_are_told_apart() -> None:
    finder = Variants()
    if finder.missing:
        pytest.skip("the extra [han] is not installed")
    assert finder.tags("船隻何時進港？", ["船只可以进港。"]) == ["script:traditional", "variant:script"]
    assert finder.tags("船只何时进港？", ["船隻可以進港。"]) == ["script:simplified", "variant:script"]
    assert finder.tags("水在哪里", ["山"]) == ["script:simplified"]


def test_tags_reach_the_result_by_query(check) -> None:
    assert check(row("a", "ＶＰＮ gate?")).tags["a"][0] == "form:full-width"


@pytest.mark.parametrize(
    "text",
    [
        "Sure! When?",
        "Here are three questions: When?",
        "Question: When?",
        "1. When?",
        "根據上述內容，何時？",
        "問題：何時？",
    ],
)
def test_preambles(text: str) -> None:
    assert preamble(text)


@pytest.mark.parametrize(
    "text",
    [
        "Sure-fire ways to moor?", "What question types are there?", "here to stay?", "1.5 metres of draught enough?",
        "Is the question mark allowed?", "問題回報要寄到哪裡？",
    ],
)  # fmt: skip
def test_no_preambles(text: str) -> None:
    assert not preamble(text)


def test_pointers_and_joined_questions() -> None:
    assert pointer("According to the text, why?") == "according to the text"
    assert pointer("How does it work?")
    assert pointer("本文提到的作者是誰？") == "本文"
    assert not pointer("How does the travelling crane work when it rains on the pier at night?")
    assert not pointer("哪一本著作的作者認為如此？")
    assert is_joined("When? And why?")
    assert is_joined("何時？為何？")
    assert not is_joined("What does `a?b` mean?")


def test_near_pairs_are_exact() -> None:
    texts = [
        "alpha beta gamma delta",
        "alpha beta gamma delta!",
        "something else entirely",
        "ALPHA  beta gamma delta",
    ]
    assert [(pair.first, pair.second) for pair in near_pairs(texts)] == [(0, 1), (0, 3), (1, 3)]
    import itertools
    import random

    from rageval_action.golden.near_duplicates import query_shingles
    from rageval_action.golden.shared_words import jaccard

    dice = random.Random(3)
    words = ["gate", "berth", "fuel", "crane", "pilot", "tide", "rope"]
    many = [" ".join(dice.choices(words, k=5)) for _ in range(120)]
    slow = [
        (a, b)
        for a, b in itertools.combinations(range(len(many)), 2)
        if jaccard(query_shingles(many[a]), query_shingles(many[b])) >= 0.8
    ]
    assert [(pair.first, pair.second) for pair in near_pairs(many, most=999)] == slow
    same = [f"How do I rotate the certificate number {n} of the gateway?" for n in range(400)]
    bounded = near_pairs(same)
    assert {pair.second for pair in bounded} == set(range(1, 400))
    assert len(bounded) <= 5 * 400


def test_words_and_pairs_of_characters() -> None:
    assert tokens("STG-8815 and os.path，船隻進港 Ａ") == [
        "stg-8815",
        "and",
        "os.path",
        "船隻",
        "隻進",
        "進港",
        "a",
    ]
    found = score("The gate opens at high tide?", "Nobody said that the gate opens at high tide here.")
    assert (found.copied, found.overlap) == (6, 1.0)


@pytest.mark.parametrize(
    ("words", "pairs", "copied"),
    [(8, 0, True), (7, 0, False), (0, 13, True), (0, 12, False), (4, 7, True), (4, 6, False)],
)
def test_a_copied_run_of_words_and_pairs_counts_both_by_their_limits(
    words: int, pairs: int, copied: bool
) -> None:
    run = (*(f"word{at}" for at in range(words)), *(["樣本"] * pairs))
    found = Parroting(overlap=0.5, content=20, copied=len(run), run=run)
    assert bool(Limits().complaint(found)) is copied
