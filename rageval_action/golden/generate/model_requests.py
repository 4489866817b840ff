"""What is asked of a model and what comes back, whichever way it travels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Struct

ID_LENGTH = 40
"""Characters of a key that a batch knows a request by; the API allows 64."""


class Request(Struct, frozen=True, kw_only=True, dict=True):
    """One question to a model.

    Attributes:
        purpose: the stage it belongs to (`questions`, `rewrite`, `critic`, `also`), for counts and prices.
        prompt_version: name of the prompt file, for provenance.
        schema: JSON Schema that the answer follows.
        effort: how much the model may think, empty for models that do not take it.
    """

    purpose: str
    model: str
    system: str
    prompt: str
    schema: dict[str, Any]
    max_tokens: int
    prompt_version: str
    effort: str = ""

    @cached_property
    def key(self) -> str:
        """Content hash: the same request is paid for once. 64 hex digits."""
        parts = [self.model, self.system, self.prompt, self.schema, self.max_tokens, self.effort]
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()

    @property
    def custom_id(self) -> str:
        """The key as a batch knows it ."""
        return self.key[:ID_LENGTH]


class Answer(Struct, frozen=True, kw_only=True):
    """What a model said.

    Attributes:
        stop: the API's stop reason; `end_turn` is the only one that means a whole answer.
        batch: whether it came at the batch price.
        remembered: whether it was in the ledger already and cost nothing now.
    """

    key: str
    text: str
    stop: str
    input_tokens: int
    output_tokens: int
    batch: bool = False
    remembered: bool = False


class Failure(Struct, frozen=True, kw_only=True):
    """Why there is no answer: `kind` is short and stable, `text` what the API said. Never remembered: asked again."""

    key: str
    kind: str
    text: str = ""


Outcome: TypeAlias = Answer | Failure


class Asker(Protocol):
    """Puts requests to a model."""

    def ask(self, requests: Sequence[Request]) -> list[Outcome]:
        """One outcome a request, in the order given."""
        ...
