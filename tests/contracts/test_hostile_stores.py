"""Damaged and hostile stores of every kind: refused with one message, or not damaged where it matters; nothing runs.

Sources that read plain files are tried here; servers have their own tests.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.errors import RagevalError
from rageval_action.snapshots.importers import reader_process
from rageval_action.snapshots.importers.location import files_of
from rageval_action.snapshots.interface import IMPORTERS, open_snapshot
from tests.contracts import forked_reader, test_sources, test_store_versions

ARCHIVED = {
    "chroma": "chroma-1.5.9-index",
    "faiss": "faiss-1.15.1-idmap2.faiss",
    "haystack": "haystack-3.4.1-cosine.json",
    "hf": "hf-5.2.0-list",
    "lancedb": "lancedb-0.40.0-db",
    "langchain": "langchain-community-0.4.2-l2",
    "llamaindex": "llamaindex-0.14.25-own",
    "parquet": "parquet-pyarrow-26.0.1-v1.parquet",
    "qdrant-export": "qdrant-export-1.20.0-dot.jsonl",
    "sqlite-vec": "sqlite-vec-0.1.9-whole.db",
    "vectors": "vectors-safetensors-0.8.0-v.safetensors",
}
"""The store of each kind that is damaged; more kinds below."""

MORE = {
    "faiss hnsw": "faiss-1.15.1-hnsw.faiss",
    "faiss ivf": "faiss-1.15.1-ivf.faiss",
    "llamaindex faiss": "llamaindex-0.14.25-faiss-map",
    "llamaindex chroma": "llamaindex-0.14.25-chroma",
    "npz": "vectors-safetensors-0.8.0-v.npz",
}
MADE = ("meilisearch-export", "opensearch-export", "pgvector-csv")
SERVERS = {"pgvector", "qdrant"}
LINES = {"qdrant-export", "opensearch-export", "pgvector-csv"}
"""Formats of lines: they carry no count, so a file cut at the end of a line is a shorter file."""

SLOW = ("chroma", "lancedb", "llamaindex chroma")
"""Read in more than a second: fewer lengths, of the largest files."""
KINDS = [*ARCHIVED, *MORE, *MADE]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own."""
    monkeypatch.setenv("RAGEVAL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child process that reads a store is forked from one that has loaded the library."""
    run = SimpleNamespace(
        run=forked_reader.run, TimeoutExpired=subprocess.TimeoutExpired, DEVNULL=subprocess.DEVNULL
    )
    monkeypatch.setattr(reader_process, "subprocess", run)


def store(kind: str, folder: Path) -> str:
    """A sound store; its location."""
    name = {**ARCHIVED, **MORE}.get(kind)
    if name is None:
        folder.mkdir()
        return test_sources.MAKERS[kind](folder)
    return test_store_versions.location(*test_store_versions.CASES[name], folder)


def parts(location: str) -> list[Path]:
    """The files of a store, the largest first."""
    place = Path(location.partition(":")[2].partition("?")[0])
    return sorted(files_of(place), key=lambda path: path.stat().st_size, reverse=True)


def outcome(location: str, folder: Path) -> Snapshot | RagevalError:
    """What an import gives: a snapshot, or a refusal that says where and ends with 2."""
    try:
        return open_snapshot(location)
    except RagevalError as caught:
        refusal = caught
    assert refusal.exit_code == 2
    assert refusal.message
    assert str(folder) in refusal.where, refusal.where
    return refusal


def rows(made: Snapshot) -> dict[str, tuple[str, bytes]]:
    """Text and vector of each chunk."""
    stored = np.concatenate([np.asarray(shard) for shard in made.shards])
    return {
        chunk.id: (chunk.text, vector.tobytes()) for chunk, vector in zip(made.chunks, stored, strict=True)
    }


def test_every_source_of_files_is_tried() -> None:
    assert {kind.split()[0] for kind in KINDS} - {"npz"} == set(IMPORTERS) - SERVERS


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("kind", KINDS)
def test_cut_short_anywhere(kind: str, tmp_path: Path) -> None:
    """Each length gives a refusal or, where what is missing was not needed, the whole store; never less."""
    place = store(kind, tmp_path / "store")
    whole = rows(open_snapshot(place))
    refused = 0
    for path, length in _lengths(parts(place), 12 if kind in SLOW else 50):
        data = path.read_bytes()
        path.write_bytes(data[:length])
        told = outcome(place, tmp_path)
        path.write_bytes(data)
        if isinstance(told, RagevalError):
            refused += 1
        elif kind in LINES and data[length - 1 : length + 1].count(b"\n"):
            assert rows(told).items() <= whole.items()
        else:
            assert rows(told) == whole, f"{path.name} cut at {length}"
    assert refused


def _lengths(files: list[Path], count: int) -> Iterator[tuple[Path, int]]:
    """`count` lengths spread over the files, the largest first, each file's ends among them."""
    files = files[: count // 2]
    each = max(2, count // len(files))
    for path in files:
        size = path.stat().st_size
        steps = np.unique(np.linspace(0, max(0, size - 1), each).astype(int))
        yield from ((path, int(length)) for length in steps if size)


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("kind", KINDS)
def test_another_beginning(kind: str, tmp_path: Path) -> None:
    """The first bytes of each file in turn are others."""
    place = store(kind, tmp_path / "store")
    whole = rows(open_snapshot(place))
    for path in parts(place)[: 6 if kind in SLOW else None]:
        data = path.read_bytes()
        for start in (b"\xff" * 16,) if kind in SLOW else (b"\x80\x05\x95\xff\xff\xff\xff\xff", b"\xff" * 16):
            path.write_bytes(start + data[len(start) :])
            told = outcome(place, tmp_path)
            assert isinstance(told, RagevalError) or rows(told) == whole, path.name
        path.write_bytes(data)


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in LINES])
def test_a_part_is_missing(kind: str, tmp_path: Path) -> None:
    place = store(kind, tmp_path / "store")
    whole = rows(open_snapshot(place))
    for path in parts(place):
        if path.suffix == ".manifest":  # without the newest, a Lance table is what it was before
            continue
        data = path.read_bytes()
        path.unlink()
        told = outcome(place, tmp_path)
        path.write_bytes(data)
        assert isinstance(told, RagevalError) or rows(told) == whole, path.name


ODD: tuple[Any, ...] = (None, 5, -1, 1e999, "x", "", True, [], {}, [1], [[]], {"a": None}, "\ud800")
JSON_KINDS = ("haystack", "llamaindex", "meilisearch-export", "opensearch-export", "qdrant-export")


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_json_of_any_other_shape(kind: str, tmp_path: Path) -> None:
    """Every value in the file becomes every odd value once: a refusal or a snapshot, and no other end."""
    place = store(kind, tmp_path / "store")
    tried = 0
    for path in parts(place):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines() if kind in LINES or kind == "meilisearch-export" else [text]
        first = json.loads(lines[0])
        for change in _changes(first):
            path.write_text("\n".join([json.dumps(change), *lines[1:]]), encoding="utf-8")
            outcome(place, tmp_path)
            tried += 1
        path.write_text(text, encoding="utf-8")
    assert tried > 50


def _changes(value: Any, depth: int = 0) -> Iterator[Any]:
    """`value` with one part of it replaced; of lists only the first entry."""
    yield from ODD
    if isinstance(value, dict) and depth < 6:
        for key, held in list(value.items())[:12]:
            yield {name: other for name, other in value.items() if name != key}
            for change in _changes(held, depth + 1):
                yield {**value, key: change}
    elif isinstance(value, list) and value:
        for change in _changes(value[0], depth + 1):
            yield [change, *value[1:]]


FOLDERS = ("chroma", "hf", "lancedb", "langchain", "llamaindex")


@pytest.mark.parametrize("kind", FOLDERS)
@pytest.mark.parametrize("way", ["a link beside", "a link instead", "a folder linked", "a pipe"])
def test_what_leads_out_of_a_folder(kind: str, way: str, tmp_path: Path) -> None:
    from rageval_action.snapshots.importers.stores import import_store

    place = store(kind, tmp_path / "store")
    path = parts(place)[0]
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(path.read_bytes())
    if way == "a pipe":
        os.mkfifo(path.parent / "pipe")
    elif way == "a link instead":
        path.unlink()
        path.symlink_to(tmp_path / "outside" / "file")
    else:
        target = tmp_path / "outside"
        (path.parent / "more").symlink_to(target if way == "a folder linked" else target / "file")
    for read in (open_snapshot, lambda at: import_store(at, tmp_path / "out")):
        with pytest.raises(RagevalError) as caught:
            read(place)
        assert caught.value.code == "snapshot.link-in-store"
