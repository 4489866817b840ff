"""The process in which a store's client library runs, and what the two sides say to each other.

A library that hangs cannot be stopped from within, and one that crashes takes its process with it: so it has a process
of its own, which the parent (`clients.ClientRetriever`) can end. One line of JSON each way.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
import time
from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.model.types import QueryAcl

Setting: TypeAlias = str | int | float | bool


class Open(Struct, frozen=True, tag="open"):
    """Open the store, with the retriever's options as recorded."""

    options: dict[str, Setting]


class Ask(Struct, frozen=True, tag="ask", kw_only=True):
    """One search: the query's text and who asks, its vector (float32, little-endian), the most results wanted."""

    text: str
    acl: QueryAcl | None
    vector: bytes
    limit: int

    def numbers(self) -> NDArray[np.float32]:
        """The vector."""
        return np.frombuffer(self.vector, dtype="<f4").astype(np.float32)


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Ids with scores (larger is better) and the time the search took, or why there are none."""

    results: list[tuple[str, float]] = []
    error: str = ""
    spent_ms: float = 0.0


class StoreError(Exception):
    """What the store said, fit for the user."""


class Store(Protocol):
    """A store as the child sees it."""

    def __init__(self, options: dict[str, Any]) -> None:
        """Open it.

        Raises:
            StoreError: it cannot be opened.
        """

    def search(self, asked: Ask) -> list[tuple[str, float]]:
        """At most `asked.limit` ids with scores.

        Raises:
            StoreError: why there are none.
        """
        ...


def main() -> None:
    """Answer every line of standard input until it ends; whatever a library prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    module, _, name = sys.argv[1].partition(":")
    make = getattr(importlib.import_module(module), name)
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Open | Ask)
    store: Any = None
    for line in sys.stdin.buffer:
        message = decoder.decode(line)
        try:
            if isinstance(message, Open):
                store = make(message.options)
                answer = Answer()
            else:
                began = time.perf_counter()
                found = store.search(message)
                answer = Answer(results=_finite(found), spent_ms=(time.perf_counter() - began) * 1000)
        except StoreError as error:
            answer = Answer(error=str(error))
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()


def _finite(found: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """JSON has no NaN."""
    if not all(math.isfinite(score) for _, score in found):
        raise StoreError("a score is not a finite number")
    return [(name, float(score)) for name, score in found]
