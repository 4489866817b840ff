"""The stages that ask a model: each builds requests, and turns outcomes into candidates or reasons to drop them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_action.golden.generate.candidates import Candidate, Slot, candidates_of, parse_answer
from rageval_action.golden.generate.prompting import data, request
from rageval_action.golden.generate.sampling import language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.core.model.types import Chunk
    from rageval_action.golden.generate.funnel import Funnel
    from rageval_action.golden.generate.model_requests import Asker, Request
    from rageval_action.golden.generate.question_plan import Settings

PURPOSES = {"lookup": "question", "multi-document": "multi", "unanswerable": "unanswerable"}
"""Kind of slot -> purpose of its request."""


def question_request(slot: Slot, settings: Settings) -> Request:
    """Ask for the questions of one slot."""
    first = slot.chunks[0]
    values = {
        "title": data(title(first)),
        "passage": data(first.text),
        "count": str(len(slot.styles)),
        "styles": ", ".join(f"{number}. {style}" for number, style in enumerate(slot.styles, start=1)),
        "other_language": "English" if language(first.text) == "zh" else "Traditional Chinese",
    }
    if slot.kind == "multi-document":
        for number, chunk in enumerate(slot.chunks, start=1):
            values |= {f"title_{number}": data(title(chunk)), f"passage_{number}": data(chunk.text)}
    return request(PURPOSES[slot.kind], settings.model, settings.effort, values)


def write(slots: Sequence[Slot], settings: Settings, asker: Asker, funnel: Funnel) -> list[Candidate]:
    """Ask for questions; more than were asked for are left alone, missing ones are counted by reason."""
    requests = [question_request(slot, settings) for slot in slots]
    found: list[Candidate] = []
    for slot, asked, outcome in zip(slots, requests, asker.ask(requests), strict=True):
        table, reason = parse_answer(outcome)
        got: list[Candidate] = []
        if not reason:
            got = candidates_of(slot, table, settings.model, asked.prompt_version)
        funnel.answer(len(slot.styles), len(got), reason)
        found += got[: len(slot.styles)]
    return found


def rewrite(
    candidates: Sequence[Candidate], faults: Sequence[str], settings: Settings, asker: Asker
) -> list[str | None]:
    """A second wording of each question, None where none came."""
    requests = [
        request(
            "rewrite",
            settings.model,
            settings.effort,
            {
                "passage": data("\n\n".join(chunk.text for chunk in one.slot.chunks)),
                "question": data(one.question),
                "style": one.style,
                "fault": data(fault),
            },
        )
        for one, fault in zip(candidates, faults, strict=True)
    ]
    wordings: list[str | None] = []
    for outcome in asker.ask(requests) if requests else ():
        table, reason = parse_answer(outcome)
        text = table.get("question") if not reason else None
        wordings.append(text.strip() if isinstance(text, str) and text.strip() else None)
    return wordings


def criticise(candidates: Sequence[Candidate], settings: Settings, asker: Asker) -> list[str]:
    """For each candidate why the critic drops it; empty when it passes.

    Candidates of one slot go in one request, since the passage costs more than the questions. A missing verdict
    is `critic-no-verdict`, an outcome without an answer `critic-` and its kind.
    """
    groups: dict[tuple[str, ...], list[Candidate]] = {}
    for one in candidates:
        groups.setdefault((one.slot.kind, *(chunk.id for chunk in one.slot.chunks)), []).append(one)
    requests = [critic_request(group, settings) for group in groups.values()]
    reasons: dict[int, str] = {}
    for group, outcome in zip(groups.values(), asker.ask(requests) if requests else (), strict=True):
        table, reason = parse_answer(outcome)
        for number, one in enumerate(group, start=1):
            reasons[id(one)] = f"critic-{reason}" if reason else _verdict(table, number, one)
    return [reasons[id(one)] for one in candidates]


def critic_request(group: Sequence[Candidate], settings: Settings) -> Request:
    """Ask for verdicts on the questions of one slot."""
    shown = []
    for number, one in enumerate(group, start=1):
        mark = ' unanswerable="true"' if one.slot.kind == "unanswerable" else ""
        quotes = "".join(f"<quote>{data(item.quote)}</quote>" for item in one.evidence)
        shown.append(f'<question number="{number}"{mark}>{data(one.question)}{quotes}</question>')
    passage = "\n\n".join(chunk.text for chunk in group[0].slot.chunks)
    values = {"passage": data(passage), "questions": "\n".join(shown)}
    return request("critic", settings.critic_model, settings.critic_effort, values)


def _verdict(table: dict[str, object], number: int, one: Candidate) -> str:
    verdicts = table.get("verdicts")
    for entry in verdicts if isinstance(verdicts, list) else ():
        if isinstance(entry, dict) and entry.get("number") == number:
            answered = entry.get("answerable") is True
            if entry.get("self_contained") is not True:
                return "critic-not-self-contained"
            if answered == (one.slot.kind == "unanswerable"):
                return "critic-answerable-after-all" if answered else "critic-not-answerable"
            return "critic-copied" if entry.get("copied") is True and one.slot.kind != "unanswerable" else ""
    return "critic-no-verdict"


def also_request(one: Candidate, passages: Sequence[Chunk], settings: Settings) -> Request:
    """Ask which of the passages answer a question as well."""
    shown = "\n".join(
        f'<passage number="{number}">\n{data(chunk.text)}\n</passage>'
        for number, chunk in enumerate(passages, start=1)
    )
    values = {"question": data(one.question), "passages": shown}
    model = settings.critic_model or settings.model
    return request(
        "also", model, settings.critic_effort if settings.critic_model else settings.effort, values
    )


def title(chunk: Chunk) -> str:
    """What a chunk is called: its metadata's title or heading, else the document's id."""
    for name in ("title", "heading", "section"):
        value = (chunk.metadata or {}).get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return chunk.doc
