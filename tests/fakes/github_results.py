"""A fake of the artifact service (v4): strict about the order of steps, the fields, the sizes and the digest."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

RUN, JOB = "run-backend-1", "job-backend-2"
TWIRP = "/twirp/github.actions.results.api.v1.ArtifactService/"


def runtime_token(scope: str = f"Actions.Results:{RUN}:{JOB}") -> str:
    claims = (
        base64.urlsafe_b64encode(json.dumps({"scp": f"Actions.Read {scope}"}).encode()).rstrip(b"=").decode()
    )
    return f"eyJhbGciOiJub25lIn0.{claims}.c2lnbmF0dXJl"


class FakeResults:
    """Serves uploads and downloads of one job's artifacts.

    Attributes:
        artifacts: name -> finished archive. broken: what the real service would not have taken.
        refuse: status that CreateArtifact answers with, 0 = accept.
    """

    def __init__(self) -> None:
        self.artifacts: dict[str, bytes] = {}
        self.digests: dict[str, str] = {}
        self.open: dict[str, dict[str, bytes]] = {}
        self.written: dict[str, bytes] = {}
        self.broken: list[str] = []
        self.log: list[str] = []
        self.refuse = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.fake = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.token = runtime_token()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def fake(self) -> FakeResults:
        fake: FakeResults = self.server.fake  # type: ignore[attr-defined]
        return fake

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Quiet."""

    def reply(self, status: int, value: Any = None, data: bytes = b"") -> None:
        body = data or (b"" if value is None else json.dumps(value).encode())
        self.send_response(status)
        self.send_header("Content-Type", "application/zip" if data else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = self.path.removeprefix(TWIRP)
        self.fake.log.append(method)
        if self.headers.get("Authorization") != f"Bearer {self.fake.token}":
            self.reply(401, {"msg": "bad token"})
            return
        if (body.get("workflow_run_backend_id"), body.get("workflow_job_run_backend_id")) != (RUN, JOB):
            self.fake.broken.append(f"{method}: wrong backend ids")
        status, answer = getattr(self, f"on_{method}")(body)
        self.reply(status, answer)

    def on_CreateArtifact(self, body: dict[str, Any]) -> tuple[int, Any]:  # noqa: N802
        if self.fake.refuse:
            return self.fake.refuse, {"code": "unavailable", "msg": "no"}
        if re.search(r'["<>|*?\r\n\\/:]', body["name"]) or body["version"] not in (4, 7):
            self.fake.broken.append(f"CreateArtifact: {body}")
        if body["name"] in self.fake.artifacts or body["name"] in self.fake.open:
            return 409, {"code": "already_exists", "msg": "an artifact with this name already exists"}
        self.fake.open[body["name"]] = {}
        return 200, {
            "ok": True,
            "signed_upload_url": f"{self.fake.url}/blob/{body['name']}?se=2026&sig=c2VjcmV0",
        }

    def on_FinalizeArtifact(self, body: dict[str, Any]) -> tuple[int, Any]:  # noqa: N802
        data = self.fake.written.get(body["name"], b"")
        digest = body["hash"]["value"] if isinstance(body["hash"], dict) else body["hash"]
        if str(len(data)) != body["size"] or digest != "sha256:" + hashlib.sha256(data).hexdigest():
            self.fake.broken.append("FinalizeArtifact: size or digest does not fit what was written")
        self.fake.artifacts[body["name"]] = data
        self.fake.digests[body["name"]] = digest
        return 200, {"ok": True, "artifact_id": str(1 + list(self.fake.artifacts).index(body["name"]))}

    def on_ListArtifacts(self, body: dict[str, Any]) -> tuple[int, Any]:  # noqa: N802
        wanted = body.get("name_filter")
        wanted = wanted.get("value") if isinstance(wanted, dict) else wanted
        return 200, {
            "artifacts": [
                {
                    "workflow_run_backend_id": RUN,
                    "workflow_job_run_backend_id": JOB,
                    "database_id": str(number),
                    "name": name,
                    "size": str(len(data)),
                    "created_at": "2026-11-01T10:00:00Z",
                    "digest": self.fake.digests[name],
                }
                for number, (name, data) in enumerate(self.fake.artifacts.items(), start=1)
                if wanted in (None, name)
            ]
        }

    def on_GetSignedArtifactURL(self, body: dict[str, Any]) -> tuple[int, Any]:  # noqa: N802
        return 200, {"signed_url": f"{self.fake.url}/blob/{body['name']}?sig=c2VjcmV0"}

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        name = parts.path.removeprefix("/blob/")
        self.fake.log.append(f"PUT {query.get('comp', 'whole')}")
        if self.headers.get("Authorization") or "sig" not in query:
            self.fake.broken.append("PUT: the signed address is the only credential here")
        if query.get("comp") == "block":
            self.fake.open[name][query["blockid"]] = data
        elif query.get("comp") == "blocklist":
            wanted = re.findall(r"<Latest>([^<]+)</Latest>", data.decode())
            if len({len(block) for block in wanted}) > 1:
                self.fake.broken.append("PUT: block ids of different lengths")
            self.fake.written[name] = b"".join(self.fake.open[name][block] for block in wanted)
        else:
            self.fake.written[name] = b""  # what a plain PUT has been seen to leave
        self.reply(201)

    def do_GET(self) -> None:
        name = urlsplit(self.path).path.removeprefix("/blob/")
        if name in self.fake.artifacts:
            self.reply(200, data=self.fake.artifacts[name])
        else:
            self.reply(404)
