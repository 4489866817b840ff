"""Writing a snapshot: all of it or nothing, the same bytes for the same contents."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rageval_action.core.model.types import ChunkAcl
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.read import read_snapshot
from rageval_action.snapshots.write import Contents, write_snapshot
from tests.unit.snapshots.small_snapshots import SETTINGS, cached, chunks, unit_vectors, write


def test_what_was_read_is_written_as_it_was(tmp_path: Path) -> None:
    first = write(tmp_path / "first", made=chunks(10))
    again = write(tmp_path / "again", made=read_snapshot(first).chunks)
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in first.iterdir()
    }


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    acl = ChunkAcl(tenant="acme", principals=("u-7",), groups=("ops",))
    made = chunks(10, acl=acl, metadata={"title": "T", "n": 1}, text="日本語 🙂", id="é/1")
    vectors, queries = unit_vectors(10), cached(["one", "two"])
    snapshot = read_snapshot(write(tmp_path / "s", made=made, vectors=vectors, queries=queries))
    assert list(snapshot.chunks) == list(made)
    assert len(snapshot.shards) == 1
    assert np.array_equal(snapshot.shards[0], vectors)
    assert {key: list(vector) for key, vector in snapshot.query_vectors.items()} == {
        key: list(vector) for key, vector in queries.items()
    }
    manifest = snapshot.manifest
    assert (manifest.chunks, manifest.documents, manifest.dimension, manifest.dtype) == (10, 5, 4, "float32")
    assert (manifest.metric, manifest.model, manifest.revision) == ("ip", "toy/model", "r1")
    assert (manifest.query_prefix, manifest.document_prefix, manifest.normalised) == ("q: ", "d: ", True)
    assert snapshot.notices == ()


def test_vectors_are_mapped_not_copied(tmp_path: Path) -> None:
    shard = read_snapshot(write(tmp_path / "s")).shards[0]
    base: object = shard
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_the_same_contents_give_the_same_bytes(tmp_path: Path) -> None:
    queries = cached(["one", "two", "three"])
    backwards = dict(reversed(queries.items()))
    one = write(tmp_path / "a", queries=queries)
    two = write(tmp_path / "b", queries=backwards)
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {
        path.name: path.read_bytes() for path in two.iterdir()
    }


def test_rows_may_come_in_any_portions(tmp_path: Path) -> None:
    vectors = unit_vectors(10)
    contents = Contents(chunks=chunks(10), vectors=(vectors[at : at + 3] for at in range(0, 10, 3)))
    in_parts = write_snapshot(tmp_path / "a", contents, SETTINGS)
    at_once = write_snapshot(tmp_path / "b", Contents(chunks=chunks(10), vectors=vectors), SETTINGS)
    assert in_parts == at_once


def test_shards_hold_the_rows_in_order(tmp_path: Path) -> None:
    vectors = unit_vectors(10)
    snapshot = read_snapshot(write(tmp_path / "s", vectors=vectors, shard_rows=4))
    assert snapshot.manifest.shards == (
        "embeddings-00001.npy",
        "embeddings-00002.npy",
        "embeddings-00003.npy",
    )
    assert [len(shard) for shard in snapshot.shards] == [4, 4, 2]
    assert np.array_equal(np.concatenate(snapshot.shards), vectors)


def test_float16_is_kept_as_float16(tmp_path: Path) -> None:
    contents = Contents(chunks=chunks(10), vectors=unit_vectors(10))
    manifest = write_snapshot(tmp_path / "s", contents, SETTINGS, dtype="float16")
    assert manifest.dtype == "float16"
    assert read_snapshot(tmp_path / "s").shards[0].dtype == np.float16


def test_a_snapshot_may_have_no_vectors(tmp_path: Path) -> None:
    manifest = write_snapshot(tmp_path / "s", Contents(chunks=chunks(3)), SETTINGS)
    assert (manifest.dimension, manifest.dtype, manifest.shards, manifest.normalised) == (0, "", (), False)
    assert read_snapshot(tmp_path / "s").shards == ()


def test_the_fingerprint_does_not_depend_on_row_order_or_shards(tmp_path: Path) -> None:
    made, vectors = chunks(10), unit_vectors(10)
    order = np.random.default_rng(3).permutation(10)
    plain = write(tmp_path / "a", made=made, vectors=vectors)
    mixed = write(tmp_path / "b", made=[made[at] for at in order], vectors=vectors[order], shard_rows=3)
    assert _fingerprint(plain) == _fingerprint(mixed)


@pytest.mark.parametrize(
    "changed",
    [{"text": "other"}, {"id": "other"}, {"doc": "other"}, {"end": 7}, {"acl": ChunkAcl(tenant="acme")}],
    ids=lambda changed: next(iter(changed)),
)
def test_the_fingerprint_covers_every_row(tmp_path: Path, changed: dict[str, object]) -> None:
    plain = write(tmp_path / "a")
    assert _fingerprint(plain) != _fingerprint(write(tmp_path / "b", made=chunks(10, **changed)))


def test_the_fingerprint_covers_vectors_and_settings(tmp_path: Path) -> None:
    vectors = unit_vectors(10)
    plain = write(tmp_path / "a", vectors=vectors)
    swapped = vectors.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert _fingerprint(plain) != _fingerprint(write(tmp_path / "b", vectors=swapped))
    for number, field in enumerate(("model", "revision", "query_prefix", "document_prefix")):
        settings = msgspec.structs.replace(SETTINGS, **{field: "other"})
        assert _fingerprint(plain) != _fingerprint(write(tmp_path / f"s{number}", settings=settings)), field
    for field in ("chunker", "build_id", "source_commit"):
        settings = msgspec.structs.replace(SETTINGS, **{field: "other"})
        assert _fingerprint(plain) == _fingerprint(write(tmp_path / f"t{field}", settings=settings)), field


def test_metadata_is_not_in_the_fingerprint(tmp_path: Path) -> None:
    plain = write(tmp_path / "a")
    assert _fingerprint(plain) == _fingerprint(write(tmp_path / "b", made=chunks(10, metadata={"x": 1})))


def test_nothing_is_ever_written_over(tmp_path: Path) -> None:
    write(tmp_path / "s")
    before = {path.name: path.read_bytes() for path in (tmp_path / "s").iterdir()}
    with pytest.raises(SnapshotError, match="never written over") as caught:
        write(tmp_path / "s", 4)
    assert (caught.value.code, caught.value.where) == ("snapshot.exists", str(tmp_path / "s"))
    assert {path.name: path.read_bytes() for path in (tmp_path / "s").iterdir()} == before


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    assert read_snapshot(write(tmp_path / "s")).manifest.chunks == 10


def test_a_failure_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    def dying():
        yield unit_vectors(5)
        raise RuntimeError("the power is off")

    with pytest.raises(RuntimeError, match="the power is off"):
        write_snapshot(tmp_path / "s", Contents(chunks=chunks(10), vectors=dying()), SETTINGS)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    out = tmp_path / "file" / "s"
    with pytest.raises(SnapshotError) as caught:
        write(out)
    assert (caught.value.code, caught.value.where) == ("snapshot.unwritable", str(out))


def _nan(vectors):
    vectors[7, 2] = np.nan
    return vectors


@pytest.mark.parametrize(
    ("vectors", "code", "where"),
    [
        (unit_vectors(9), "snapshot.count-mismatch", ""),
        (unit_vectors(11), "snapshot.count-mismatch", ""),
        (_nan(unit_vectors(10)), "snapshot.not-finite", "vectors row 7"),
        (np.zeros((10, 4), np.float32), "snapshot.zero-vector", "vectors row 0"),
        (np.ones(10, np.float32), "snapshot.dimension-mismatch", ""),
        ([unit_vectors(5), unit_vectors(5, 3)], "snapshot.dimension-mismatch", ""),
    ],
)
def test_vectors_that_do_not_fit_are_refused(tmp_path: Path, vectors: object, code: str, where: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        write_snapshot(tmp_path / "s", Contents(chunks=chunks(10), vectors=vectors), SETTINGS)
    assert (caught.value.code, caught.value.where) == (code, where)
    assert list(tmp_path.iterdir()) == []


def test_chunks_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for made, code in (
        ([], "snapshot.empty"),
        (chunks(3) + chunks(1), "snapshot.duplicate-id"),
        (chunks(3, doc=""), "snapshot.bad-chunk"),
    ):
        with pytest.raises(SnapshotError) as caught:
            write_snapshot(tmp_path / "s", Contents(chunks=made, vectors=unit_vectors(len(made))), SETTINGS)
        assert caught.value.code == code


def _fingerprint(folder: Path) -> str:
    return json.loads((folder / "manifest.json").read_text())["fingerprint"]
