"""How many planted faults the deterministic filters catch, and how many good questions they cost.

Good questions are the hand-made ones of `examples/` with their evidence. Bad ones are made from them and from the
chunks: copied wording, leaked identifiers, near-duplicates, quotes that are not in the passage, preambles. The figures
are those of docs/golden-sets.md.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from rageval_action.core.labels.evidence import locate
from rageval_action.core.model.types import Chunk
from rageval_action.golden.formats import read_golden
from rageval_action.golden.generate.candidates import Candidate, Slot
from rageval_action.golden.generate.filters import Duplicates, Filters

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs" / "golden-sets.md").read_text(encoding="utf-8")

PREAMBLES = (
    "Sure! {}", "Certainly, here is one: {}", "Here is a question about this topic: {}", "Here's the question: {}",
    "Question: {}", "Q: {}", "Q1. {}", "1. {}", "2) {}", "- {}", "Based on the passage, {}",
    "According to the document, {}", "Given the context, {}", "The following is a suitable question: {}",
    "Okay. {}", "Of course! {}", "```\n{}\n```", "<question>{}</question>", "Search query: {}", "As an AI, I would ask: {}",
    "當然！{}", "以下是一個問題：{}", "問題：{}", "根據上述內容，{}", "好的，{}", "查詢：{}",
)  # fmt: skip

IDENTIFIERS = (
    "ERR-4417", "cfg_max_depth", "v10.4.2-rc1", "a91f3c07", "build/x86_64/slim", "KB-20931", "svc.index.refresh",
    "0x7f3a21", "PRJ-88", "node_17b", "TKT-5521", "job#4482", "sha-9e1b77", "zone-3.alpha", "MX_2209", "req_81f2",
)  # fmt: skip


class Planted(msgspec.Struct):
    """A question with the chunk it is about and the quote it comes with; `fault` is empty for a good one."""

    fault: str
    question: str
    chunk: Chunk
    quote: str


def good_questions() -> tuple[list[Planted], list[Chunk]]:
    lines = (EXAMPLES / "baseline" / "chunks.jsonl").read_bytes().splitlines()
    chunks = [msgspec.json.decode(line, type=Chunk) for line in lines]
    by_doc: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_doc.setdefault(chunk.doc, []).append(chunk)
    found: list[Planted] = []
    for query in read_golden(EXAMPLES / "golden.jsonl").queries:
        for item in query.evidence[:1]:
            holder = next((one for one in by_doc.get(item.doc, ()) if locate(item.quote, one.text)), None)
            if holder is not None:
                found.append(Planted("", query.text, holder, item.quote))
    return found, chunks


def sentences(text: str) -> list[str]:
    pieces = re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", text)
    return [
        piece.strip(" #*`")
        for piece in pieces
        if len(piece.split()) >= 10 or len(re.findall("[一-鿿]", piece)) >= 18
    ]


def copied(good: list[Planted], dice: random.Random) -> list[Planted]:
    """A sentence of the passage as a question: whole, or with its halves exchanged."""
    found: list[Planted] = []
    for one in good:
        long = sentences(one.chunk.text)
        if not long:
            continue
        sentence = dice.choice(long).rstrip(".。")
        words = sentence.split()
        if re.search("[一-鿿]{6}", sentence):
            question = f"{sentence}，對嗎？"
        elif dice.random() < 0.5:
            question = f"Is it right that {sentence[0].lower()}{sentence[1:]}?"
        else:
            half = len(words) // 2
            question = f"{' '.join(words[half:])} and {' '.join(words[:half])}?"
        found.append(Planted("copied wording", question, one.chunk, sentence))
    return found


def leaked(good: list[Planted], dice: random.Random) -> list[Planted]:
    """The passage gets an identifier that no other has, and the question gives it away."""
    found: list[Planted] = []
    for number, one in enumerate(good[:: max(1, len(good) // 60)]):
        name = IDENTIFIERS[number % len(IDENTIFIERS)] + (
            f"{number:02d}" if number >= len(IDENTIFIERS) else ""
        )
        text = f"{one.chunk.text}\nSee {name} for the history."
        chunk = msgspec.structs.replace(one.chunk, id=f"{one.chunk.id}!{number}", text=text)
        question = dice.choice(["{} ({})", "{} as in {}", "{}, {}"]).format(one.question.rstrip("?？"), name)
        found.append(Planted("leaked identifier", question, chunk, one.quote))
    return found


def repeated(good: list[Planted], dice: random.Random) -> list[Planted]:
    """A small change to a question that is there already."""
    changes = (
        lambda text: text.upper(),
        lambda text: text.rstrip("?？") + " please?",
        lambda text: text.replace(" ", "  ") + " ",
        lambda text: "".join(
            chr(ord(letter) + 0xFEE0) if "a" <= letter <= "z" else letter for letter in text
        ),
        lambda text: text[: len(text) // 2] + text[len(text) // 2 + 1 :],
        lambda text: text.rstrip("?？") + "??",
        lambda text: text.replace("the ", "", 1) if "the " in text else f"{text}!",
    )
    return [
        Planted("near-duplicate", dice.choice(changes)(one.question), one.chunk, one.quote)
        for one in good
        if len(one.question) > 24 or re.search("[一-鿿]{8}", one.question)
    ]


def misquoted(good: list[Planted], dice: random.Random) -> list[Planted]:
    """The quote is shortened with dots, changed in a word, invented, or from elsewhere."""
    found: list[Planted] = []
    for at, one in enumerate(good):
        words = one.quote.split()
        other = good[(at + 37) % len(good)]
        choices = [
            f"It is said that {one.quote} indeed",
            other.quote if other.chunk.doc != one.chunk.doc else "never said",
        ]
        if len(words) > 4:
            choices.append(" ".join([*words[:2], "…", *words[-2:]]))
            choices.append(" ".join([*words[:2], "surely", *words[3:]]))
        found.append(Planted("quote not in the passage", one.question, one.chunk, dice.choice(choices)))
    return found


def with_preamble(good: list[Planted], dice: random.Random) -> list[Planted]:
    return [
        Planted("preamble", PREAMBLES[at % len(PREAMBLES)].format(one.question), one.chunk, one.quote)
        for at, one in enumerate(dice.sample(good, min(len(good), 3 * len(PREAMBLES))))
    ]


def caught(filters: Filters, one: Planted) -> str:
    slot = Slot(kind="lookup", chunks=(one.chunk,), styles=("natural",))
    candidate = Candidate(
        slot=slot,
        question=one.question,
        quotes=(one.quote,),
        style="natural",
        lang="",
        model="",
        prompt_version="",
    )
    complaint = filters.complaint(candidate)
    return complaint.reason if complaint else ""


@pytest.fixture(scope="module")
def figures() -> tuple[dict[str, tuple[int, int]], Counter[str], int]:
    good, chunks = good_questions()
    dice = random.Random(7)
    bad = [*copied(good, dice), *leaked(good, dice), *misquoted(good, dice), *with_preamble(good, dice)]
    corpus = {chunk.id: chunk for chunk in [*chunks, *(one.chunk for one in bad)]}
    filters = Filters(list(corpus.values()))
    duplicates = Duplicates([])
    lost: Counter[str] = Counter()
    for one in good:
        reason = caught(filters, one) or ("near-duplicate" if duplicates.repeats(one.question) else "")
        lost[reason] += 1
    rates: dict[str, tuple[int, int]] = {}
    for one in [*bad, *repeated(good, dice)]:
        hit = bool(caught(filters, one)) or (
            one.fault == "near-duplicate" and duplicates.repeats(one.question)
        )
        before = rates.get(one.fault, (0, 0))
        rates[one.fault] = (before[0] + hit, before[1] + 1)
    kept = lost.pop("", 0)
    return rates, lost, kept


def test_nine_in_ten_planted_faults_are_caught(figures) -> None:
    rates, _, _ = figures
    assert set(rates) == {
        "copied wording",
        "leaked identifier",
        "near-duplicate",
        "quote not in the passage",
        "preamble",
    }
    for fault, (hits, total) in rates.items():
        assert f"| {fault} | {hits} of {total} |" in PAGE
        assert total >= 50, fault
        assert hits / total >= 0.9, fault


def test_at_most_one_good_question_in_twenty_is_lost(figures) -> None:
    _, lost, kept = figures
    dropped = sum(lost.values())
    total = dropped + kept
    share = f"{dropped / total:.1%}".replace("%", " %")
    assert f"| *good, hand-made questions wrongly dropped* | *{dropped} of {total} ({share})* |" in PAGE
    assert total >= 120
    assert dropped / total <= 0.05
