"""The child process that lets native libraries read files we do not trust, and the parent's side of it.

A file that makes a library crash, hang or ask for all memory ends this process and nothing else. It gets a clean
environment, so a library that was tricked into running code finds no secret.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.library_process import library_environment
from rageval_action.snapshots.importers.location import StoreLocation, files_of
from rageval_action.snapshots.importers.table import Row, Table

READERS = {
    "chroma": "chroma_folder:read",
    "faiss": "faiss_index:read",
    "hf": "arrow_tables:read_hf",
    "lancedb": "arrow_tables:read_lancedb",
    "parquet": "arrow_tables:read_parquet",
    "sqlite-vec": "sqlite_vec_table:read",
}
"""What the child can read -> `module:function(path, options, sink)` of this package."""

TIMEOUT_S = 3600.0
MEMORY = 16 << 30
"""Address space of the child: libraries reserve far more than they use."""

DATA = 3 << 30
DATA_RATIO = 8
"""Memory that the child may write to: this many bytes, and more by the size of the store. What a file claims to hold
beyond that is not believed."""

OUTPUT = 1 << 28
OUTPUT_RATIO = 200
"""What a store may unpack to: this many bytes, or this many times its own size."""

MAX_TEXT = 64 << 20
DAMAGED = (
    "It is damaged, or was written by a version of the library that is newer than the one installed here."
)


class Sink:
    """Takes rows and vectors in any portions and writes them to a folder, so that memory stays small.

    Attributes:
        metric, lossy: as in `Table`, set by the reader.
        width: dimension of the vectors so far; 0 before the first.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self.metric = ""
        self.lossy = ""
        self._left = most
        self._rows: BinaryIO = (folder / "rows.jsonl").open("wb")
        self._vectors: BinaryIO = (folder / "vectors.bin").open("wb")
        self._folder = folder
        self.width = 0
        self._count = 0
        self._encoder = msgspec.json.Encoder(enc_hook=str)

    def row(self, name: str, text: str = "", metadata: dict[str, Any] | None = None) -> None:
        """Add one row."""
        data = self._encoder.encode({"id": name, "text": text, "metadata": metadata or {}})
        if len(data) > MAX_TEXT:
            raise SnapshotError("snapshot.too-large", f'the row "{name[:80]}" is over {MAX_TEXT} bytes.')
        self._take(len(data))
        self._rows.write(data + b"\n")

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise SnapshotError("snapshot.too-large", "it unpacks to an absurd size.")

    def vectors(self, block: NDArray[np.floating]) -> None:
        """Add the vectors of the rows that follow those already added."""
        if block.ndim != 2:
            raise SnapshotError("snapshot.bad-array", "the vectors are not rows of numbers.")
        if self.width and block.shape[1] != self.width:
            text = f"a vector has {block.shape[1]} dimensions, those before it have {self.width}."
            raise SnapshotError("snapshot.dimension-mismatch", text)
        self._take(4 * block.size)
        self.width = block.shape[1]
        self._count += len(block)
        self._vectors.write(np.ascontiguousarray(block, dtype=np.float32).tobytes())

    def close(self) -> None:
        """Finish the files."""
        self._rows.close()
        self._vectors.close()
        table = {"shape": [self._count, self.width], "metric": self.metric, "lossy": self.lossy}
        (self._folder / "table.json").write_text(json.dumps(table), encoding="utf-8")


def read_store(location: StoreLocation) -> Table:
    """Let a child process read a store whose scheme is in `READERS`; raises as `read_in_child`."""
    return read_in_child(location.scheme, Path(location.where), location.options, location.where)


def read_in_child(kind: str, path: Path, options: dict[str, str], where: str) -> Table:
    """Let a child process read `path`.

    Raises:
        SnapshotError: what `files_of` and the reader refuse; `snapshot.import-crashed`, `snapshot.import-timeout`.
        ConfigError: `config.missing-extra`.
    """
    files_of(path)
    with tempfile.TemporaryDirectory(prefix="rageval-import-") as made:
        folder = Path(made)
        arguments = [sys.executable, "-m", __name__, kind, str(path.resolve()), made, json.dumps(options)]
        try:
            done = subprocess.run(
                arguments,
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
                env=library_environment(made),
                cwd=made,
            )
        except subprocess.TimeoutExpired:
            text = f"reading it took over {TIMEOUT_S:g} s."
            raise SnapshotError("snapshot.import-timeout", text, where=where) from None
        if done.returncode != 0:
            raise _fault(done, kind, where)
        return _table(folder)


def _fault(done: subprocess.CompletedProcess[bytes], kind: str, where: str) -> SnapshotError | ConfigError:
    try:
        refusal = json.loads(done.stdout)
        error = ConfigError if refusal["code"].startswith("config.") else SnapshotError
        return error(refusal["code"], refusal["message"], hint=refusal["hint"], where=where)
    except (ValueError, KeyError, TypeError):
        pass
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    last = f" ({said[-1][:200]})" if said else ""
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
    return SnapshotError(
        "snapshot.import-crashed",
        f"the {kind} library ended with {how} while it read the store{last}.",
        hint=DAMAGED,
        where=where,
    )


def _table(folder: Path) -> Table:
    table = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    rows = msgspec.json.Decoder(Row).decode_lines((folder / "rows.jsonl").read_bytes())
    vectors = np.fromfile(folder / "vectors.bin", dtype=np.float32).reshape(table.pop("shape"))
    return Table(rows=rows, vectors=vectors, **table)


def copied(path: Path) -> Path:
    """In the child: a copy of a store that its library would write to, gone with the process's folder."""
    made = Path(tempfile.mkdtemp())
    for part in files_of(path):
        target = made / part.relative_to(path.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(part, target)
    return made / path.name


def main() -> int:
    """The child: read, write, tell what went wrong as JSON."""
    kind, path, out, options = sys.argv[1:5]
    size = sum(part.stat().st_size for part in files_of(Path(path)))
    _limit(DATA + DATA_RATIO * size)
    module, _, name = READERS[kind].partition(":")
    sink = Sink(Path(out), max(OUTPUT, OUTPUT_RATIO * size))
    try:
        reader = getattr(importlib.import_module(f"{__spec__.parent}.{module}"), name)
        reader(Path(path), json.loads(options), sink)
    except (SnapshotError, ConfigError) as error:
        sys.stdout.write(json.dumps({"code": error.code, "message": error.message, "hint": error.hint}))
        return 3
    except (OSError, ValueError, RuntimeError, MemoryError, LookupError, TypeError, AttributeError) as error:
        text = f"it cannot be read as {kind}: {str(error)[:300] or type(error).__name__}."
        sys.stdout.write(json.dumps({"code": "snapshot.unreadable", "message": text, "hint": DAMAGED}))
        return 3
    sink.close()
    return 0


def _limit(data: int) -> None:
    try:
        import resource
    except ImportError:  # not a Unix
        return
    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_DATA, data)):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main())
