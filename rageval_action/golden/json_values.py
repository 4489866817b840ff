"""JSON decoded without losing anything: a key that stands twice in an object is a fault, not the last of the two.

Faults name the line, the column and what stands there.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_KEYS = re.compile(rb'"(?:[^"\\]|\\.)*"\s*:?')
_BYTE = re.compile(r" \(byte (\d+)\)$")
_TOKEN = re.compile(rb"-?[A-Za-z_]\w*|//|/\*|#|'|\S")
_KNOWN: tuple[tuple[str, str], ...] = (
    (r"-?(NaN|Infinity|inf|nan)\b", "is not a value of JSON; write null"),
    (r"(True|False|None)\b", "is Python's spelling; JSON writes true, false and null"),
    (r"//|/\*|#", "starts a comment, and JSON has none"),
    (r"'", "is a single quote; JSON takes double quotes"),
)
"""What often stands in files that are nearly JSON -> what to do about it."""


class RepeatedKeyError(ValueError):
    """A key stands twice in one object."""


def decode(data: bytes | str) -> Any:
    """A JSON text as plain values.

    Raises:
        msgspec.DecodeError: it is not JSON.
        RepeatedKeyError: an object has a key twice.
    """
    value = msgspec.json.decode(data)
    refuse_repeats(data)
    return value


def refuse_repeats(data: bytes | str) -> None:
    """Raise `RepeatedKeyError` when an object of this JSON text has a key twice; most texts are looked at once."""
    raw = data.encode() if isinstance(data, str) else data
    keys = [found.rstrip(b": \t\r\n") for found in _KEYS.findall(raw) if found.endswith(b":")]
    if len(keys) != len(set(keys)):
        json.loads(raw, object_pairs_hook=_pairs)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RepeatedKeyError(f'"{twice}" stands twice in one object')
    return table


def not_json(fault: Exception, data: bytes = b"") -> str:
    """Why a text is not JSON, in one sentence; `data` is the text, in which the fault is found again."""
    if isinstance(fault, RepeatedKeyError):
        return f"{fault}; keep one of them."
    reason = str(fault).removeprefix("JSON is malformed: ")
    match = _BYTE.search(reason)
    if match is None or not data:
        return f"this is not JSON: {reason}."
    at = int(match[1])
    line = data.count(b"\n", 0, at)
    column = at - (data.rfind(b"\n", 0, at) + 1) + 1
    place = f"line {line + 1}, column {column}" if b"\n" in data.strip() else f"column {column}"
    token = _TOKEN.match(data, at)
    text = token[0].decode(errors="replace") if token else ""
    for pattern, advice in _KNOWN:
        if re.match(pattern, text):
            return f"this is not JSON: {text} at {place} {advice}."
    shown = f" at {text[:30]!r}" if text else ""
    return f"this is not JSON: {reason.removesuffix(match[0])}{shown}, {place}."


def fault_line(fault: Exception, data: bytes) -> int:
    """The line of the fault from 1; 0 where it is not known."""
    match = _BYTE.search(str(fault))
    return data.count(b"\n", 0, int(match[1])) + 1 if match else 0
