"""The review page's server: loopback only, behind a token, nothing from anywhere else."""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from rageval_action.errors import RagevalError
from rageval_action.golden.review.session import Change

if TYPE_CHECKING:
    from rageval_action.golden.review.session import Session

HOST = "127.0.0.1"
MAX_BODY = 1 << 20
COOKIE = "rageval-review"

_FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


class ReviewServer(ThreadingHTTPServer):
    """Serves one session. `url` holds the token; whoever opens it gets it as a cookie and an address without it.

    Args:
        session: the file under review.
        port: 0 = any free one.
        token: made up when empty.
    """

    daemon_threads = True

    def __init__(self, session: Session, port: int = 0, token: str = "") -> None:
        super().__init__((HOST, port), _Handler)
        self.session = session
        self.token = token or secrets.token_urlsafe(24)

    @property
    def url(self) -> str:
        """Where to open the page."""
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    def names(self) -> set[str]:
        """Values of the Host header that are ours: another one is a page that made a name point here."""
        return {f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"}


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """The terminal belongs to the person reviewing."""

    def do_GET(self) -> None:
        """The page, its files, the list of rows and one row."""
        address = urlsplit(self.path)
        if not self._is_ours():
            return
        if address.path == "/" and "token" in parse_qs(address.query):
            self._enter(parse_qs(address.query)["token"][0])
        elif not self._has_token():
            self._refuse(HTTPStatus.FORBIDDEN, "open the address that rageval printed: it holds the token.")
        elif address.path in _FILES:
            name, kind = _FILES[address.path]
            self._send(HTTPStatus.OK, (resources.files(__package__) / name).read_bytes(), kind)
        elif address.path == "/api/rows":
            session = self.server.session
            self._json({"file": session.path.name, "counts": session.counts(), "rows": session.rows()})
        elif address.path.startswith("/api/rows/"):
            self._try(lambda: self.server.session.detail(_name(address.path)))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here.")

    def do_POST(self) -> None:
        """Decide on a row, or put it back."""
        address = urlsplit(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        if not self._is_ours():
            return
        origin = self.headers.get("Origin", "")
        if not self._has_token() or (origin and urlsplit(origin).netloc not in self.server.names()):
            self._refuse(HTTPStatus.FORBIDDEN, "this does not come from the review page.")
            return
        if not 0 < size <= MAX_BODY or "json" not in self.headers.get("Content-Type", ""):
            self._refuse(HTTPStatus.BAD_REQUEST, "a decision is a small JSON object.")
            return
        body = self.rfile.read(size)
        session, name = self.server.session, _name(address.path)
        if address.path.startswith("/api/rows/"):
            self._try(lambda: session.decide(name, msgspec.json.decode(body, type=Change)))
        elif address.path.startswith("/api/undo/"):
            self._try(lambda: session.undo(name))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here.")

    def _try(self, make: object) -> None:
        """Send what `make` gives, with the counts; an error of the user's as one the page shows."""
        try:
            row = make()  # type: ignore[operator]
        except RagevalError as error:
            missing = error.code == "review.no-such-row"
            self._refuse(
                HTTPStatus.NOT_FOUND if missing else HTTPStatus.CONFLICT,
                f"{error.message} {error.hint}".strip(),
            )
        except msgspec.MsgspecError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        else:
            self._json({"row": row, "counts": self.server.session.counts()})

    def _enter(self, token: str) -> None:
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN, "this is not the token of this review.")
            return
        self.send_response(HTTPStatus.SEE_OTHER)
        cookie = f"{COOKIE}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
        self.send_header("Set-Cookie", cookie)
        self.send_header("Location", "/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _is_ours(self) -> bool:
        if self.headers.get("Host", "") in self.server.names():
            return True
        self._refuse(HTTPStatus.FORBIDDEN, "this name does not belong to the review page.")
        return False

    def _has_token(self) -> bool:
        given = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        return given is not None and hmac.compare_digest(given.value.encode(), self.server.token.encode())

    def _json(self, value: object) -> None:
        self._send(HTTPStatus.OK, msgspec.json.encode(value), "application/json")

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._send(status, msgspec.json.encode({"error": text}), "application/json")

    def _send(self, status: HTTPStatus, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(data)


def _name(path: str) -> str:
    """The row's id: everything after `/api/…/`."""
    return unquote(path.split("/", 3)[3]) if path.count("/") >= 3 else ""
