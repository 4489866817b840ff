"""An explanation on a terminal: both rankings beside each other, what was wanted, what came instead."""

from __future__ import annotations

from collections.abc import Iterator

from rageval_action.core.comparing.query_changes import UPWARDS
from rageval_action.core.judging.explanation import Explanation, Passage, Place
from rageval_action.core.judging.sentences.cause_words import CIRCUMSTANCES
from rageval_action.core.wording import escape, lists, numbers
from rageval_action.reports.terminal import Table, aligned, indented

SNIPPET = 200
NAME = 36
SCORE = 4
"""Decimals of a score: they tell neighbours apart."""


def lines(explanation: Explanation) -> Iterator[str]:
    """The explanation line by line, without any control character from outside."""
    yield from map(indented, _lines(explanation))
    for table in _rankings(explanation):
        yield ""
        yield table.title
        yield from aligned(table)


def _lines(explanation: Explanation) -> Iterator[str]:
    place = f", line {explanation.line} of the golden set" if explanation.line else ""
    yield f"{explanation.query_id}{place}: {explanation.query or 'the text is not in the record'}"
    if explanation.slices:
        yield f"Slices: {', '.join(explanation.slices)}"
    yield _verdict(explanation)
    if explanation.error:
        yield f"The retriever failed: {explanation.error}"
    for wanted in explanation.wanted:
        moved = _move(wanted.before if explanation.compared else None, wanted.after)
        yield f"Should find {wanted.label} (grade {wanted.grade}): {moved}"
        if wanted.best:
            yield from _passage("  best chunk", wanted.best)
    for rival in explanation.rivals:
        moved = _move(rival.before if explanation.compared else None, rival.after)
        yield f"Above it: {rival.id}: {moved}"
        yield from _passage("  chunk", rival.passage)
    if explanation.margin is not None:
        before = f"{_signed(explanation.margin_before)} → " if explanation.margin_before is not None else ""
        yield f"Margin (best relevant less best other): {before}{_signed(explanation.margin)}"
    if explanation.advice:
        yield f"What to try: {explanation.advice} Source: {explanation.source}."


def _verdict(explanation: Explanation) -> str:
    same = f"It finds as much in the top {explanation.k} as before"
    words = {
        "lost": f"It lost its last relevant result in the top {explanation.k}",
        "worse": f"It finds less in the top {explanation.k} than before",
        "gained": f"It found its first relevant result in the top {explanation.k}",
        "better": f"It finds more in the top {explanation.k} than before",
        "missed": f"It finds nothing relevant in the top {explanation.k}, before or now",
        "changed": "Its text is not the one the baseline answered",
        "unanswerable": "Nothing should be found for it",
        "same": same if explanation.compared else _found(explanation),
    }[explanation.change]
    if not explanation.cause:
        return f"{words}."
    by = f" by {lists.listed(list(explanation.by), 3)}" if explanation.by else ""
    also = [CIRCUMSTANCES.get(tag, tag) for tag in explanation.circumstances]
    more = f"; {', '.join(also)}" if also else ""
    why = "It was missing before:" if explanation.change in UPWARDS else "Cause:"
    return f"{words}. {why} {explanation.cause}{by} ({explanation.meaning}{more})."


def _signed(value: float) -> str:
    shown = numbers.fixed(value, SCORE)
    return shown if shown.startswith(numbers.MINUS) else f"{numbers.PLUS}{shown}"


def _move(before: int | None, after: int) -> str:
    """`rank 3`, `not ranked`, `rank 2 → not ranked`, `not ranked → rank 3`."""
    now = f"rank {after}" if after else "not ranked"
    if before is None:
        return now
    old = f"rank {before}" if before else "not ranked"
    return f"{old} → {after}" if before and after else f"{old} → {now}"


def _found(explanation: Explanation) -> str:
    """What the top k holds of what should be found, where there is nothing to compare with."""
    found = sum(0 < wanted.after <= explanation.k for wanted in explanation.wanted)
    if not found:
        return f"It finds nothing relevant in the top {explanation.k}"
    what = (
        "what"
        if found == len(explanation.wanted)
        else f"{found} of the {len(explanation.wanted)} things that"
    )
    return f"It finds {what} it should in the top {explanation.k}"


def _passage(title: str, passage: Passage) -> Iterator[str]:
    score = f", score {numbers.fixed(passage.score, SCORE)}" if passage.score is not None else ""
    shared = (
        f", holds {numbers.share(passage.overlap)} of the query's words"
        if passage.overlap is not None
        else ""
    )
    yield f"{title} {passage.id}: rank {passage.rank or 'none'} among chunks{score}{shared}"
    if passage.text:
        yield f"    {escape.cap(escape.visible(passage.text), SNIPPET)}"


def _rankings(explanation: Explanation) -> Iterator[Table]:
    if explanation.compared:
        yield Table(
            f"Base, first {len(explanation.before)}",
            ["rank", "result", "score", ""],
            _body(explanation.before, explanation.k, moved=False),
        )
    title = "This run" if explanation.compared else "Results"
    yield Table(
        f"{title}, first {len(explanation.after)}",
        ["rank", "result", "score", ""],
        _body(explanation.after, explanation.k, moved=explanation.compared),
    )


def _body(places: tuple[Place, ...], k: int, *, moved: bool) -> list[list[str]]:
    return [
        [
            str(place.rank),
            escape.cap(place.id, NAME),
            numbers.fixed(place.score, SCORE),
            ", ".join(_marks(place, k, moved=moved)),
        ]
        for place in places
    ]


def _marks(place: Place, k: int, *, moved: bool) -> Iterator[str]:
    if place.relevant:
        yield "relevant"
    if place.denied:
        yield "may not be seen"
    if moved:
        step = place.before - place.rank
        if not place.before:
            yield "was not ranked"
        elif step:
            yield f"{'up' if step > 0 else 'down'} {abs(step)}"
    if place.rank == k:
        yield f"cut at k = {k}"
