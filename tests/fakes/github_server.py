"""The fake GitHub on a socket: transport, pages, limits, redirects, and the faults that a test orders."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.fakes import github_schema
from tests.fakes.github import BOT, READ, WRITE, Call, Page, Raw, Redirect, Refusal, State, TokenKind
from tests.fakes.github_handlers import HANDLERS

FAULTS = (
    "500",
    "502",
    "429",
    "403-secondary",
    "timeout",
    "half-closed",
    "bad-json",
    "truncated",
)

TOKEN = "ghs_full"
READ_TOKEN = "ghs_read"
PERSON_TOKEN = "ghp_person"


class FakeGitHub:
    """Serves `state`; use as a context manager.

    Attributes:
        url: of the API. blob_url: of the other host that downloads are redirected to.
        log: `METHOD path` of every request, in order, downloads included.
        broken: what GitHub would have refused or what we answered wrongly: a test with any of it fails.
        faults: request number (from 0) -> fault from `FAULTS`. `always` orders one for every request that
            matches.
        patience: seconds that a `timeout` fault keeps the client waiting.
    """

    def __init__(self) -> None:
        self.state = State()
        self.state.tokens = {
            TOKEN: TokenKind(BOT, app=True, rights=WRITE),
            READ_TOKEN: TokenKind(BOT, app=True, rights=READ),
            PERSON_TOKEN: TokenKind("robot-person", app=False, rights=WRITE),
        }
        self.log: list[str] = []
        self.broken: list[str] = []
        self.faults: dict[int, str] = {}
        self.always: Callable[[str], str] = lambda _name: ""
        self.patience = 1.0
        self.remaining: int | None = None
        self.lock = threading.Lock()
        github_schema.warm_up()
        self._api = _server(self, _ApiHandler)
        self._blob = _server(self, _BlobHandler)
        self.url = f"http://127.0.0.1:{self._api.server_address[1]}"
        self.blob_url = f"http://localhost:{self._blob.server_address[1]}"

    def __enter__(self) -> Self:
        for server in (self._api, self._blob):
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self._api, self._blob):
            server.shutdown()
            server.server_close()

    def enter(self, name: str) -> str:
        """Note a request and say which fault it gets."""
        with self.lock:
            number = len(self.log)
            self.log.append(name)
            return self.faults.get(number, "") or self.always(name)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    fake: FakeGitHub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else is a fault of the fake."""
        if not isinstance(sys.exc_info()[1], OSError):
            self.fake.broken.append(traceback.format_exc())


