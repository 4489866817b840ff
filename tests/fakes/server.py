"""A small HTTP server for tests: routes, recorded requests, and bodies checked against the documented fields."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeVar

import msgspec

Shape = TypeVar("Shape")


class RefusedError(Exception):
    """The request is not one that the vendor documents."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Request(msgspec.Struct, kw_only=True):
    """What arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def read(self, shape: type[Shape]) -> Shape:
        """The body as `shape`; anything that the shape does not know is refused."""
        try:
            return msgspec.json.decode(self.body, type=shape)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise RefusedError(400, str(error)) from error

    def bearer(self, key: str) -> None:
        """Refuse a request without this key."""
        if self.headers.get("authorization") != f"Bearer {key}":
            raise RefusedError(401, "invalid api key")


class Reply(msgspec.Struct, kw_only=True):
    """An answer that is more than JSON with status 200."""

    status: int = 200
    headers: dict[str, str] = {}
    body: bytes = b"{}"


Handler = Callable[[Request, "re.Match[str]"], object]


class FakeService:
    """Serves `routes` ("METHOD /path-pattern" -> handler) on a loopback port while the context is open."""

    def __init__(self, routes: Mapping[str, Handler]) -> None:
        self.routes = {
            (key.split(" ")[0], re.compile(key.split(" ")[1])): handler for key, handler in routes.items()
        }
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._open = 0
        self._lock = threading.Lock()
        service = self

        class Inner(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                service.answer(self)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - http.server names them

            def log_message(self, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Inner)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, raw: Any) -> None:
        """Find the route, run its handler, send what it says."""
        with self._lock:
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
        try:
            length = int(raw.headers.get("Content-Length", 0))
            request = Request(
                method=raw.command,
                path=raw.path,
                headers={name.lower(): value for name, value in raw.headers.items()},
                body=raw.rfile.read(length),
            )
            self.requests.append(request)
            reply = self._reply(request)
        finally:
            with self._lock:
                self._open -= 1
        try:
            raw.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
                raw.send_header(name, value)
            raw.end_headers()
            raw.wfile.write(reply.body)
        except OSError:
            pass  # the client gave up, which some tests want

    def _reply(self, request: Request) -> Reply:
        for (method, pattern), handler in self.routes.items():
            match = pattern.fullmatch(request.path)
            if match and method == request.method:
                try:
                    made = handler(request, match)
                except RefusedError as refused:
                    return Reply(status=refused.status, body=msgspec.json.encode({"error": str(refused)}))
                return made if isinstance(made, Reply) else Reply(body=msgspec.json.encode(made))
        return Reply(status=404, body=b'{"error": "no such path"}')
