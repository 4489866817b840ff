"""Reading GitHub's refusals: which of them are final, which pass, and how long to wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from rageval_action.errors import RagevalError

Failure: TypeAlias = Literal[
    "forbidden", "not-found", "gone", "refused", "limited", "outage", "malformed", "too-large"
]
"""`forbidden`: final, the token lacks the right; `refused`: any other 4xx; `limited`: a rate limit that
outlasts the budget; `outage`: 5xx, time-out, broken connection; `malformed`: not what the API documents."""

SECONDARY_WAIT = 60.0
"""Seconds to wait on a secondary limit that names no time (GitHub's advice: at least a minute)."""

_MESSAGE_CHARACTERS = 200


class ApiError(RagevalError):
    """A call to GitHub that did not give what was asked for.

    Attributes:
        failure: see `Failure`.
        status: HTTP status, 0 when there was no answer.
        delivered: whether the server may have acted on the request (matters for a POST).
    """

    def __init__(self, failure: Failure, message: str, *, status: int = 0, delivered: bool = False) -> None:
        super().__init__(f"github.{failure}", message)
        self.failure = failure
        self.status = status
        self.delivered = delivered


class _Message(Struct, frozen=True):
    message: str = ""


def message_of(body: bytes) -> str:
    """The `message` of an error answer; empty when there is none."""
    try:
        return msgspec.json.decode(body, type=_Message).message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


def is_limit(headers: Mapping[str, str], said: str) -> bool:
    """Whether a 403 is a limit in disguise (primary: none left; secondary: said so, or a Retry-After)."""
    lowered = said.lower()
    if "not accessible" in lowered:
        return False
    return (
        "retry-after" in headers
        or headers.get("x-ratelimit-remaining") == "0"
        or "secondary rate limit" in lowered
        or "abuse detection" in lowered
    )


def limit_wait(headers: Mapping[str, str], wall: float) -> float:
    """Seconds to wait: Retry-After, else until the reset when nothing is left, else `SECONDARY_WAIT`.

    Args:
        headers: case-insensitive.
        wall: seconds since the epoch, now.
    """
    after = _count(headers.get("retry-after", ""))
    if after is not None:
        return max(1.0, after)
    reset = _count(headers.get("x-ratelimit-reset", ""))
    if headers.get("x-ratelimit-remaining") == "0" and reset is not None:
        return max(1.0, reset - wall + 1.0)
    return SECONDARY_WAIT


def final(name: str, status: int, said: str) -> ApiError:
    """The error of an answer that no retry will change."""
    if 300 <= status < 400:
        return ApiError("malformed", f"{name}: an unexpected redirect ({status}).", status=status)
    kinds: dict[int, Failure] = {401: "forbidden", 403: "forbidden", 404: "not-found", 410: "gone"}
    detail = f" ({said[:_MESSAGE_CHARACTERS]})" if said else ""
    return ApiError(kinds.get(status, "refused"), f"{name}: HTTP {status}{detail}.", status=status)


def _count(value: str) -> float | None:
    """A header that counts seconds, None when it is anything else."""
    return float(value) if value.isascii() and value.isdigit() and len(value) < 12 else None
