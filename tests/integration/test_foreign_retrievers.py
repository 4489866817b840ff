"""Retrievers that are not ours, through the command: what they do wrong, what it costs, what they see, how they end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from rageval_action.core.model.types import Chunk
from tests.fakes import rerankers
from tests.fakes.databases import fill_postgres, fill_sqlite_vec, postgres
from tests.fakes.interpreter import FOLDER, interpreter
from tests.fakes.server import FakeService, Handler, Reply, Request
from tests.small_project import (
    CHILD_PATH,
    DOCUMENTS,
    GOLDEN,
    rageval,
    vector,
    write_golden,
    write_index,
)

FEW, MANY = 2, 4
"""Of thirty queries, how many go wrong: less and more than the ten percent that may."""

LIMITS = {"timeout_s": 3.0, "start_timeout_s": 6.0}
HANGS = {"timeout_s": 0.5, "start_timeout_s": 6.0}
"""What hangs is waited for in full."""

GATES = [{"measure": "recall@5", "max_drop": 0.1}]
"""A few failures stay within it; many would not, if their zeros counted."""


def rows(bad: int) -> list[dict[str, object]]:
    """Thirty queries, each with the document that answers it; the last `bad` of them carry the word bad."""
    made: list[dict[str, object]] = []
    for at in range(30):
        name = list(DOCUMENTS)[at % len(DOCUMENTS)]
        text = f"{DOCUMENTS[name]} {at}" + (" bad" if at >= 30 - bad else "")
        made.append({"id": f"q{at}", "query": text, "relevant": [name]})
    return made


@pytest.fixture
def project() -> Iterator[Path]:
    """A folder that another user may read and write, with a snapshot and the programs."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        folder.chmod(0o777)
        write_index(folder / "index", rows=[*rows(0), *rows(FEW), *rows(MANY), *GOLDEN])
        yield folder


