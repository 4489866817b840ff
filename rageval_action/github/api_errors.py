"""Reading GitHub's refusals: which of them are final, which pass, and how long to wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from rageval_action.errors import RagevalError
from rageval_action.http_client import NoReply, Reply

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


def is_limit(reply: Reply) -> bool:
    """Whether a limit refuses: 429, or a 403 in disguise (primary: none left; secondary: said so, or a Retry-After)."""
    said = message_of(reply.body).lower()
    if reply.status != 403 or "not accessible" in said:
        return reply.status == 429
    return (
        "retry-after" in reply.headers
        or reply.headers.get("x-ratelimit-remaining") == "0"
        or "secondary rate limit" in said
        or "abuse detection" in said
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


def final(name: str, reply: Reply) -> ApiError:
    """The error of an answer that is no success and is not asked for again."""
    status, said = reply.status, message_of(reply.body)
    if is_limit(reply):
        return ApiError("limited", f"{name}: rate limit ({status}).", status=status)
    if status >= 500:
        return ApiError("outage", f"{name}: HTTP {status}.", status=status, delivered=True)
    if 300 <= status < 400:
        return ApiError("malformed", f"{name}: an unexpected redirect ({status}).", status=status)
    kinds: dict[int, Failure] = {401: "forbidden", 403: "forbidden", 404: "not-found", 410: "gone"}
    detail = f" ({said[:_MESSAGE_CHARACTERS]})" if said else ""
    return ApiError(kinds.get(status, "refused"), f"{name}: HTTP {status}{detail}.", status=status)


def no_reply(name: str, outcome: NoReply, most: int) -> ApiError:
    """The error of a request that got no whole answer within `most` bytes."""
    if outcome.kind == "too-large":
        return ApiError("too-large", f"{name}: more than {most:,} bytes.")
    if outcome.kind == "bad-request":
        return ApiError("malformed", f"{name}: invalid URL or header.")
    words = {
        "unreachable": "the server cannot be reached",
        "timeout": "no answer in time" if outcome.delivered else "no connection",
        "broken": f"the connection broke ({outcome.cause})",
    }
    return ApiError("outage", f"{name}: {words[outcome.kind]}.", delivered=outcome.delivered)


def _count(value: str) -> float | None:
    """A header that counts seconds, None when it is anything else."""
    return float(value) if value.isascii() and value.isdigit() and len(value) < 12 else None
