"""The opt-in upload of the record from inside the container, by the artifact service's v4 protocol.

The protocol is not documented; its steps were taken down from GitHub's own client: create, upload blocks to
a signed address, commit the block list, finalise with size and digest. Version 4 without a media type is
what every server in use understands. The documented way is a step with `actions/upload-artifact`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from rageval_action.github.api_errors import ApiError, final, no_reply
from rageval_action.github.runner import Token
from rageval_action.github.workflow_commands import Log
from rageval_action.http_client import Budget, Limits, NoReply, Request, fetch, passing_delay, repeat

if TYPE_CHECKING:
    import requests

T = TypeVar("T")

_SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService/"
BLOCK = 8 << 20
LIMITS = Limits(connect_s=5.0, read_s=60.0, body=1 << 20)
_TRIES = 3
_SCOPE = re.compile(r"Actions\.Results:([0-9A-Za-z-]+):([0-9A-Za-z-]+)")


class _Claims(Struct, frozen=True):
    scp: str = ""


class _Created(Struct, frozen=True):
    """Servers differ in the spelling; both are legal JSON forms of the same message."""

    ok: bool
    signed_upload_url: str = ""
    signedUploadUrl: str = ""  # noqa: N815 - a name on the wire

    @property
    def address(self) -> str:
        return self.signed_upload_url or self.signedUploadUrl


class _Finalized(Struct, frozen=True):
    ok: bool


class Uploader:
    """Uploads to the artifact service of a job.

    Args:
        url: of the service; runners hand it and the token to container actions, not to `run:` steps.
        token: of the running job.
        budget: for all calls.
        session: the network.
        log: gets the signature of the upload address to mask.
    """

    def __init__(
        self, url: str, token: Token, budget: Budget, session: requests.Session, log: Log, block: int = BLOCK
    ) -> None:
        self._service = url.rstrip("/") + _SERVICE
        self._token = token
        self._budget = budget
        self._session = session
        self._log = log
        self._block = block

    def upload(self, name: str, files: Mapping[str, bytes]) -> str:
        """Upload `files`, by their names in the archive, as the artifact `name`, which is unique in the run.

        Returns:
            SHA-256 of the archive, hex.

        Raises:
            ApiError: the server refused or could not be reached.
        """
        run, job = _backend_ids(self._token)
        data = packed(files)
        ids = {"workflow_run_backend_id": run, "workflow_job_run_backend_id": job, "name": name}
        created = self._ask("CreateArtifact", {**ids, "version": 4}, _Created)
        if not created.ok or not created.address:
            raise ApiError("refused", "the artifact service did not open an upload.")
        for signature in re.findall(r"[?&]sig=([^&]+)", created.address):
            self._log.mask(signature)
        self._put_blocks(created.address, data)
        digest = hashlib.sha256(data).hexdigest()
        closing = {**ids, "size": str(len(data)), "hash": f"sha256:{digest}"}
        if not self._ask("FinalizeArtifact", closing, _Finalized).ok:
            raise ApiError("refused", "the artifact service did not accept the upload.")
        return digest

    def _ask(self, method: str, body: Mapping[str, Any], kind: type[T]) -> T:
        headers = {"Authorization": f"Bearer {self._token.reveal()}", "Content-Type": "application/json"}
        url = self._service + method
        request = Request(method="POST", url=url, headers=headers, body=msgspec.json.encode(body))
        try:
            return msgspec.json.decode(self._send(method, request), type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ApiError("malformed", f"{method}: not the expected answer.") from error

    def _put_blocks(self, url: str, data: bytes) -> None:
        """Blocks, then the list that joins them; one plain PUT leaves an empty file on some servers."""
        names = []
        for number, start in enumerate(range(0, len(data), self._block)):
            names.append(base64.b64encode(f"{number:08d}".encode()).decode())
            place = _with(url, urlencode({"comp": "block", "blockid": names[-1]}))
            self._send("PUT block", Request(method="PUT", url=place, body=data[start : start + self._block]))
        listed = "".join(f"<Latest>{name}</Latest>" for name in names)
        body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listed}</BlockList>'.encode()
        headers = {"x-ms-blob-content-type": "application/zip", "Content-Type": "text/plain; charset=UTF-8"}
        place = _with(url, "comp=blocklist")
        self._send("PUT block list", Request(method="PUT", url=place, headers=headers, body=body))

    def _send(self, name: str, request: Request) -> bytes:
        """Send, again where a failure passes. Creating twice under one name is refused by the server, not doubled."""
        outcome, _ = repeat(
            lambda: fetch(self._session, request, LIMITS, self._budget),
            lambda got, done: passing_delay(got, done, self._budget.clock),
            self._budget,
            tries=_TRIES,
        )
        if outcome is None:
            raise ApiError("limited", f"{name}: no time was left for it.")
        if isinstance(outcome, NoReply):
            raise no_reply(name, outcome, LIMITS.body)
        if 200 <= outcome.status < 300:
            return outcome.body
        raise final(name, outcome)


def supported(server_url: str) -> bool:
    """Whether this server has the v4 service: github.com and its data-residency hosts, as GitHub's client decides."""
    host = (urlsplit(server_url).hostname or "").lower()
    return host in ("github.com", "localhost") or host.endswith((".ghe.com", ".localhost"))


def packed(files: Mapping[str, bytes]) -> bytes:
    """`files` as a zip that depends on nothing but them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def _backend_ids(token: Token) -> tuple[str, str]:
    """The run's and job's ids from the token's scope; the server, not we, checks its signature."""
    parts = token.reveal().split(".")
    try:
        claims = msgspec.json.decode(
            base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)), type=_Claims
        )
    except (IndexError, ValueError, msgspec.DecodeError):
        claims = _Claims()
    for scope in claims.scp.split(" "):
        if found := _SCOPE.fullmatch(scope):
            return found[1], found[2]
    raise ApiError("forbidden", "the runtime token names no artifact scope.")


def _with(url: str, query: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{query}"