def _server(fake: FakeGitHub, handler: type[BaseHTTPRequestHandler]) -> _Server:
    server = _Server(("127.0.0.1", 0), handler)
    server.fake = fake
    return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def fake(self) -> FakeGitHub:
        server = self.server
        assert isinstance(server, _Server)
        return server.fake

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """The fake keeps its own log."""

    def reply(
        self, status: int, data: bytes, content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def break_off(self, data: bytes) -> None:
        """Promise `data`, send half of it, hang up."""
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(max(len(data), 2)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        self.close_connection = True

    def fail(self, fault: str) -> bool:
        """Act out `fault` before the request is carried out; True when that was all."""
        message = {"message": "simulated"}
        if fault in ("500", "502"):
            self.reply(int(fault), b"<html>oops</html>", "text/html")
        elif fault == "429":
            self.reply(429, json.dumps(message).encode(), "application/json", {"Retry-After": "1"})
        elif fault == "403-secondary":
            said = json.dumps({"message": "You have exceeded a secondary rate limit."}).encode()
            self.reply(403, said, "application/json", {"Retry-After": "1"})
        elif fault == "timeout":
            time.sleep(self.fake.patience)
            self.close_connection = True
        elif fault == "half-closed":
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_WR)
            self.close_connection = True
        elif fault == "bad-json":
            self.reply(200, b'{"unfinished": ', "application/json")
        elif fault == "truncated":
            self.break_off(b'{"total_count": 1}')
        else:
            return False
        return True


class _ApiHandler(_Handler):
    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        parts = urlsplit(self.path)
        name = f"{self.command} {parts.path}"
        fault = self.fake.enter(name)
        if fault and self.fail(fault):
            return
        query = dict(parse_qsl(parts.query))
        with self.fake.lock:
            status, data, content_type, headers = self.carry_out(parts.path, query, body)
        found = github_schema.problems(self.command, parts.path, query, body, status, data, content_type)
        self.fake.broken += [problem for problem in found if status not in (401, 404, 405)]
        if status == 404 and not self.known(parts.path):
            self.fake.broken.append(f"unknown endpoint: {name}")
        self.reply(status, data, content_type, headers)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815 - http.server looks for them

    def known(self, path: str) -> bool:
        return any(method == self.command and pattern.fullmatch(path) for method, pattern, _ in HANDLERS)

    def carry_out(
        self, path: str, query: dict[str, str], body: bytes
    ) -> tuple[int, bytes, str, dict[str, str]]:
        limits = self.limits()
        try:
            status, value = self.dispatch(path, query, body)
        except Refusal as refusal:
            said = {"message": refusal.message, "documentation_url": "https://docs.github.com/rest"}
            return refusal.status, json.dumps(said).encode(), "application/json; charset=utf-8", limits
        if isinstance(value, Redirect):
            return status, b"", "text/html", {**limits, "Location": self.fake.blob_url + value.path}
        if isinstance(value, Raw):
            return status, value.data, "application/vnd.github.raw+json", limits
        if isinstance(value, Page):
            value, links = self.page(value, path, query)
            limits |= links
        data = b"" if value is None else json.dumps(value).encode()
        return status, data, "application/json; charset=utf-8", limits

    def dispatch(self, path: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:
        call = Call(
            method=self.command,
            path=path,
            query=query,
            body=json.loads(body) if body else {},
            token=self.token(),
            raw="raw" in self.headers.get("Accept", ""),
            base=self.fake.url,
        )
        for name in ("X-GitHub-Api-Version", "User-Agent"):
            if not self.headers.get(name):
                self.fake.broken.append(f"{self.command} {path}: no {name}")
        if self.fake.remaining is not None:
            if self.fake.remaining <= 0:
                raise Refusal(403, "API rate limit exceeded for installation.")
            self.fake.remaining -= 1
        for method, pattern, handler in HANDLERS:
            found = pattern.fullmatch(path)
            if found and method == self.command:
                return handler(self.fake.state, call, found)
        raise Refusal(404, "Not Found")

    def token(self) -> TokenKind:
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() not in ("bearer", "token") or value not in self.fake.state.tokens:
            raise Refusal(401, "Bad credentials")
        return self.fake.state.tokens[value]

    def limits(self) -> dict[str, str]:
        left = 4000 if self.fake.remaining is None else self.fake.remaining
        return {"X-RateLimit-Remaining": str(max(left, 0)), "X-RateLimit-Reset": str(int(time.time()) + 2)}

    def page(self, page: Page, path: str, query: dict[str, str]) -> tuple[Any, dict[str, str]]:
        size = min(int(query.get("per_page", "30")), 100)
        number = int(query.get("page", "1"))
        items = page.items[: page.total_cap]
        part = items[(number - 1) * size : number * size]
        headers = {}
        if number * size < len(items):
            following = urlencode({**query, "page": number + 1})
            headers["Link"] = f'<{self.fake.url}{path}?{following}>; rel="next"'
        if page.key:
            return {"total_count": len(page.items), page.key: part}, headers
        return part, headers


class _BlobHandler(_Handler):
    """The storage host: signed addresses, no tokens."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        fault = self.fake.enter(f"BLOB {parts.path}")
        if self.headers.get("Authorization"):
            self.fake.broken.append("the token was sent to the storage host")
            self.reply(403, b"", "text/plain")
            return
        if fault == "bad-json":
            self.reply(200, b"this is no zip", "application/zip")
            return
        artifact = self.fake.state.artifacts.get(int(parts.path.rsplit("/", 1)[1]))
        if fault == "truncated" and artifact:
            self.break_off(artifact.data)
            return
        if fault and self.fail(fault):
            return
        if artifact is None or "sig=" not in parts.query:
            self.reply(404, b"", "text/plain")
            return
        self.reply(200, artifact.data, "application/zip")
