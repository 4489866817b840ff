"""Reading hundreds of damaged stores without loading the store's library hundreds of times.

One process a library loads it, and forks for each store: the fork runs what `python -m …reader_process` runs, under the
same limits, environment and folder. What it cannot show is a fault while the library is loaded; other tests start the
real process.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress

from rageval_action.snapshots.importers import reader_process

LOADED: dict[str, tuple[str, ...]] = {
    "chroma": ("chromadb", "chromadb.config"),
    "faiss": ("faiss",),
    "hf": ("pyarrow.ipc", "pyarrow.parquet"),
    "lancedb": (
        "lance_namespace",
        "pandas",
        "pyarrow.dataset",
    ),  # not lancedb: its thread would not be in a fork
    "parquet": ("pyarrow.parquet",),
    "sqlite-vec": ("sqlite_vec", "apsw"),
}
"""Reader -> what is loaded before the fork."""


@functools.cache
def _loaded(kind: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__, *LOADED[kind]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env={**os.environ, "PYTHONPATH": reader_process.library_environment("/")["PYTHONPATH"]},
    )


def run(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: str, **_: object
) -> subprocess.CompletedProcess[bytes]:
    """`subprocess.run` for the child process of `reader_process`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = _loaded(arguments[3])
        asked = {
            "argv": list(arguments[2:]),
            "env": dict(env),
            "cwd": cwd,
            "files": [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, err)],
        }
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        code = int(process.stdout.readline())
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(arguments), code, out.read(), err.read())


def _forked(asked: dict[str, object]) -> int:
    """The end of a fork that did what was asked: its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        for descriptor, path in enumerate(asked["files"], start=1):  # type: ignore[arg-type]
            os.dup2(os.open(path, os.O_WRONLY), descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(str(asked["cwd"]))
        os.environ.clear()
        os.environ.update(asked["env"])  # type: ignore[call-overload]
        tempfile.tempdir = None
        sys.argv = list(asked["argv"])  # type: ignore[call-overload]
        code = reader_process.main()
    except BaseException:  # noqa: BLE001 - what Python itself does at the end of a program
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        print(_forked(json.loads(line)), flush=True)  # noqa: T201 - the answer
