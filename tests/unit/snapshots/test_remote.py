"""Shards behind a URL: fetched once, checked against the manifest, then mapped."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.read import read_snapshot
from tests.unit.snapshots.small_snapshots import unit_vectors, write

fsspec = pytest.importorskip("fsspec")

URL = "memory://rageval-test/embeddings.npy"


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A snapshot whose vectors lie behind `URL`."""
    monkeypatch.setenv("RAGEVAL_CACHE", str(tmp_path / "cache"))
    folder = write(tmp_path / "s")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"] = [URL]
    manifest["files"][URL] = manifest["files"].pop("embeddings.npy")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    _put((folder / "embeddings.npy").read_bytes())
    (folder / "embeddings.npy").unlink()
    return folder


def _put(data: bytes) -> None:
    with fsspec.open(URL, "wb") as stream:
        stream.write(data)


def _refused(folder: Path) -> SnapshotError:
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(folder)
    return caught.value


def test_a_remote_shard_is_fetched_once(remote: Path, tmp_path: Path) -> None:
    assert np.array_equal(read_snapshot(remote).shards[0], unit_vectors(10))
    (kept,) = (tmp_path / "cache" / "shards").iterdir()
    _put(b"the store is gone")
    assert np.array_equal(read_snapshot(remote).shards[0], unit_vectors(10))
    kept.write_bytes(b"damaged")
    assert _refused(remote).code == "snapshot.checksum-mismatch"


@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"!" + data[1:]]
)
def test_other_bytes_are_refused_and_not_kept(remote: Path, tmp_path: Path, change) -> None:
    with fsspec.open(URL) as stream:
        _put(change(stream.read()))
    error = _refused(remote)
    assert (error.code, error.where) == ("snapshot.checksum-mismatch", URL)
    assert list((tmp_path / "cache" / "shards").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("memory://rageval-test/none.npy", "snapshot.not-found"),
        ("nosuch://x/y.npy", "snapshot.not-found"),
        ("simplecache::memory://rageval-test/embeddings.npy", "snapshot.bad-path"),
    ],
)
def test_urls_that_cannot_be_read(remote: Path, name: str, code: str) -> None:
    text = (remote / "manifest.json").read_text()
    (remote / "manifest.json").write_text(text.replace(URL, name))
    assert _refused(remote).code == code


def test_without_a_checksum_nothing_is_fetched(remote: Path, tmp_path: Path) -> None:
    manifest = json.loads((remote / "manifest.json").read_text())
    del manifest["files"][URL]
    (remote / "manifest.json").write_text(json.dumps(manifest))
    assert _refused(remote).code == "snapshot.bad-manifest"
    assert not (tmp_path / "cache").exists()


def test_a_checksum_is_not_a_path(remote: Path) -> None:
    manifest = json.loads((remote / "manifest.json").read_text())
    manifest["files"][URL]["sha256"] = "../../elsewhere"
    (remote / "manifest.json").write_text(json.dumps(manifest))
    assert _refused(remote).code == "snapshot.bad-manifest"


def test_the_missing_library_is_named(remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    error = _refused(remote)
    assert error.code == "snapshot.remote-extra-missing"
    assert "rag-eval-action[remote]" in error.message
