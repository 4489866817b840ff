"""Stores that claim more than they hold, unpack to more than they are, lead elsewhere, or come from the future."""

from __future__ import annotations

import os
import pickle
import resource
import sqlite3
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from rageval_action.errors import RagevalError
from rageval_action.snapshots.interface import open_snapshot
from tests.contracts.test_hostile_stores import parts, store
from tests.small_project import CHILD_PATH
from tests.unit.snapshots.imported_corpus import chunks_file

MUCH = 1 << 40
ADDRESSES = 12 << 30
"""Address space of the whole command: libraries reserve some gigabytes of it and use little."""
PEAK = 1 << 30
ENDLESS = "CREATE VIEW {} AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own."""
    monkeypatch.setenv("RAGEVAL_CACHE", str(tmp_path / "cache"))


def patch(path: Path, at: int, data: bytes) -> None:
    """Other bytes at a place, from the end when it is negative."""
    held = bytearray(path.read_bytes())
    at = at + len(held) if at < 0 else at
    held[at : at + len(data)] = data
    path.write_bytes(held)


def statements(path: Path, *told: str) -> None:
    """Change a database."""
    with closing(sqlite3.connect(path)) as base:
        for each in told:
            base.execute(each)
        base.commit()


def _faiss(at: int, value: int) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        place = store("faiss hnsw", folder).replace("hnsw.faiss", "flat-l2.faiss")
        patch(folder / "flat-l2.faiss", at, struct.pack("<q", value))
        return place

    return write


def _npy(folder: Path) -> str:
    folder.mkdir()
    (folder / "v.npy").write_bytes(_npy_head())
    return f"vectors:{folder}/v.npy?chunks={chunks_file(folder)}"


def _npy_head() -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({MUCH}, 8), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.encode() + bytes(64)


