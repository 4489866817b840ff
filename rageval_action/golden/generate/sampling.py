"""Which chunks questions are asked about: spread over documents, lengths and languages, without the useless ones."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.core.labels.tokens import HANGUL, KANA, fold_case, has_cjk, is_cjk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.core.model.types import Chunk

FEWEST_CHARACTERS = 120
"""A shorter chunk rarely holds a fact that can be asked about; a CJK character counts as 2.5."""

_BANDS = (400, 900, 1800)
_REPEATED_SHARE = 0.2
_LETTERS_SHARE = 0.55
_MENU = re.compile(
    r"(\.{4,}|…{2,}|(\|[^|\n]{0,20}){6,}|©|all rights reserved|cookie|skip to content)", re.IGNORECASE
)


class Sample(Struct, frozen=True, kw_only=True):
    """Chunks in the order in which they are asked about, and how many were passed over by reason."""

    chunks: tuple[Chunk, ...]
    skipped: dict[str, int]


def usable(chunks: Sequence[Chunk]) -> Sample:
    """Chunks that can carry a question, in row order: not empty, short, repeated or boilerplate."""
    folded = [fold_case(chunk.text) for chunk in chunks]
    repeated = _repeated_lines(chunks)
    seen: set[str] = set()
    skipped: Counter[str] = Counter()
    kept: list[Chunk] = []
    for chunk, text in zip(chunks, folded, strict=True):
        reason = "duplicate" if text in seen else _uselessness(chunk.text, text, repeated)
        if reason:
            skipped[reason] += 1
            continue
        seen.add(text)
        kept.append(chunk)
    return Sample(chunks=tuple(kept), skipped=dict(skipped))


def stratified(chunks: Sequence[Chunk], seed: int) -> tuple[Chunk, ...]:
    """All chunks in an order whose every beginning is spread over documents, and within them over length bands.

    Documents take turns, those of the rarer language first in each round, so that a small language is not drowned;
    within a document the bands take turns. The order depends on the ids and the seed, not on the order given.
    """
    generator = random.Random(seed)  # noqa: S311 - a sample, not a secret
    by_doc: dict[str, list[Chunk]] = {}
    for chunk in sorted(chunks, key=lambda one: (one.doc, one.id)):
        by_doc.setdefault(chunk.doc, []).append(chunk)
    queues = {doc: _by_bands(members, generator) for doc, members in by_doc.items()}
    languages = Counter(language(queue[0].text) for queue in queues.values())
    docs = list(queues)
    generator.shuffle(docs)
    docs = _interleaved(docs, [language(queues[doc][0].text) for doc in docs], languages)
    ordered: list[Chunk] = []
    for turn in range(max((len(queue) for queue in queues.values()), default=0)):
        ordered += [queues[doc][turn] for doc in docs if turn < len(queues[doc])]
    return tuple(ordered)


def language(text: str) -> str:
    """`zh`, `ja`, `ko` by script, else `latin`: enough to spread a sample and to choose the other language."""
    letters = [character for character in text if character.isalpha()]
    if not letters or sum(is_cjk(character) for character in letters) < 0.2 * len(letters):
        return "latin"
    if re.search(f"[{KANA}]", text):
        return "ja"
    return "ko" if re.search(f"[{HANGUL}]", text) else "zh"


def _by_bands(members: list[Chunk], generator: random.Random) -> list[Chunk]:
    bands: dict[int, list[Chunk]] = {}
    for chunk in members:
        bands.setdefault(sum(len(chunk.text) > limit for limit in _BANDS), []).append(chunk)
    for band in bands.values():
        generator.shuffle(band)
    order = sorted(bands)
    generator.shuffle(order)
    queue: list[Chunk] = []
    while any(bands.values()):
        queue += [bands[band].pop() for band in order if bands[band]]
    return queue


def _interleaved(docs: list[str], tongues: list[str], counts: Counter[str]) -> list[str]:
    """Documents so ordered that each language is spread evenly over the list."""
    seen: Counter[str] = Counter()
    places: list[tuple[float, int, str]] = []
    for at, (doc, tongue) in enumerate(zip(docs, tongues, strict=True)):
        places.append(((seen[tongue] + 0.5) / counts[tongue], at, doc))
        seen[tongue] += 1
    return [doc for _, _, doc in sorted(places)]


def _repeated_lines(chunks: Sequence[Chunk]) -> set[str]:
    """Lines that stand in a fifth of the documents or more: menus, footers, notices."""
    counts: Counter[str] = Counter()
    by_doc: dict[str, set[str]] = {}
    for chunk in chunks:
        by_doc.setdefault(chunk.doc, set()).update(
            line for line in map(fold_case, chunk.text.splitlines()) if line
        )
    for lines in by_doc.values():
        counts.update(lines)
    least = max(3, _REPEATED_SHARE * len(by_doc))
    return {line for line, count in counts.items() if count >= least}


def _uselessness(text: str, folded: str, repeated: set[str]) -> str:
    if not folded:
        return "empty"
    size = sum(2.5 if is_cjk(character) else 1 for character in folded) if has_cjk(folded) else len(folded)
    if size < FEWEST_CHARACTERS:
        return "short"
    own = [line for line in map(fold_case, text.splitlines()) if line and line not in repeated]
    visible = [character for character in folded if not character.isspace()]
    letters = sum(character.isalpha() for character in visible) / len(visible)
    if sum(map(len, own)) < len(folded) / 2 or letters < _LETTERS_SHARE or len(_MENU.findall(folded)) > 2:
        return "boilerplate"
    return ""
