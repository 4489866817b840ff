"""The upload from the container, against a strict fake and against GitHub's and act's own implementations."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from rageval_action.github.api_errors import ApiError
from rageval_action.github.artifact_upload import BLOCK, Uploader, packed, supported
from rageval_action.github.runner import Token
from rageval_action.github.workflow_commands import Log
from rageval_action.http_client import Budget
from tests.fakes.github_results import FakeResults, runtime_token
from tests.fakes.network import FastClock, network
from tests.fakes.npm import npm_package

FILES = {"record.json": b'{"a": 1}', "rankings.jsonl": b"{}\n" * 1000, "corpus.npz": bytes(range(256)) * 40}


@pytest.fixture
def results() -> Iterator[FakeResults]:
    with FakeResults() as fake:
        yield fake
    assert fake.broken == []


def put(
    url: str,
    token: str,
    clock: FastClock,
    name: str = "rageval-default",
    seconds: float = 60.0,
    block: int = BLOCK,
) -> str:
    stream = io.StringIO()
    budget = Budget(seconds, clock.handle())
    Uploader(url, Token(token), budget, network(), Log(stream), block).upload(name, FILES)
    return stream.getvalue()


def test_blocks_list_and_digest(results: FakeResults, clock: FastClock) -> None:
    log = put(results.url, results.token, clock, block=200)
    with zipfile.ZipFile(io.BytesIO(results.artifacts["rageval-default"])) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
    assert results.log[0] == "CreateArtifact"
    assert results.log.count("PUT block") > 1
    assert results.log[-2:] == ["PUT blocklist", "FinalizeArtifact"]
    assert log == "::add-mask::c2VjcmV0\n"


def test_the_archive_depends_on_its_content_alone() -> None:
    assert packed(FILES) == packed(dict(reversed(FILES.items())))


def test_a_name_that_is_taken_is_refused_at_once(results: FakeResults, clock: FastClock) -> None:
    put(results.url, results.token, clock)
    with pytest.raises(ApiError) as error:
        put(results.url, results.token, clock)
    assert error.value.status == 409


@pytest.mark.parametrize(("status", "tries"), [(403, 1), (500, 3), (503, 3)])
def test_refusals(status: int, tries: int, results: FakeResults, clock: FastClock) -> None:
    results.refuse = status
    with pytest.raises(ApiError):
        put(results.url, results.token, clock)
    assert len(results.log) == tries


@pytest.mark.parametrize("token", ["", "a.b.c", "x", runtime_token("Actions.Other:1:2")])
def test_a_token_without_the_scope(token: str, results: FakeResults, clock: FastClock) -> None:
    with pytest.raises(ApiError) as error:
        put(results.url, token, clock)
    assert error.value.failure == "forbidden"
    assert results.log == []


def test_no_server_and_no_time(clock: FastClock) -> None:
    with pytest.raises(ApiError) as error:
        put("http://127.0.0.1:9", runtime_token(), clock)
    assert error.value.failure == "outage"
    with pytest.raises(ApiError) as error:
        put("http://127.0.0.1:9", runtime_token(), clock, seconds=0)
    assert error.value.failure == "limited"


def test_which_servers_have_the_service() -> None:
    assert supported("https://github.com")
    assert supported("https://acme.ghe.com/")
    assert not supported("https://github.acme.example")
    assert not supported("https://github.com.evil.example")
    assert not supported("")


DOWNLOAD = """
const { DefaultArtifactClient } = await import(ENTRY);
const client = new DefaultArtifactClient();
const { artifact } = await client.getArtifact('rageval-default');
const found = await client.downloadArtifact(artifact.id, { path: TARGET, expectedHash: artifact.digest });
console.log(JSON.stringify({ size: artifact.size, mismatch: found.digestMismatch ?? false }));
"""


def test_githubs_own_client_downloads_what_we_upload(
    results: FakeResults, clock: FastClock, tmp_path: Path
) -> None:
    package = npm_package("@actions/artifact")
    put(results.url, results.token, clock)
    entry = json.loads((package / "package.json").read_text())
    main = package / (entry.get("main") or entry["exports"]["."]["import"])
    script = DOWNLOAD.replace("ENTRY", json.dumps(main.as_uri())).replace("TARGET", json.dumps(str(tmp_path)))
    environment = {
        "PATH": os.environ["PATH"],
        "ACTIONS_RUNTIME_TOKEN": results.token,
        "ACTIONS_RESULTS_URL": results.url + "/",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_WORKSPACE": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path),
    }
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["mismatch"] is False
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == FILES


@pytest.fixture
def act_server(tmp_path: Path) -> Iterator[str]:
    """act keeps its artifact server up while a workflow runs: one step that sleeps."""
    act = shutil.which("act") or str(Path(sys.executable).with_name("act"))
    if not Path(act).exists():
        pytest.skip("act is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/w.yml").write_text(
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: sleep 30\n"
    )
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = [
        act,
        "push",
        "-P",
        "ubuntu-latest=-self-hosted",
        "--artifact-server-path",
        str(tmp_path / "store"),
    ]
    command += ["--artifact-server-addr", "127.0.0.1", "--artifact-server-port", str(port)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(100):
        try:
            requests.get(url, timeout=1)
            break
        except requests.ConnectionError:
            time.sleep(0.1)
    yield url
    process.terminate()
    process.wait(20)


def test_acts_server_takes_our_upload_and_gives_it_back(act_server: str, clock: FastClock) -> None:
    token = runtime_token("Actions.Results:1:1")
    put(act_server, token, clock)
    twirp = f"{act_server}/twirp/github.actions.results.api.v1.ArtifactService/"
    ids = {"workflow_run_backend_id": "1", "workflow_job_run_backend_id": "1", "name": "rageval-default"}
    headers = {"Authorization": f"Bearer {token}"}
    signed = requests.post(f"{twirp}GetSignedArtifactURL", json=ids, headers=headers, timeout=10).json()
    data = requests.get(signed.get("signed_url") or signed["signedUrl"], timeout=10).content
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
