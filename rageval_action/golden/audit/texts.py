"""Checks of the queries' wording: parroting, pointers to an unseen passage, text of a model, personal data."""

from __future__ import annotations

from statistics import mean, median
from typing import TYPE_CHECKING, TypeVar

from rageval_action.golden.audit.findings import Finding, Row, about, row
from rageval_action.golden.parroting import Limits, score
from rageval_action.golden.privacy import Detector
from rageval_action.golden.question_wording import is_joined, pointer, preamble

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rageval_action.golden.audit.findings import Subject
    from rageval_action.golden.parroting import Parroting

Number = TypeVar("Number", int, float)


def parroting(subject: Subject) -> Iterator[Finding]:
    """How much of each question stands word for word in what it should find."""
    scored: list[tuple[Row, Parroting]] = []
    for query in subject.queries:
        passages = subject.passages(query)
        if passages:
            worst = max((score(query.text, passage) for passage in passages), key=lambda one: one.rank)
            scored.append((row(query, f"{worst.overlap:.0%} overlap, {worst.copied} tokens in a row"), worst))
    if not scored:
        return
    overlaps = sorted(one.overlap for _, one in scored)
    runs = sorted(one.copied for _, one in scored)
    yield Finding(
        code="check.parroting-score",
        severity="info",
        text=(
            f"on average {mean(overlaps):.0%} of a question's content words stand in its passage (median "
            f"{median(overlaps):.0%}, nine in ten at most {_nine_in_ten(overlaps):.0%}); copied runs: median "
            f"{median(runs):g} tokens, nine in ten at most {_nine_in_ten(runs)}, longest {runs[-1]}."
        ),
    )
    limits = Limits()
    copied = tuple(found for found, one in scored if limits.complaint(one))
    yield from about(
        copied,
        "check.parroting",
        f"of {len(scored)} questions copy their passage: lexical search finds them for free.",
        hint="Rephrase them as somebody would ask who has not read the passage.",
    )


def _nine_in_ten(ordered: Sequence[Number]) -> Number:
    """The least value that 90 % of the values, given in rising order, do not exceed."""
    return ordered[-(-9 * len(ordered) // 10) - 1]


def wording(subject: Subject) -> Iterator[Finding]:
    """Questions that need the passage to be understood, model preambles, and several questions in one."""
    checks = (
        (
            "check.not-self-contained",
            pointer,
            "point at a text that the asker does not see",
            "Name the thing itself.",
        ),
        ("check.preamble", preamble, "start like the answer of a model", "Keep the question only."),
    )
    for code, find, what, hint in checks:
        rows = [row(query, f"“{words}”") for query in subject.queries if (words := find(query.text))]
        yield from about(rows, code, f"questions {what}.", hint=hint)
    yield from about(
        [row(query) for query in subject.queries if is_joined(query.text)],
        "check.joined",
        "rows hold several questions or lines.",
        hint="Split them: one query a row.",
    )


def privacy(subject: Subject) -> Iterator[Finding]:
    """Possible personal data and keys in queries and quotes."""
    detector = Detector()
    rows: list[Row] = []
    for query in subject.queries:
        texts = [query.text, *(item.quote for item in query.evidence)]
        kinds = sorted({found.kind for text in texts for found in detector.find(text)})
        if kinds:
            rows.append(row(query, ", ".join(kinds)))
    yield from about(
        rows,
        "check.personal-data",
        "rows may hold personal data or keys.",
        hint="Replace them before the set is committed: git does not forget.",
    )
    if detector.missing:
        yield Finding(
            code="check.personal-data-partly",
            severity="info",
            text=f"{' and '.join(detector.missing)} were not looked for.",
            hint='Install "rag-eval-action[check]".',
        )