def _npz(folder: Path) -> str:
    folder.mkdir()
    with zipfile.ZipFile(folder / "v.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("v.npy", _npy_head())
    patch(folder / "v.npz", -22 - len(b"v.npy") - 46 + 24, struct.pack("<I", 0xFFFFFFF0))
    return f"vectors:{folder}/v.npz?chunks={chunks_file(folder)}"


def _safetensors(folder: Path) -> str:
    folder.mkdir()
    head = f'{{"v":{{"dtype":"F32","shape":[{MUCH},8],"data_offsets":[0,{MUCH * 32}]}}}}'.encode()
    (folder / "v.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + bytes(64))
    return f"vectors:{folder}/v.safetensors?chunks={chunks_file(folder)}"


def _endless_rows(folder: Path) -> str:
    place = store("sqlite-vec", folder)
    columns = "x AS rowid, x AS id, 1 AS chunk_id, 0 AS chunk_offset"
    statements(folder / "whole.db", "DROP TABLE vec_rowids", ENDLESS.format("vec_rowids", columns))
    return place


def _endless_texts(folder: Path) -> str:
    place = store("sqlite-vec", folder)
    statements(folder / "whole.db", ENDLESS.format("texts", "x AS n, 'text' AS content"))
    return f"{place}?texts=texts&key=n"


def _grown_column(folder: Path) -> str:
    place = store("sqlite-vec", folder)
    statements(
        folder / "whole.db",
        "CREATE TABLE texts(n INTEGER PRIMARY KEY, content TEXT AS (zeroblob(900000000)) VIRTUAL)",
        "INSERT INTO texts(n) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    )
    return f"{place}?texts=texts&key=n"


def _same_text_often(folder: Path) -> str:
    """A few kilobytes of Parquet that hold 300 rows of a megabyte each."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    folder.mkdir()
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), pa.array(["x" * (1 << 20)]))
    rows = {"id": [str(number) for number in range(300)], "text": texts, "vector": [[1.0, 2.0]] * 300}
    parquet.write_table(pa.table(rows), folder / "v.parquet", compression="zstd")
    assert (folder / "v.parquet").stat().st_size < 100_000
    return f"parquet:{folder}/v.parquet"


def _arrow_message(folder: Path) -> str:
    place = store("hf", folder)
    path = next(path for path in parts(place) if path.suffix == ".arrow")
    patch(path, 4, struct.pack("<i", 0x7FFFFFF0))
    return place


def _graph(folder: Path) -> str:
    place = store("chroma", folder)
    for path in folder.rglob("header.bin"):
        patch(path, 12, struct.pack("<QQ", MUCH, MUCH))
    return place


def _lance_columns(folder: Path) -> str:
    place = store("lancedb", folder)
    for path in folder.rglob("*.lance"):
        if path.is_file():
            patch(path, -16, struct.pack("<II", 0xFFFFFFF0, 0xFFFFFFF0))
    return place


def _pickled(data: Callable[[], bytes]) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        place = store("langchain", folder)
        next(folder.rglob("index.pkl")).write_bytes(data())
        return place

    return write


def _laughs() -> bytes:
    """One list inside ten of itself, thirty times over: small here, without end when it is written out."""
    value: object = "ha"
    for _ in range(30):
        value = [value] * 10
    return pickle.dumps(value)[:-1]


def _document(field: bytes) -> bytes:
    """A LangChain pickle with one document, one field of which is the laughs."""
    text = b"X\x01\x00\x00\x00a" if field == b"metadata" else _laughs()[2:]
    held = b"}X\x01\x00\x00\x00m" + _laughs()[2:] + b"s" if field == b"metadata" else b"}"
    state = b"}(X\x0c\x00\x00\x00page_content" + text + b"X\x08\x00\x00\x00metadata" + held + b"u"
    document = b"clangchain.schema\nDocument\n)\x81" + state + b"b"
    store_ = (
        b"clangchain.docstore.in_memory\nInMemoryDocstore\n)\x81}X\x05\x00\x00\x00_dict}X\x01\x00\x00\x00n"
    )
    rows = b"".join(b"K" + bytes([row]) + b"X\x01\x00\x00\x00n" for row in range(8))
    return b"\x80\x04" + store_ + document + b"ssb}(" + rows + b"u\x86."


CLAIMS: dict[str, Callable[[Path], str]] = {
    "faiss rows": _faiss(8, MUCH),
    "faiss numbers": _faiss(37, 1 << 33),
    "npy": _npy,
    "npz": _npz,
    "safetensors": _safetensors,
    "sqlite endless rows": _endless_rows,
    "sqlite endless texts": _endless_texts,
    "sqlite grown column": _grown_column,
    "parquet same text": _same_text_often,
    "arrow message": _arrow_message,
    "chroma graph": _graph,
    "lance columns": _lance_columns,
    "pickle bytes": _pickled(lambda: b"\x80\x05\x96" + struct.pack("<Q", MUCH) + b"x."),
    "pickle text": _pickled(lambda: b"\x80\x04\x8d" + struct.pack("<Q", MUCH) + b"x."),
    "pickle frame": _pickled(lambda: b"\x80\x04\x95" + struct.pack("<Q", MUCH) + b"N."),
    "pickle laughs in metadata": _pickled(lambda: _document(b"metadata")),
    "pickle laughs as text": _pickled(lambda: _document(b"page_content")),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_are_not_believed(name: str, tmp_path: Path) -> None:
    """The command ends with 2 and one message, and no process of it ever held a gigabyte."""
    place = CLAIMS[name](tmp_path / "store")
    command = [
        sys.executable,
        "-m",
        "rageval_action",
        "snapshot",
        "import",
        place,
        "--out",
        str(tmp_path / "out"),
    ]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            command,
            stdout=said,
            stderr=said,
            env={**os.environ, "PYTHONPATH": CHILD_PATH},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES)),  # noqa: PLW1509
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = (tmp_path / "said").read_text(encoding="utf-8", errors="replace")
    assert process.returncode == 2, text
    assert text.startswith("rageval: ")
    assert str(tmp_path / "store") in text
    assert "Traceback" not in text
    assert used.ru_maxrss << 10 < PEAK
    assert not (tmp_path / "out").exists()


def _newer_chroma(folder: Path) -> str:
    place = store("chroma", folder)
    insert = "INSERT INTO migrations SELECT dir, 99, '00099-x.sql', sql, hash FROM migrations LIMIT 1"
    statements(folder / "index" / "chroma.sqlite3", insert)
    return place


def _newer_sqlite_vec(folder: Path) -> str:
    place = store("sqlite-vec", folder)
    statements(folder / "whole.db", "UPDATE vec_info SET value = 2 WHERE key = 'CREATE_VERSION_MINOR'")
    return place


def _unknown_column(folder: Path) -> str:
    place = store("sqlite-vec", folder)
    statements(
        folder / "whole.db",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'float[8]', 'float[8] indexed by something()') WHERE name = 'vec'",
    )
    return place


def _newer_lance(folder: Path) -> str:
    place = store("lancedb", folder)
    for path in folder.rglob("*.lance"):
        if path.is_file():
            patch(path, -8, struct.pack("<HH", 9, 9))
    return place


def _newer_faiss(folder: Path) -> str:
    place = store("faiss hnsw", folder)
    patch(folder / "hnsw.faiss", 0, b"IHZZ")
    return place


def _newer_npy(folder: Path) -> str:
    folder.mkdir()
    np.save(folder / "v.npy", np.ones((6, 8), np.float32))
    patch(folder / "v.npy", 6, b"\x09\x00")
    return f"vectors:{folder}/v.npy?chunks={chunks_file(folder)}"


NEWER = {
    "chroma": (_newer_chroma, "snapshot.newer-format"),
    "sqlite-vec": (_newer_sqlite_vec, "snapshot.newer-format"),
    "sqlite-vec column": (_unknown_column, "snapshot.newer-format"),
    "lancedb": (_newer_lance, "snapshot.unreadable"),
    "faiss": (_newer_faiss, "snapshot.unreadable"),
    "npy": (_newer_npy, "snapshot.bad-array"),
}


@pytest.mark.parametrize("name", NEWER)
def test_a_format_from_the_future_is_refused(name: str, tmp_path: Path) -> None:
    make, code = NEWER[name]
    place = make(tmp_path / "store")
    with pytest.raises(RagevalError) as caught:
        open_snapshot(place)
    assert caught.value.code == code
    assert str(tmp_path) in caught.value.where
    if code != "snapshot.bad-array":
        assert "newer" in caught.value.message + caught.value.hint


def test_a_chroma_segment_is_no_path(tmp_path: Path) -> None:
    place = store("chroma", tmp_path / "store")
    statements(
        tmp_path / "store" / "index" / "chroma.sqlite3",
        "PRAGMA foreign_keys = OFF",
        "UPDATE segments SET id = '../../climbed/' || id WHERE scope = 'VECTOR'",
    )
    with pytest.raises(RagevalError) as caught:
        open_snapshot(place)
    assert caught.value.code == "snapshot.bad-path"


def test_a_lance_manifest_leads_nowhere_else(tmp_path: Path) -> None:
    place = store("lancedb", tmp_path / "store")
    newest = min((tmp_path / "store" / "db" / "docs.lance" / "_versions").iterdir())
    data = tmp_path / "store" / "db" / "docs.lance" / "data"
    for path in list(data.iterdir()):
        climbing = "../../../" + path.name[9:]
        held = newest.read_bytes()
        assert path.name.encode() in held
        newest.write_bytes(held.replace(path.name.encode(), climbing.encode()))
        path.rename(data / climbing)
    with pytest.raises(RagevalError) as caught:
        open_snapshot(place)
    assert caught.value.exit_code == 2


def test_rows_in_a_write_ahead_log_are_rows(tmp_path: Path) -> None:
    """A database that a program still holds open: what it wrote last lies beside the file."""
    place = store("sqlite-vec", tmp_path / "store")
    path = tmp_path / "store" / "whole.db"
    before = path.read_bytes()
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA wal_autocheckpoint = 0")
    base.execute("UPDATE vec_auxiliary SET value00 = 'the latest words' WHERE rowid = 1")
    base.commit()
    made = open_snapshot(place)
    assert "the latest words" in {chunk.text for chunk in made.chunks}
    base.close()
    path.write_bytes(before)
    assert "the latest words" not in {chunk.text for chunk in open_snapshot(place).chunks}
