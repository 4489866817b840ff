"""Questions on their way through the filters, and how answers of the model become questions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from rageval_action.core.labels.evidence import locate
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import Chunk, Evidence
from rageval_action.golden.generate.model_requests import Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

SlotKind: TypeAlias = Literal["lookup", "multi-document", "unanswerable"]

STYLES = ("natural", "keyword", "typo", "abbreviation", "cross-lingual")

_FENCE = re.compile(r"^\s*```(?:json)?\s*(.*?)\s*```\s*$", re.DOTALL)


class Slot(Struct, frozen=True, kw_only=True):
    """What one request asks for: `styles` has one entry a question; two chunks for a multi-document question."""

    kind: SlotKind
    chunks: tuple[Chunk, ...]
    styles: tuple[str, ...]


class Candidate(Struct, kw_only=True):
    """A question that may become a row.

    Attributes:
        quotes: one for each chunk of the slot, as the model gave them; empty for unanswerable questions.
        evidence: the quotes found in the chunks, verbatim, the others dropped.
        scores, ranks: what the filters and the round trip measured.
        also: evidence in other chunks that answers the question as well.
    """

    slot: Slot
    question: str
    quotes: tuple[str, ...]
    style: str
    lang: str
    model: str
    prompt_version: str
    rewritten: bool = False
    evidence: tuple[Evidence, ...] = ()
    scores: dict[str, float] = {}
    ranks: dict[str, int] = {}
    also: tuple[Evidence, ...] = ()

    @property
    def id(self) -> str:
        """Made of the question and its chunks, so that it is the same in every run."""
        return (
            f"syn-{text_hash(self.question + chr(0) + chr(0).join(one.id for one in self.slot.chunks))[:12]}"
        )


def parse_answer(outcome: Outcome) -> tuple[dict[str, Any], str]:
    """The JSON object of an answer, and why there is none (empty when there is).

    Structured output is valid JSON unless the answer was cut off or refused; an endpoint that does not enforce it
    may wrap it in prose or a code fence, which is taken off.
    """
    if isinstance(outcome, Failure):
        return {}, outcome.kind
    if outcome.stop == "refusal":
        return {}, "refusal"
    text = outcome.text.strip()
    for attempt in (text, _unfenced(text), _outermost(text)):
        try:
            return msgspec.json.decode(attempt, type=dict[str, Any]), ""
        except msgspec.MsgspecError:
            continue
    return {}, "cut-off" if outcome.stop in ("max_tokens", "model_context_window_exceeded") else "broken-json"


def candidates_of(slot: Slot, table: dict[str, Any], model: str, version: str) -> list[Candidate]:
    """Questions in an answer, more than were asked for included; entries without a question are passed over."""
    if slot.kind == "lookup":
        entries = table.get("questions")
        entries = entries if isinstance(entries, list) else []
    else:
        entries = [table]
    found: list[Candidate] = []
    for place, entry in enumerate(entries):
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("question"), str)
            or not entry["question"].strip()
        ):
            continue
        names = ("quote_1", "quote_2") if slot.kind == "multi-document" else ("quote",)
        quotes = tuple(str(entry.get(name) or "") for name in names) if slot.kind != "unanswerable" else ()
        asked = slot.styles[place] if place < len(slot.styles) else slot.styles[-1]
        found.append(
            Candidate(
                slot=slot,
                question=entry["question"].strip(),
                quotes=quotes,
                style=asked,
                lang=str(entry.get("language") or "").strip().lower()[:8],
                model=model,
                prompt_version=version,
            )
        )
    return found


def verify(chunk: Chunk, quote: str) -> Evidence | None:
    """The quote as it stands in the chunk, with its place in the document where that is known.

    None when it is not there, white space and Unicode compatibility forms aside.
    """
    if not quote.strip():
        return None
    places = locate(quote, chunk.text)
    if not places:
        return None
    start, end = places[0]
    offset = chunk.start + start if chunk.start >= 0 else -1
    return Evidence(doc=chunk.doc, quote=chunk.text[start:end], start=offset)


def found_evidence(chunks: Sequence[Chunk], quotes: Sequence[str]) -> tuple[Evidence, ...]:
    """One evidence item a chunk; empty when any quote is not verbatim in its chunk."""
    found = [verify(chunk, quote) for chunk, quote in zip(chunks, quotes, strict=False)]
    if len(found) < len(chunks) or any(item is None for item in found):
        return ()
    return tuple(item for item in found if item is not None)


def _unfenced(text: str) -> str:
    match = _FENCE.match(text)
    return match[1] if match else text


def _outermost(text: str) -> str:
    return text[text.find("{") : text.rfind("}") + 1]
