"""GitHub's own description as a judge of requests and answers, and as a source of complete answers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from openapi_core import OpenAPI
from openapi_core.templating.responses.exceptions import ResponseNotFound
from openapi_core.testing import MockRequest, MockResponse

DOCUMENT = Path(__file__).with_name("github_openapi.json")
HOST = "https://api.github.com"


@cache
def document() -> dict[str, Any]:
    """The reduced description."""
    loaded: dict[str, Any] = json.loads(DOCUMENT.read_text("utf-8"))
    return loaded


@cache
def _judge() -> OpenAPI:
    return OpenAPI.from_dict(document())


def warm_up() -> None:
    """Load the description before the first request waits for it."""
    _judge()


def problems(
    method: str, path: str, query: dict[str, str], body: bytes, status: int, answer: bytes, answer_type: str
) -> list[str]:
    """What is wrong with one exchange, request and answer; empty when GitHub's description allows both."""
    found = []
    request = MockRequest(
        HOST,
        method.lower(),
        _one_segment(path),
        args=query,
        data=body or None,
        content_type="application/json",
    )
    try:
        _judge().validate_request(request)
    except Exception as error:  # noqa: BLE001 - whatever the judge says is a finding
        found.append(f"request {method} {path}: {error}")
        return found
    try:
        response = MockResponse(answer, status_code=status, content_type=answer_type)
        if answer_type.startswith("application/json") or status == 302:
            _judge().validate_response(request, response)
    except ResponseNotFound as error:
        if status < 400:
            found.append(f"answer to {method} {path}: {error}")
    except Exception as error:  # noqa: BLE001 - whatever the judge says is a finding
        found.append(f"answer to {method} {path}: {error}: {error.__cause__}")
    return found


def _one_segment(path: str) -> str:
    """A file path or branch is one parameter to the description, though slashes are sent as they are."""
    for marker in ("/contents/", "/git/ref/", "/git/refs/", "/commits/"):
        head, found, tail = path.partition(marker)
        if found:
            return head + marker + quote(tail, safe="%")
    return path


def make(name: str, /, **given: Any) -> dict[str, Any]:
    """A complete object of the schema `name`: required fields with plain values, `given` laid over them."""
    made = _value(document()["components"]["schemas"][name])
    assert isinstance(made, dict)
    return _lay(made, given)


def _lay(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = _lay(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
    return result


def _value(schema: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _value(document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    if "allOf" in schema:
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            merged |= _value(part)
        return merged
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return _value(schema[choice][0])
    if schema.get("nullable"):
        return None
    if "enum" in schema:
        return schema["enum"][0]
    return _plain(schema)


def _plain(schema: dict[str, Any]) -> Any:
    kind = schema.get("type", "object")
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: _value(fields[name]) for name in schema.get("required", []) if name in fields}
    if kind == "array":
        return []
    if kind == "string":
        formats = {
            "date-time": "2026-11-01T10:00:00Z",
            "uri": "https://api.github.com/x",
            "email": "who@example.com",
        }
        return formats.get(schema.get("format", ""), "text")
    return {"integer": 1, "number": 1.0, "boolean": False}[kind]
