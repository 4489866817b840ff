"""What a run is likely to cost, without asking anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.golden.generate.candidates import Candidate
from rageval_action.golden.generate.model_stages import PURPOSES, critic_request, question_request
from rageval_action.golden.generate.prices import Price, cost, likely_tokens
from rageval_action.golden.generate.prompting import LIKELY_OUTPUT, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rageval_action.golden.generate.model_requests import Request
    from rageval_action.golden.generate.question_plan import QuestionPlan, Settings

REWRITTEN = 0.2
"""Share of questions that are rewritten, by guess."""

SHOWN_PASSAGES = 6
"""Passages that the round trip shows for one question, by guess (two searches, some hits in common)."""


class Line(Struct, frozen=True, kw_only=True):
    """One stage: requests, tokens and US dollars, all estimates."""

    stage: str
    requests: int
    input_tokens: int
    output_tokens: int
    usd: float


def estimate(
    plan: QuestionPlan, settings: Settings, prices: Mapping[str, Price], *, batch: bool, round_trip: bool
) -> list[Line]:
    """Likely tokens and money by stage; real runs differ by what the model says and how much it thinks."""
    questions = sum(len(slot.styles) for slot in plan.slots)
    requests = [question_request(slot, settings) for slot in plan.slots]
    written = [
        LIKELY_OUTPUT[PURPOSES[slot.kind]] * (len(slot.styles) if slot.kind == "lookup" else 1)
        for slot in plan.slots
    ]
    passages = sum(likely_tokens(chunk.text) for slot in plan.slots for chunk in slot.chunks) / max(
        1, len(plan.slots)
    )
    lines = [
        _line(
            "questions", len(requests), _tokens(requests), sum(written), prices[settings.model], batch=batch
        )
    ]
    again = round(questions * REWRITTEN)
    rewriting = again * (passages + _system("rewrite.v1"))
    lines.append(
        _line(
            "rewrite", again, rewriting, again * LIKELY_OUTPUT["rewrite"], prices[settings.model], batch=batch
        )
    )
    critic = settings.critic_model
    if critic:
        asked = [critic_request([_example(slot) for _ in slot.styles], settings) for slot in plan.slots]
        said = questions * LIKELY_OUTPUT["critic"]
        lines.append(_line("critic", len(asked), _tokens(asked), said, prices[critic], batch=batch))
    if round_trip:
        into = questions * (SHOWN_PASSAGES * passages + _system("also.v1"))
        out = questions * LIKELY_OUTPUT["also"]
        lines.append(_line("also", questions, into, out, prices[critic or settings.model], batch=batch))
    return lines


def _line(stage: str, requests: int, into: float, out: float, price: Price, *, batch: bool) -> Line:
    each = cost(price, into / max(1, requests), out / max(1, requests), batch=batch)
    return Line(
        stage=stage,
        requests=requests,
        input_tokens=round(into),
        output_tokens=round(out),
        usd=each * requests,
    )


def _tokens(requests: list[Request]) -> int:
    return sum(likely_tokens(one.system) + likely_tokens(one.prompt) + 80 for one in requests)


def _system(version: str) -> int:
    return likely_tokens("".join(load(version))) + 80


def _example(slot: object) -> Candidate:
    return Candidate(
        slot=slot,  # type: ignore[arg-type]
        question="x" * 80,
        quotes=(),
        style="natural",
        lang="",
        model="",
        prompt_version="",
    )
