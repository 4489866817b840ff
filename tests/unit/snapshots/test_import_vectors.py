from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.snapshots.importers.stores import import_store
from rageval_action.snapshots.interface import open_snapshot
from rageval_action.snapshots.read import read_snapshot
from tests.unit.snapshots.imported_corpus import DOCS, IDS, TEXTS, chunks_file, codes, opened, same, vectors


def refused(location: str) -> SnapshotError:
    with pytest.raises(SnapshotError) as caught:
        open_snapshot(location)
    return caught.value


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_npy(tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "v.npy", vectors().astype(dtype))
    made = opened(f"vectors:{tmp_path}/v.npy?chunks={chunks_file(tmp_path)}")
    same(made, vectors(), atol=1e-3)
    assert made.manifest.metric == "cosine"
    assert made.path == f"vectors:{tmp_path}/v.npy"


def test_npz_and_which_array(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "v.npz", a=vectors(), other=np.zeros((2, 2), np.float32))
    chunks = chunks_file(tmp_path)
    same(opened(f"vectors:{tmp_path}/v.npz?chunks={chunks}&array=a"), vectors())
    assert "a, other" in refused(f"vectors:{tmp_path}/v.npz?chunks={chunks}").message


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_safetensors_by_its_own_library(tmp_path: Path, dtype: str) -> None:
    library = pytest.importorskip("safetensors.numpy")
    library.save_file({"v": vectors().astype(dtype)}, tmp_path / "v.safetensors", {"model": "m"})
    same(opened(f"vectors:{tmp_path}/v.safetensors?chunks={chunks_file(tmp_path)}"), vectors(), atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float", "double", "fixed", "half"])
def test_parquet_by_its_own_library(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    types = {
        "float": pa.list_(pa.float32()), "double": pa.list_(pa.float64()), "fixed": pa.list_(pa.float32(), 8),
        "half": pa.list_(pa.float16()),
    }  # fmt: skip
    numbers = vectors().astype(np.float16) if kind == "half" else vectors()
    table = pa.table(
        {
            "chunk_id": IDS, "source": DOCS, "content": TEXTS,
            "embedding": pa.array([list(row) for row in numbers], type=types[kind]),
        }
    )  # fmt: skip
    parquet.write_table(table, tmp_path / "v.parquet", row_group_size=4)
    made = opened(f"parquet:{tmp_path}/v.parquet")
    same(made, vectors(), atol=1e-3)
    assert "snapshot.document-field" in codes(made)
    named = opened(
        f"parquet:{tmp_path}/v.parquet?id=chunk_id&text=content&vector=embedding&doc=source&metric=ip"
    )
    same(named, vectors(), atol=1e-3)
    assert named.manifest.metric == "ip"


def test_norms_are_measured_and_said(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", vectors(unit=False))
    made = opened(f"vectors:{tmp_path}/v.npy?chunks={chunks_file(tmp_path)}&metric=l2")
    assert made.manifest.metric == "l2"
    assert not made.manifest.normalised
    said = next(notice.text for notice in made.notices if notice.code == "snapshot.metric")
    assert "l2 ranks otherwise than the other metrics would" in said


def test_access_fields_are_read_and_never_guessed_open(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "x", "who": {"tenant": "t", "principals": ["p"]}},
        {"id": "b", "text": "y", "who": '{"groups": ["g"]}'},
        {"id": "c", "text": "z", "who": None},
    ]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    np.save(tmp_path / "v.npy", vectors(count=3))
    made = open_snapshot(f"vectors:{tmp_path}/v.npy?chunks={tmp_path}/c.jsonl&acl=who")
    assert made.chunks[0].acl is not None
    assert made.chunks[0].acl.principals == ("p",)
    assert made.chunks[1].acl is not None
    assert made.chunks[1].acl.groups == ("g",)
    assert made.chunks[2].acl is None
    rows[0]["who"] = {"user": "p"}
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert refused(f"vectors:{tmp_path}/v.npy?chunks={tmp_path}/c.jsonl&acl=who").code == "snapshot.bad-chunk"


def test_an_import_makes_a_folder_that_stands_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", vectors())
    manifest, notices = import_store(
        f"vectors:{tmp_path}/v.npy?chunks={chunks_file(tmp_path)}", tmp_path / "out"
    )
    assert manifest.chunks == 6
    assert {notice.code for notice in notices} >= {"snapshot.metric", "snapshot.document-field"}
    same(read_snapshot(tmp_path / "out"), vectors())


def test_a_changed_store_is_imported_anew(tmp_path: Path, cache: Path) -> None:
    chunks = chunks_file(tmp_path)
    np.save(tmp_path / "v.npy", vectors())
    first = open_snapshot(f"vectors:{tmp_path}/v.npy?chunks={chunks}")
    np.save(tmp_path / "v.npy", vectors(unit=False))
    second = open_snapshot(f"vectors:{tmp_path}/v.npy?chunks={chunks}")
    assert first.manifest.fingerprint != second.manifest.fingerprint
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 2


def _bomb(path: Path) -> None:
    header = (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", 118)
        + (b"{'descr': '<f4', 'fortran_order': False, 'shape': (100000000, 8), }".ljust(117) + b"\n")
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", header + b"\0" * 50_000_000)


HOSTILE = {
    "object.npy": lambda p: np.save(p, np.array([{"x": 1}], dtype=object), allow_pickle=True),
    "text.npy": lambda p: p.write_text("not an array"),
    "empty.npy": lambda p: p.write_bytes(b""),
    "lfs.npy": lambda p: p.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
    "whole.npy": lambda p: np.save(p, np.zeros((6, 8), dtype=np.int64)),
    "flat.npy": lambda p: np.save(p, np.zeros(48, dtype=np.float32)),
    "nan.npy": lambda p: np.save(p, np.full((6, 8), np.nan, dtype=np.float32)),
    "short.npy": lambda p: np.save(p, vectors(count=5)),
    "bomb.npz": _bomb,
    "object.npz": lambda p: np.savez(p, a=np.array([{"x": 1}], dtype=object)),
    "broken.npz": lambda p: p.write_bytes(b"PK\x03\x04" + b"\0" * 100),
    "huge.safetensors": lambda p: p.write_bytes(struct.pack("<Q", 1 << 60) + b"{}"),
    "lying.safetensors": lambda p: p.write_bytes(
        struct.pack("<Q", 70) + b'{"v":{"dtype":"F32","shape":[9999999,99999],"data_offsets":[0,8]}}'.ljust(70) + b"\0" * 8
    ),
    "negative.safetensors": lambda p: p.write_bytes(
        struct.pack("<Q", 64) + b'{"v":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}}'.ljust(64) + b"\0" * 8
    ),
    "bf16.safetensors": lambda p: p.write_bytes(
        struct.pack("<Q", 64) + b'{"v":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}}'.ljust(64) + b"\0" * 8
    ),
    "noise.safetensors": lambda p: p.write_bytes(struct.pack("<Q", 8) + b"\xff" * 8),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(tmp_path: Path, name: str) -> None:
    HOSTILE[name](tmp_path / name)
    error = refused(f"vectors:{tmp_path / name}?chunks={chunks_file(tmp_path)}")
    assert error.exit_code == 2
    assert error.where


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("vectors:none.npy?chunks=x", "snapshot.not-found"),
        ("parquet:none.parquet", "snapshot.not-found"),
        ("chroma:nowhere", "snapshot.not-found"),
        ("langchain:nowhere", "snapshot.not-found"),
    ],
)
def test_what_is_not_there_is_said(location: str, code: str) -> None:
    assert refused(location).code == code


def test_options_are_checked(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", vectors())
    with pytest.raises(ConfigError, match="give the chunks' file"):
        open_snapshot(f"vectors:{tmp_path}/v.npy")
    with pytest.raises(ConfigError) as caught:
        open_snapshot(f"vectors:{tmp_path}/v.npy?chunk=x")
    assert caught.value.hint == "Did you mean chunks?"
    with pytest.raises(ConfigError, match="names no store"):
        import_store("nothing:here", tmp_path / "out")
    assert (
        refused(f"vectors:{tmp_path}/v.npy?chunks={chunks_file(tmp_path)}&metric=hamming").code
        == "snapshot.bad-metric"
    )
