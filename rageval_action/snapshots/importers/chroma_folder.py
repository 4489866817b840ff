"""Reads a Chroma folder inside the child process.

Read by chromadb, from a copy: it writes and migrates when it opens. Ours are the checks that it lacks.

Chromadb before 1.0 unpickles a segment's metadata, so it is refused. A database notes each change of its tables; the
library opens one that notes changes it has never heard of, so they are compared first with those of a new database.
"""

from __future__ import annotations

import re
import sqlite3
import struct
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.library_process import missing_library
from rageval_action.snapshots.importers.reader_process import DAMAGED, Sink, copied
from rageval_action.snapshots.importers.sqlite_file import check_whole

PAGE = 1000

_HEADER = struct.Struct("<iQQQQ")
_HEADER_VERSION = 1


def read(path: Path, options: dict[str, str], sink: Sink) -> None:
    """Write one collection: vectors from the index and from the queue, texts and metadata.

    Raises:
        SnapshotError: `snapshot.not-found`, `snapshot.old-format`, `snapshot.newer-format`, `snapshot.not-sqlite`,
            `snapshot.truncated`, `snapshot.bad-path`, `snapshot.which-collection`, `snapshot.unreadable`.
        ConfigError: `config.missing-extra`, `config.unsafe-library`.
    """
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError:
        raise missing_library("chromadb", "chroma") from None
    if int(chromadb.__version__.split(".")[0]) < 1:
        text = f"chromadb {chromadb.__version__} unpickles what it reads; 1.0 or newer is needed."
        raise ConfigError("config.unsafe-library", text)
    settings = Settings(anonymized_telemetry=False, allow_reset=False)
    _check_files(path)
    path = copied(path)
    with tempfile.TemporaryDirectory() as fresh:
        chromadb.PersistentClient(fresh, settings)
        _check_changes(_changes(path), _changes(Path(fresh)), chromadb.__version__)
    _check_names(path)
    _check_indexes(path)
    try:
        _write(chromadb.PersistentClient(str(path), settings), options, sink)
    except chromadb.errors.ChromaError as error:
        raise SnapshotError("snapshot.unreadable", f"Chroma cannot read it: {error}.", hint=DAMAGED) from None


def _check_files(path: Path) -> None:
    """That a Chroma since 0.4 wrote the folder, and that its database is whole."""
    if (path / "chroma-embeddings.parquet").is_file():
        text = "Chroma before 0.4 wrote this, in files that only it reads."
        hint = "Move it to a newer version with chroma-migrate."
        raise SnapshotError("snapshot.old-format", text, hint=hint)
    if not (path / "chroma.sqlite3").is_file():
        raise SnapshotError("snapshot.not-found", "there is no chroma.sqlite3.")
    check_whole(path / "chroma.sqlite3")


def _changes(folder: Path) -> dict[tuple[str, int], str]:
    """Each change of the tables that a database went through, with the hash of its statements."""
    try:
        with closing(sqlite3.connect(folder / "chroma.sqlite3")) as base:
            found = base.execute("SELECT dir, version, hash FROM migrations LIMIT 1000").fetchall()
    except sqlite3.Error as error:
        raise SnapshotError("snapshot.not-sqlite", f"SQLite cannot read it: {error}.", hint=DAMAGED) from None
    return {(str(part), int(version)): str(digest) for part, version, digest in found}


def _check_changes(
    found: dict[tuple[str, int], str], known: dict[tuple[str, int], str], version: str
) -> None:
    """That the library knows every change, and knows it by the same statements."""
    if unknown := sorted(set(found) - set(known)):
        part, number = unknown[0]
        text = f"chromadb {version} does not know its tables ({part} {number}): a newer version wrote it."
        hint = 'Install a newer one: pip install -U chromadb, or "rag-eval-action[chroma]".'
        raise SnapshotError("snapshot.newer-format", text, hint=hint)
    if any(known[key] != digest for key, digest in found.items()):
        text = "its tables are not those of any Chroma since 0.4.3; Chroma itself does not open it either."
        hint = "Read it with the version that wrote it, and add the rows to a new collection."
        raise SnapshotError("snapshot.old-format", text, hint=hint)


def _check_names(path: Path) -> None:
    """That every segment is named by a UUID: Chroma takes the name for that of a folder, and writes into it."""
    with closing(sqlite3.connect(path / "chroma.sqlite3")) as base:
        names = [str(row[0]) for row in base.execute("SELECT id FROM segments")]
    bad = [name for name in names if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name)]
    if bad:
        raise SnapshotError("snapshot.bad-path", f'a segment is called "{bad[0][:80]}", which is no UUID.')


def _check_indexes(path: Path) -> None:
    """That the files of each index are as long as its header says: the library reads on past the end of a short one.

    The header, as hnswlib's fork in Chroma writes it: version (int32), offset, places, elements, bytes a place (uint64
    each), and more. The other files have an entry for every element, or for every place.
    """
    for header in sorted(path.glob("*/header.bin")):
        data = header.read_bytes()
        if len(data) < _HEADER.size:
            raise _short(header)
        version, _, _, elements, width = _HEADER.unpack_from(data)
        if version != _HEADER_VERSION:
            raise SnapshotError("snapshot.newer-format", f"its index is of version {version}, not 1.")
        needed = {
            "data_level0.bin": elements * width,
            "length.bin": 4 * elements,
            "link_lists.bin": 4 * elements,
        }
        for name, size in needed.items():
            file = header.with_name(name)
            if not file.is_file() or file.stat().st_size < size:
                raise _short(file)


def _short(file: Path) -> SnapshotError:
    text = f"{file.parent.name}/{file.name} is shorter than its index says."
    return SnapshotError("snapshot.truncated", text, hint=DAMAGED)


def _write(client: Any, options: dict[str, str], sink: Sink) -> None:
    collection = _collection(client, options.get("collection", ""))
    sink.metric = _metric(collection)
    total = collection.count()
    for start in range(0, total, PAGE):
        page = collection.get(limit=PAGE, offset=start, include=["embeddings", "documents", "metadatas"])
        texts = page["documents"] or [None] * len(page["ids"])
        metadatas = page["metadatas"] or [None] * len(page["ids"])
        for name, text, metadata in zip(page["ids"], texts, metadatas, strict=True):
            sink.row(name, text or "", dict(metadata or {}))
        sink.vectors(np.asarray(page["embeddings"], dtype=np.float32))


def _collection(client: Any, wanted: str) -> Any:
    names = [entry if isinstance(entry, str) else entry.name for entry in client.list_collections()]
    if not wanted and len(names) == 1:
        wanted = names[0]
    if wanted not in names:
        text = f"it holds the collections {', '.join(sorted(names)) or '(none)'}."
        raise SnapshotError("snapshot.which-collection", text, hint="Name one with ?collection=")
    return client.get_collection(wanted, embedding_function=None)


def _metric(collection: Any) -> str:
    """The space of the collection's index.

    Before 1.0 the collection's metadata decides, whatever a configuration says beside it; since then the latter.
    """
    configuration = collection.configuration_json or {}
    spaces = [(configuration.get(part) or {}).get("space") for part in ("hnsw", "spann")]
    return str(next(filter(None, [(collection.metadata or {}).get("hnsw:space"), *spaces]), "l2"))