def set_up(project: Path, retriever: str, how: str, bad: int) -> tuple[dict[str, object], ExitStack]:
    """The configuration of a retriever that misbehaves at `bad` queries, and what must be open meanwhile."""
    golden = rows(bad)
    (project / "pid").unlink(missing_ok=True)  # the next run's program may have another user id
    write_golden(project / "golden.jsonl", golden)
    answers = {str(row["query"]): [f"{name}#0" for name in row["relevant"]] for row in golden}  # type: ignore[attr-defined]
    (project / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    (project / "behaviour.json").write_text(json.dumps([how, "answers.json"]), encoding="utf-8")
    stack = ExitStack()
    limits = HANGS if how == "hang" else LIMITS
    if retriever == "command":
        program = f"{interpreter()} unreliable.py {how} answers.json pid"
        return {"command": program, **limits}, stack
    if retriever == "python":
        return {"function": "unreliable:search", "python": interpreter(), **limits}, stack
    if retriever == "run-file":
        lines = [_line(how, row, answers) for row in golden]
        (project / "run.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return {"file": "run.jsonl", "format": "jsonl"}, stack
    service = stack.enter_context(FakeService({"POST /search": _serving(how, answers, stack)}))
    return {
        "url": f"{service.url}/search",
        "retries": 0,
        "timeout_s": 1.0 if how == "hang" else limits["timeout_s"],
        "id_path": "",
        "score_path": "",
    }, stack


def _line(how: str, row: Mapping[str, object], answers: Mapping[str, list[str]]) -> str:
    """What a run file says about a query; one that hung or died left half a line."""
    query = str(row["query"])
    ids = answers[query]
    good = json.dumps({"query_id": row["id"], "results": ids})
    if not query.endswith(" bad"):
        return good
    return {
        "hang": good[:20],
        "die": good[:20],
        "garbage": "}{ no JSON",
        "duplicates": json.dumps({"query_id": row["id"], "results": [[ids[0], 0.5], [ids[0], 0.9]]}),
        "unknown": json.dumps({"query_id": row["id"], "results": ["from-elsewhere"]}),
        "nan": f'{{"query_id": "{row["id"]}", "results": [["x", NaN]]}}',
        "long": "x" * 10_000_000,
    }[how]


def _serving(how: str, answers: Mapping[str, list[str]], stack: ExitStack) -> Handler:
    done = threading.Event()
    stack.callback(done.set)

    def search(request: Request, _: object) -> object:
        query = json.loads(request.body)["query"]
        ids = answers[query]
        if not query.endswith(" bad"):
            return {"results": ids}
        if how == "hang":
            assert done.wait(300)
        return {
            "hang": Reply(status=410),
            "die": Reply(status=500),
            "garbage": Reply(body=b"}{ no JSON"),
            "duplicates": {"results": [ids[0], ids[0]]},
            "unknown": {"results": ["from-elsewhere"]},
            "nan": Reply(body=b'{"results": [NaN]}'),
            "long": Reply(body=b"x" * 10_000_000),
        }[how]

    return search


def evaluated(
    project: Path, retriever: str, options: Mapping[str, object], out: str, *more: str, **env: str
) -> subprocess.CompletedProcess[str]:
    (project / "rageval.yml").write_text(
        json.dumps({"retriever": {"name": retriever, **options}, "k": 5, "gates": GATES}), encoding="utf-8"
    )
    words = ("evaluate", "--golden", "golden.jsonl", "--snapshot", "index", "--config", "rageval.yml")
    return rageval(*words, "--out", out, *more, cwd=project, env=env)


SAID = {
    "hang": "no answer within (0.5|1|2) s|no line for this query",
    "die": "ended with 7|answered 500|no line for this query",
    "garbage": "not JSON|Error|no line for this query",
    "unknown": "none of the ids returned is in the snapshot",
    "nan": "not JSON|not a finite number|no line for this query",
    "long": "not JSON|longer than|Error|no line for this query",
}
"""What the queries' errors say, whichever retriever it is."""


@pytest.mark.parametrize("how", sorted(SAID))
@pytest.mark.parametrize("retriever", ["command", "http", "python", "run-file"])
def test_what_goes_wrong_costs_those_queries_and_too_much_of_it_the_verdict(
    project: Path, retriever: str, how: str
) -> None:
    for bad, code, verdict in ((FEW, 0, "pass"), (MANY, 3, "cannot_measure")):
        options, stack = set_up(project, retriever, how, bad)
        with stack:
            good = evaluated(project, "dense", {}, f"base-{bad}")
            assert good.returncode == 0, good.stderr
            done = evaluated(project, retriever, options, f"run-{bad}", "--baseline", f"base-{bad}")
        told = json.loads((project / f"run-{bad}" / "comparison.json").read_text(encoding="utf-8"))
        assert (done.returncode, told["verdict"]) == (code, verdict), done.stderr + done.stdout
        lines = (project / f"run-{bad}" / "rankings.jsonl").read_text(encoding="utf-8").splitlines()
        failed = {row["query_id"]: row["error"] for row in map(json.loads, lines) if row.get("error")}
        assert set(failed) == {f"q{at}" for at in range(30 - bad, 30)}
        assert all(re.search(SAID[how], error) for error in failed.values()), failed
        assert all(row["results"] for row in map(json.loads, lines) if not row.get("error"))
        assert re.search(rf"\b{bad} (of 30 )?quer", done.stdout), "the failures are shown"


@pytest.mark.parametrize("retriever", ["command", "http", "python", "run-file"])
def test_an_id_that_comes_twice_is_told_and_costs_nothing(project: Path, retriever: str) -> None:
    options, stack = set_up(project, retriever, "duplicates", MANY)
    with stack:
        done = evaluated(project, retriever, options, "run", "--json", "-")
    record = json.loads(done.stdout)
    assert (done.returncode, record["errors"]) == (0, 0)
    assert record["measures"]["recall@5"]["mean"] == 1.0
    (told,) = [one["text"] for one in record["warnings"] if one["code"] == "retriever.repeated-ids"]
    assert told.startswith(f"{MANY} results repeat an id")


# What they can see


def _with_secrets(project: Path) -> dict[str, str]:
    """A checkout's token in git's configuration; the job's, in the environment of the command."""
    (project / ".git").mkdir()
    needle = "s3cret-needle"
    (project / ".git" / "config").write_text(f"[http]\n\textraheader = AUTHORIZATION: basic {needle}\n")
    (project / ".git" / "config").chmod(0o644)
    (project / "tmp").mkdir()
    (project / "tmp").chmod(0o777)
    return {"OPENAI_API_KEY": needle, "ACTIONS_RUNTIME_TOKEN": needle, "SOME_PASSWORD": needle}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("retriever", ["command", "python"])
def test_a_hostile_retriever_sees_no_secret(project: Path, retriever: str) -> None:
    write_golden(project / "golden.jsonl", rows(0))
    secrets = _with_secrets(project)
    options = {
        "command": {"command": f"{interpreter()} spy.py vpn-cert#0"},
        "python": {"function": "spy:search", "python": interpreter()},
    }[retriever]
    done = evaluated(project, retriever, options, "run", "--json", "-", **secrets)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["retriever"]["parameters"]["isolation"] == "other-user"
    lines = (project / "run" / "rankings.jsonl").read_text(encoding="utf-8").splitlines()
    found = {hit["id"] for row in map(json.loads, lines) for hit in row["results"]}
    assert found == {"vpn-cert#0"}, "the spy reports as an id whatever it can read"
    assert "s3cret-needle" not in done.stderr + "".join(lines) + json.dumps(record)
    assert (project / ".git" / "config").stat().st_mode & 0o777 == 0o644


def test_a_command_may_be_a_list_of_words(project: Path) -> None:
    options, _ = set_up(project, "command", "die", 0)
    (project / "a folder").mkdir()
    for name in ("unreliable.py", "answers.json"):
        shutil.copy(project / name, project / "a folder" / name)
    words = [*str(options["command"]).split()[:-1], "../pid"]
    done = evaluated(project, "command", {"command": words, "cwd": "a folder"}, "run", "--json", "-")
    record = json.loads(done.stdout)
    assert (done.returncode, record["errors"], record["measures"]["recall@5"]["mean"]) == (0, 0, 1.0)


# Stopped from outside


def _waiting(project: Path, kind: str, stack: ExitStack) -> tuple[dict[str, object], threading.Event | None]:
    """Options of a retriever that hangs for good, and what is set when it was asked, where that can be told."""
    forever: dict[str, object] = {"timeout_s": 3600, "start_timeout_s": 3600}
    if kind in {"command", "python"}:
        made, closing = set_up(project, kind, "hang", 30)
        stack.enter_context(closing)
        return {**made, **forever}, None
    write_golden(project / "golden.jsonl", rows(0))
    chunks = [Chunk(id=f"{name}#0", doc=name, text=text) for name, text in DOCUMENTS.items()]
    vectors = np.stack([vector(chunk.text) for chunk in chunks])
    if kind == "sqlite-vec":
        fill_sqlite_vec(project / "v.db", chunks, vectors)
        endless = (
            "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n) > 0"
        )
        return {"file": "v.db", "table": "vec", "where": endless, **forever}, None
    if kind == "pgvector":
        fill_postgres("waiting", chunks, vectors)
        return {"table": "waiting", "where": "pg_sleep(2) IS NULL", **forever}, None
    asked, done = threading.Event(), threading.Event()
    stack.callback(done.set)

    def never(*_: object) -> object:
        asked.set()
        assert done.wait(300)
        return Reply(status=410)

    service = stack.enter_context(FakeService({"POST .*": never, "GET .*": never}))
    options: dict[str, dict[str, object]] = {
        "chroma": {"collection": "docs", **forever},
        "http": {"timeout_s": 3600},
        "qdrant": {"collection": "docs", "timeout_s": 3600},
        "rerank": {"of": "bm25", "backend": "cohere", "model": "m", "timeout_s": 3600},
    }
    return {"url": service.url, **options[kind]}, asked


def _descendants(pid: int) -> set[int]:
    """The processes that this one started, and theirs."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found |= {child} | _descendants(child)
    return found


def _until(true: Callable[[], object]) -> None:
    """Wait for something that will come; a test that waits in vain fails."""
    for _ in range(3000):
        if true():
            return
        time.sleep(0.02)
    pytest.fail("it never came")


@pytest.fixture
def foreground() -> Iterator[None]:
    """What a process inherits of SIGINT, as if these tests did not run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


KINDS = ["command", "python", "http", "qdrant", "rerank", "chroma", "pgvector", "sqlite-vec"]


@pytest.mark.usefixtures("foreground")
@pytest.mark.parametrize(
    ("command", "kind"),
    [*(("evaluate", kind) for kind in KINDS), ("retrieve", "command"), ("retrieve", "http")],
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_ends_and_leaves_nothing(
    project: Path, kind: str, number: int, code: int, command: str
) -> None:
    token = project / ".git" / "config"
    environment = {**_with_secrets(project), "COHERE_API_KEY": rerankers.KEY}
    with ExitStack() as stack:
        options, asked = _waiting(project, kind, stack)
        if kind == "pgvector":
            environment["DATABASE_URL"] = postgres()
        (project / "rageval.yml").write_text(json.dumps({"retriever": {"name": kind, **options}}))
        words = [command, "--golden", "golden.jsonl", "--snapshot", "index", "--config", "rageval.yml"]
        process = subprocess.Popen(
            [sys.executable, "-m", "rageval_action", *words, "--out", "run"],
            cwd=project,
            env={**os.environ, "PYTHONPATH": CHILD_PATH, "TMPDIR": str(project / "tmp"), **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        stack.callback(process.kill)
        _until(asked.is_set if asked else lambda: _started(process.pid, project, kind))
        left = _descendants(process.pid)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
    assert process.returncode == code, said
    assert said.splitlines()[-1] == ("rageval: stopped." if code == 130 else "rageval: terminated.")
    assert "Traceback" not in said
    assert not (project / "run").exists()
    _until(lambda: not any(_runs(pid) for pid in left))
    assert list((project / "tmp").iterdir()) == [], "no copy and no folder is left"
    assert token.stat().st_mode & 0o777 == 0o644, "what was closed meanwhile is open again"


def _started(pid: int, project: Path, kind: str) -> bool:
    """The program noted that it runs; a store's process is there."""
    if kind in {"command", "python"}:
        return (project / "pid").exists()
    return any(b"store_child" in _words(child) for child in _descendants(pid))


def _runs(pid: int) -> bool:
    """It is there, and not only as an entry that nobody asked about yet."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
