"""Prompts are files with a version in their name: `question.v1.md` is a system text, a line `---`, and a template."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from rageval_action.golden.generate.model_requests import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

CURRENT: dict[str, str] = {
    "question": "question.v1",
    "multi": "multi.v1",
    "unanswerable": "unanswerable.v1",
    "rewrite": "rewrite.v1",
    "critic": "critic.v1",
    "also": "also.v1",
}
"""Purpose -> the prompt in use. A change of wording is a new file and a new version here, never an edit."""

MAX_TOKENS: dict[str, int] = {
    "question": 4096,
    "multi": 4096,
    "unanswerable": 2048,
    "rewrite": 2048,
    "critic": 4096,
    "also": 4096,
}
"""Purpose -> `max_tokens`; thinking counts towards it."""

LIKELY_OUTPUT: dict[str, int] = {
    "question": 110,
    "multi": 350,
    "unanswerable": 200,
    "rewrite": 150,
    "critic": 90,
    "also": 200,
}
"""Purpose -> tokens of a usual answer, for `question` and `critic` by question; a little thinking is in it."""


def _object(**properties: Any) -> dict[str, Any]:
    """A JSON Schema object in which every property is required and no other allowed, as structured output wants."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_TEXT = {"type": "string"}
_YES_NO = {"type": "boolean"}
_NUMBER = {"type": "integer"}

SCHEMAS: dict[str, dict[str, Any]] = {
    "question": _object(
        questions=_list_of(_object(style=_TEXT, question=_TEXT, quote=_TEXT, language=_TEXT))
    ),
    "multi": _object(question=_TEXT, quote_1=_TEXT, quote_2=_TEXT, language=_TEXT),
    "unanswerable": _object(question=_TEXT, language=_TEXT),
    "rewrite": _object(question=_TEXT),
    "critic": _object(
        verdicts=_list_of(
            _object(number=_NUMBER, self_contained=_YES_NO, answerable=_YES_NO, copied=_YES_NO, reason=_TEXT)
        )
    ),
    "also": _object(answers=_list_of(_object(number=_NUMBER, quote=_TEXT))),
}
"""Purpose -> the schema of its answer."""


@lru_cache
def load(version: str) -> tuple[str, str]:
    """System text and template of a prompt file."""
    text = (resources.files(__package__) / "prompts" / f"{version}.md").read_text(encoding="utf-8")
    system, _, template = text.partition("\n---\n")
    return system.strip(), template.strip()


def request(purpose: str, model: str, effort: str, values: Mapping[str, str]) -> Request:
    """The request of one purpose with its placeholders filled.

    Values are untrusted text: they are put in once, so a placeholder inside a passage stays what it is, and what
    looks like one of our tags is taken apart.
    """
    version = CURRENT[purpose]
    system, template = load(version)
    return Request(
        purpose=purpose,
        model=model,
        system=_fill(system, values),
        prompt=_fill(template, values),
        schema=SCHEMAS[purpose],
        max_tokens=MAX_TOKENS[purpose],
        prompt_version=version,
        effort=effort,
    )


def data(text: str) -> str:
    """A text of the collection as it may stand inside our tags: a closing tag in it does not close ours."""
    return re.sub(
        r"</?(passage|question|title|fault|quote)\b", lambda match: match[0].replace("<", "‹"), text
    )


def _fill(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values.get(match[1], match[0]), template)
