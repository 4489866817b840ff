"""A local server that speaks the Anthropic wire format: messages and message batches, with faults on demand.

It answers like a model that does as it is told (`Brain`), refuses what the real API would refuse (parameters it does
not know, a schema that is not strict, no key), and counts what it was asked. Faults are a queue: each request takes
the next one, `None` meaning a good answer.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KNOWN = {"model", "max_tokens", "system", "messages", "output_config", "stream"}
Body = dict[str, Any]


@dataclass
class Fault:
    """What goes wrong with one request.

    `kind` is an HTTP status (429, 500, 529 …), or `hang`, `not-json`, `drop` (the connection is closed), `refusal`,
    `cut-off`, `text` (the answer is `text`); in a batch also `expired`, `errored`, `canceled`.
    """

    kind: int | str
    text: str = ""
    retry_after: str = "0"


@dataclass
class Batch:
    id: str
    items: list[Body]
    created: datetime
    looks_left: int
    results: list[Body] = field(default_factory=list)
    ended: bool = False


class FakeAnthropic:
    """Start with `with FakeAnthropic(brain) as server:`; `server.url` is the base URL for the SDK."""

    def __init__(self, brain: Callable[[Body], str]) -> None:
        self.reset(brain)
        self._lock = threading.Lock()
        self._server = Server(self)

    def reset(self, brain: Callable[[Body], str]) -> None:
        """Forget everything, as a new server would."""
        self.brain = brain
        self.faults: list[Fault | None] = []
        self.item_faults: dict[int, list[Fault]] = {}
        self.fault_for: Callable[[Body], Fault | None] = lambda _: None
        self.messages: list[Body] = []
        self.batches: dict[str, Batch] = {}
        self.looks_before_end = 1
        self.lose_next_batch_reply = False
        self.paid_input = 0
        self.paid_output = 0
        self.complaints: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def next_fault(self, body: Body) -> Fault | None:
        with self._lock:
            self.messages.append(body)
            return self.faults.pop(0) if self.faults else self.fault_for(body)

    def message(self, body: Body, fault: Fault | None = None) -> Body:
        text, stop = self.brain(body), "end_turn"
        if fault is not None and fault.kind == "refusal":
            text, stop = "", "refusal"
        elif fault is not None and fault.kind == "cut-off":
            text, stop = text[: len(text) // 2], "max_tokens"
        elif fault is not None and fault.kind == "text":
            text = fault.text
        spent_in, spent_out = len(json.dumps(body)) // 4, max(1, len(text) // 4)
        with self._lock:
            self.paid_input += spent_in
            self.paid_output += spent_out
        thinking = {"type": "thinking", "thinking": "", "signature": "sig"}
        return {
            "id": f"msg_{len(self.messages)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [thinking, {"type": "text", "text": text}],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": spent_in, "output_tokens": spent_out},
        }

    def create_batch(self, items: list[Body]) -> Batch:
        batch = Batch(
            id=f"msgbatch_{len(self.batches) + 1}",
            items=items,
            created=datetime.now(UTC),
            looks_left=self.looks_before_end,
        )
        self.batches[batch.id] = batch
        return batch

    def end(self, batch: Batch) -> None:
        """Work out the results, in reverse order, since their order is not guaranteed."""
        faults = self.item_faults.pop(len(self.batches), [])
        for at, item in enumerate(batch.items):
            fault = faults[at] if at < len(faults) else None
            batch.results.insert(
                0, {"custom_id": item["custom_id"], "result": self._result(item["params"], fault)}
            )
        batch.ended = True

    def _result(self, params: Body, fault: Fault | None) -> Body:
        if fault is not None and fault.kind in ("expired", "canceled"):
            return {"type": fault.kind}
        if fault is not None and fault.kind == "errored":
            error = {"type": fault.text or "api_error", "message": "it did not work"}
            return {"type": "errored", "error": {"type": "error", "error": error, "request_id": None}}
        self.messages.append(params)
        return {"type": "succeeded", "message": self.message(params, fault)}

    def check(self, body: Body) -> str:
        """Why the real API would refuse the body; empty when it would not."""
        unknown = set(body) - KNOWN
        if unknown:
            return f"{min(unknown)}: Extra inputs are not permitted"
        schema = body.get("output_config", {}).get("format", {}).get("schema", {})
        loose = [part for part in _objects(schema) if part.get("additionalProperties") is not False]
        if not schema or loose:
            return "output_config.format.schema: for 'object' type, 'additionalProperties' must be false"
        if body["messages"][-1]["role"] != "user":
            return "This model does not support assistant message prefill"
        return ""


def _objects(schema: Any) -> list[Body]:
    found = [schema] if isinstance(schema, dict) and schema.get("type") == "object" else []
    children = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return found + [part for child in children for part in _objects(child)]


class Server(ThreadingHTTPServer):
    """Knows whose faults and answers it serves."""

    daemon_threads = True

    def __init__(self, fake: FakeAnthropic) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.fake = fake


class Handler(BaseHTTPRequestHandler):
    """One connection; what it says is decided by `FakeAnthropic`."""

    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if not self._allowed():
            return
        if self.path == "/v1/messages":
            self._message(body)
        elif self.path == "/v1/messages/batches":
            self._create(body)
        else:
            self._error(404, "not_found_error", self.path)

    def do_GET(self) -> None:
        if not self._allowed():
            return
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts == ["v1", "messages", "batches"]:
            newest = sorted(self.server.fake.batches.values(), key=lambda batch: batch.created, reverse=True)
            data = [self._state(batch) for batch in newest]
            self._json(200, {"data": data, "has_more": False, "first_id": None, "last_id": None})
            return
        batch = self.server.fake.batches.get(parts[3]) if len(parts) > 3 else None
        if batch is None:
            self._error(404, "not_found_error", "no such batch")
        elif len(parts) == 5 and parts[4] == "results":
            self._results(batch)
        else:
            batch.looks_left -= 1
            if batch.looks_left <= 0 and not batch.ended:
                self.server.fake.end(batch)
            self._json(200, self._state(batch))

    def _allowed(self) -> bool:
        if not (self.headers.get("x-api-key") or self.headers.get("Authorization")):
            self._error(401, "authentication_error", "x-api-key header is required")
        elif not self.headers.get("anthropic-version"):
            self._error(400, "invalid_request_error", "anthropic-version: header is required")
        elif "wrong" in (self.headers.get("x-api-key") or self.headers.get("Authorization") or ""):
            self._error(401, "authentication_error", "invalid x-api-key")
        else:
            return True
        return False

    def _message(self, body: Body) -> None:
        complaint = self.server.fake.check(body)
        if complaint:
            self.server.fake.complaints.append(complaint)
            self._error(400, "invalid_request_error", complaint)
            return
        fault = self.server.fake.next_fault(body)
        if fault is None or fault.kind in ("refusal", "cut-off", "text"):
            self._json(200, self.server.fake.message(body, fault))
        elif fault.kind == "hang":
            time.sleep(float(fault.text or 3))
        elif fault.kind == "drop":
            self.close_connection = True
        elif fault.kind == "not-json":
            self._raw(200, b"<html>gateway</html>", "application/json")
        else:
            names = {
                429: "rate_limit_error",
                529: "overloaded_error",
                500: "api_error",
                404: "not_found_error",
            }
            extra = {"retry-after": fault.retry_after} if fault.kind in (429, 529) else {}
            self._error(int(fault.kind), names.get(int(fault.kind), "api_error"), "later", extra)

    def _create(self, body: Body) -> None:
        for item in body["requests"]:
            complaint = self.server.fake.check(item["params"])
            if complaint or not 1 <= len(item["custom_id"]) <= 64:
                self.server.fake.complaints.append(complaint or "custom_id")
                self._error(400, "invalid_request_error", complaint or "custom_id")
                return
        fault = self.server.fake.faults.pop(0) if self.server.fake.faults else None
        if fault is not None:
            self._error(int(fault.kind), "overloaded_error", "later", {"retry-after": fault.retry_after})
            return
        batch = self.server.fake.create_batch(body["requests"])
        if self.server.fake.lose_next_batch_reply:
            self.close_connection = True
            return
        self._json(200, self._state(batch))

    def _results(self, batch: Batch) -> None:
        if not batch.ended:
            self._error(400, "invalid_request_error", "the batch has not ended")
            return
        lines = b"".join(json.dumps(line).encode() + b"\n" for line in batch.results)
        self._raw(200, lines, "application/x-jsonl")

    def _state(self, batch: Batch) -> Body:
        names = ("succeeded", "errored", "canceled", "expired")
        counts = {name: sum(row["result"]["type"] == name for row in batch.results) for name in names}
        counts["processing"] = 0 if batch.ended else len(batch.items)
        at = batch.created.isoformat().replace("+00:00", "Z")
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if batch.ended else "in_progress",
            "request_counts": counts,
            "created_at": at,
            "expires_at": (batch.created + timedelta(hours=24)).isoformat(),
            "ended_at": at if batch.ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.server.fake.url}/v1/messages/batches/{batch.id}/results"
            if batch.ended
            else None,
        }

    def _error(self, status: int, name: str, text: str, headers: dict[str, str] | None = None) -> None:
        body = {"type": "error", "error": {"type": name, "message": text}, "request_id": "req_1"}
        self._raw(status, json.dumps(body).encode(), "application/json", headers)

    def _json(self, status: int, body: Body) -> None:
        self._raw(status, json.dumps(body).encode(), "application/json")

    def _raw(self, status: int, data: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            return
