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
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
import requests
from msgspec import Struct

from rageval_action.github.api import Budget
from rageval_action.github.context import Token
from rageval_action.github.failures import ApiError, final
from rageval_action.github.workflow import Log

T = TypeVar("T")

_SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService/"
_BLOCK = 8 << 20
_TRIES = 3
_RETRIED = (429, 500, 502, 503, 504)
_ANSWER_BYTES = 1 << 20
_SCOPE = re.compile(r"Actions\.Results:([0-9A-Za-z-]+):([0-9A-Za-z-]+)")


class Service(Struct, frozen=True, kw_only=True):
    """Where a job may put artifacts. Runners hand both to container actions, not to `run:` steps."""

    url: str
    token: Token


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


def upload(service: Service, name: str, files: Mapping[str, bytes], budget: Budget, log: Log) -> str:
    """Upload `files` as the artifact `name`.

    Args:
        service: of this job.
        name: unique in the run.
        files: by their names inside the archive.
        budget: seconds for all of it.
        log: gets the signature of the upload address to mask.

    Returns:
        SHA-256 of the archive, hex.

    Raises:
        ApiError: the server refused or could not be reached.
    """
    run, job = _backend_ids(service.token)
    data = packed(files)
    ids = {"workflow_run_backend_id": run, "workflow_job_run_backend_id": job, "name": name}
    created = _twirp(service, "CreateArtifact", {**ids, "version": 4}, _Created, budget)
    if not created.ok or not created.address:
        raise ApiError("refused", "the artifact service did not open an upload.")
    for signature in re.findall(r"[?&]sig=([^&]+)", created.address):
        log.mask(signature)
    _put_blocks(created.address, data, budget)
    digest = hashlib.sha256(data).hexdigest()
    closing = {**ids, "size": str(len(data)), "hash": f"sha256:{digest}"}
    if not _twirp(service, "FinalizeArtifact", closing, _Finalized, budget).ok:
        raise ApiError("refused", "the artifact service did not accept the upload.")
    return digest


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


def _twirp(service: Service, method: str, body: Mapping[str, Any], kind: type[T], budget: Budget) -> T:
    url = service.url.rstrip("/") + _SERVICE + method
    headers = {"Authorization": f"Bearer {service.token.reveal()}"}
    data = _send("POST", url, budget, json=dict(body), headers=headers)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError("malformed", f"{method}: not the expected answer.") from error


def _put_blocks(url: str, data: bytes, budget: Budget) -> None:
    """Blocks, then the list that joins them; one plain PUT leaves an empty file on some servers."""
    names = []
    for number, start in enumerate(range(0, len(data), _BLOCK)):
        names.append(base64.b64encode(f"{number:08d}".encode()).decode())
        query = urlencode({"comp": "block", "blockid": names[-1]})
        _send("PUT", _with(url, query), budget, data=data[start : start + _BLOCK])
    listed = "".join(f"<Latest>{name}</Latest>" for name in names)
    body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listed}</BlockList>'.encode()
    headers = {"x-ms-blob-content-type": "application/zip", "Content-Type": "text/plain; charset=UTF-8"}
    _send("PUT", _with(url, "comp=blocklist"), budget, data=body, headers=headers)


def _with(url: str, query: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{query}"


def _send(method: str, url: str, budget: Budget, **content: Any) -> bytes:
    """One request, repeated on what passes. Creating twice under one name is refused by the server, not doubled."""
    name = f"{method} {urlsplit(url).path.rsplit('/', 1)[-1] if method == 'POST' else 'block'}"
    last = ApiError("limited", f"{name}: no time was left for it.")
    for attempt in range(_TRIES):
        left = budget.left()
        if left <= 0:
            break
        timeout = (min(5.0, left), min(60.0, left))
        try:
            with requests.request(
                method, url, timeout=timeout, allow_redirects=False, stream=True, auth=_as_it_is, **content
            ) as answer:
                data = answer.raw.read(_ANSWER_BYTES, decode_content=True)
                status = answer.status_code
        except (requests.RequestException, OSError) as error:
            last = ApiError("outage", f"{name}: {type(error).__name__}.")
        else:
            if 200 <= status < 300:
                return bytes(data)
            if status not in _RETRIED:
                raise final(name, status, "")
            last = ApiError("outage", f"{name}: HTTP {status}.", status=status)
        if attempt + 1 == _TRIES or not budget.wait(float(2**attempt)):
            break
    raise last


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """As an `auth` it keeps a ~/.netrc from adding credentials."""
    return request
