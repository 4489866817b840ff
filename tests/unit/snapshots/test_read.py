"""A broken snapshot is refused before anything is computed: one message, with the place and the right code."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.read import read_snapshot
from tests.unit.snapshots.small_snapshots import chunks, unit_vectors, write

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def _edit(folder: Path, **changed: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.update(changed)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _lines(folder: Path, change: Callable[[list[str]], None]) -> None:
    path = folder / "chunks.jsonl"
    lines = path.read_text().splitlines()
    change(lines)
    path.write_text("\n".join(lines) + "\n")


def _line(folder: Path, number: int, text: str) -> None:
    _lines(folder, lambda lines: lines.__setitem__(number - 1, text))


def _vectors(folder: Path, array: np.ndarray, **how: object) -> None:
    np.save(folder / "embeddings.npy", array, **how)


def _with(row: int, value: float) -> np.ndarray:
    vectors = unit_vectors(10)
    vectors[row, 1] = value
    return vectors


def _cut(path: Path, drop: int) -> None:
    path.write_bytes(path.read_bytes()[:-drop])


def _bomb(folder: Path) -> None:
    with zipfile.ZipFile(folder / "queries.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("keys.npy", "vectors.npy"):
            archive.writestr(name, b"\0" * 50_000_000)


def _link_away(folder: Path) -> None:
    (folder / "chunks.jsonl").rename(folder.parent / "elsewhere.jsonl")
    (folder / "chunks.jsonl").symlink_to(folder.parent / "elsewhere.jsonl")


def _huge_header(folder: Path) -> None:
    with (folder / "embeddings.npy").open("wb") as stream:
        head = {"descr": "<f4", "fortran_order": False, "shape": (10**15, 4)}
        np.lib.format.write_array_header_1_0(stream, head)


DEEP = "[" * 100_000 + "]" * 100_000
"""More than any reader can follow."""

BROKEN: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "no manifest": (lambda s: (s / "manifest.json").unlink(), "not-found", "manifest.json"),
    "a manifest without end": (
        lambda s: (s / "manifest.json").write_text(
            (s / "manifest.json").read_text().replace("{", f'{{"more": {DEEP}, ', 1)
        ),
        "bad-manifest",
        "manifest.json",
    ),
    "a chunk without end": (
        lambda s: _line(s, 3, f'{{"id": "c3", "doc": "d", "text": "t", "more": {DEEP}}}'),
        "bad-chunk",
        "chunks.jsonl:3",
    ),
    "no chunks": (lambda s: (s / "chunks.jsonl").unlink(), "not-found", "chunks.jsonl"),
    "no vectors": (lambda s: (s / "embeddings.npy").unlink(), "not-found", "embeddings.npy"),
    "no query vectors": (lambda s: (s / "queries.npz").unlink(), "not-found", "queries.npz"),
    "manifest: pointer": (
        lambda s: (s / "manifest.json").write_text(POINTER),
        "lfs-pointer",
        "manifest.json:1",
    ),
    "chunks: pointer": (lambda s: (s / "chunks.jsonl").write_text(POINTER), "lfs-pointer", "chunks.jsonl:1"),
    "vectors: pointer": (
        lambda s: (s / "embeddings.npy").write_text(POINTER),
        "lfs-pointer",
        "embeddings.npy:1",
    ),
    "queries: pointer": (lambda s: (s / "queries.npz").write_text(POINTER), "lfs-pointer", "queries.npz:1"),
    "manifest: not json": (lambda s: (s / "manifest.json").write_text("{"), "bad-manifest", "manifest.json"),
    "manifest: other schema": (lambda s: _edit(s, schema="other/9"), "bad-manifest", "manifest.json"),
    "manifest: wrong type": (lambda s: _edit(s, chunks="ten"), "bad-manifest", "manifest.json"),
    "manifest: odd metric": (lambda s: _edit(s, metric="hamming"), "bad-manifest", "manifest.json"),
    "manifest: shards without type": (lambda s: _edit(s, dtype=""), "bad-manifest", "manifest.json"),
    "manifest: no checksums": (lambda s: _edit(s, files={}), "bad-manifest", "manifest.json"),
    "manifest: no chunks": (lambda s: _edit(s, chunks=0), "empty", "manifest.json"),
    "shard climbs out": (lambda s: _edit(s, shards=["../e.npy"]), "bad-manifest", "manifest.json"),
    "link leaves": (_link_away, "bad-path", "chunks.jsonl"),
    "vectors: truncated": (lambda s: _cut(s / "embeddings.npy", 5), "truncated", "embeddings.npy"),
    "vectors: empty file": (lambda s: (s / "embeddings.npy").write_bytes(b""), "truncated", "embeddings.npy"),
    "vectors: header cut": (
        lambda s: (s / "embeddings.npy").write_bytes((s / "embeddings.npy").read_bytes()[:20]),
        "bad-array",
        "embeddings.npy",
    ),
    "vectors: absurd size": (_huge_header, "truncated", "embeddings.npy"),
    "vectors: bytes after": (
        lambda s: (s / "embeddings.npy").open("ab").write(b"1234567"),
        "bad-array",
        "embeddings.npy",
    ),
    "vectors: text": (
        lambda s: (s / "embeddings.npy").write_text("1.0 2.0\n"),
        "bad-array",
        "embeddings.npy",
    ),
    "vectors: objects": (
        lambda s: _vectors(s, np.array([[{}]] * 10, dtype=object), allow_pickle=True),
        "object-array",
        "embeddings.npy",
    ),
    "vectors: float64": (
        lambda s: _vectors(s, unit_vectors(10).astype(np.float64)),
        "bad-array",
        "embeddings.npy",
    ),
    "vectors: big-endian": (
        lambda s: _vectors(s, unit_vectors(10).astype(">f4")),
        "bad-array",
        "embeddings.npy",
    ),
    "vectors: by column": (
        lambda s: _vectors(s, np.asfortranarray(unit_vectors(10))),
        "bad-array",
        "embeddings.npy",
    ),
    "vectors: flat": (lambda s: _vectors(s, unit_vectors(10).ravel()), "bad-array", "embeddings.npy"),
    "vectors: dimension": (
        lambda s: _vectors(s, unit_vectors(10, 5)),
        "dimension-mismatch",
        "embeddings.npy",
    ),
    "vectors: one row short": (lambda s: _vectors(s, unit_vectors(9)), "count-mismatch", "manifest.json"),
    "vectors: nan": (lambda s: _vectors(s, _with(6, np.nan)), "not-finite", "embeddings.npy row 6"),
    "vectors: infinity": (lambda s: _vectors(s, _with(0, -np.inf)), "not-finite", "embeddings.npy row 0"),
    "vectors: all zero": (
        lambda s: _vectors(s, np.zeros((10, 4), np.float32)),
        "zero-vector",
        "embeddings.npy row 0",
    ),
    "vectors: others": (
        lambda s: _vectors(s, unit_vectors(10, seed=9)),
        "checksum-mismatch",
        "embeddings.npy",
    ),
    "chunks: not json": (lambda s: _line(s, 3, '{"id": "x", "doc": '), "bad-chunk", "chunks.jsonl:3"),
    "chunks: not an object": (lambda s: _line(s, 3, "[1]"), "bad-chunk", "chunks.jsonl:3"),
    "chunks: no text": (lambda s: _line(s, 4, '{"id": "x", "doc": "y"}'), "bad-chunk", "chunks.jsonl:4"),
    "chunks: number as id": (
        lambda s: _line(s, 4, '{"id": 4, "doc": "y", "text": "t"}'),
        "bad-chunk",
        "chunks.jsonl:4",
    ),
    "chunks: empty id": (
        lambda s: _line(s, 2, '{"id": "", "doc": "y", "text": "t"}'),
        "bad-chunk",
        "chunks.jsonl:2",
    ),
    "chunks: unknown field": (
        lambda s: _line(s, 2, '{"id": "x", "doc": "y", "text": "t", "acls": {}}'),
        "bad-chunk",
        "chunks.jsonl:2",
    ),
    "chunks: misspelt access": (
        lambda s: _line(s, 2, '{"id": "x", "doc": "y", "text": "t", "acl": {"group": ["a"]}}'),
        "bad-chunk",
        "chunks.jsonl:2",
    ),
    "chunks: not UTF-8": (
        lambda s: (s / "chunks.jsonl").write_bytes(b'{"id": "\xff", "doc": "d", "text": "t"}\n'),
        "bad-chunk",
        "chunks.jsonl:1",
    ),
    "chunks: id twice": (
        lambda s: _line(s, 9, '{"id": "c1", "doc": "y", "text": "t"}'),
        "duplicate-id",
        "chunks.jsonl:9",
    ),
    "chunks: id twice in NFC": (
        lambda s: _lines(
            s,
            lambda lines: lines.__setitem__(
                slice(3, 5),
                [
                    '{"id": "caf\\u00e9", "doc": "y", "text": "t"}',
                    '{"id": "cafe\\u0301", "doc": "y", "text": "t"}',
                ],
            ),
        ),
        "duplicate-id",
        "chunks.jsonl:5",
    ),
    "chunks: one line gone": (
        lambda s: _lines(s, lambda lines: lines.pop()),
        "count-mismatch",
        "manifest.json",
    ),
    "chunks: other text": (
        lambda s: _line(s, 1, '{"id":"c0","doc":"d0","text":"other","start":0,"end":6}'),
        "checksum-mismatch",
        "chunks.jsonl",
    ),
    "queries: not an archive": (
        lambda s: (s / "queries.npz").write_bytes(b"PK?"),
        "bad-queries",
        "queries.npz",
    ),
    "queries: bomb": (_bomb, "bad-queries", "queries.npz"),
    "queries: objects": (
        lambda s: np.savez(s / "queries.npz", keys=np.array([{}], dtype=object), vectors=unit_vectors(1)),
        "object-array",
        "queries.npz/keys.npy",
    ),
    "queries: no keys": (
        lambda s: np.savez(s / "queries.npz", vectors=unit_vectors(1)),
        "bad-queries",
        "queries.npz",
    ),
    "queries: dimension": (
        lambda s: np.savez(s / "queries.npz", keys=np.array([b"k"]), vectors=unit_vectors(1, 3)),
        "dimension-mismatch",
        "queries.npz",
    ),
    "queries: counts": (
        lambda s: np.savez(s / "queries.npz", keys=np.array([b"k"]), vectors=unit_vectors(2)),
        "count-mismatch",
        "queries.npz",
    ),
    "queries: nan": (
        lambda s: np.savez(s / "queries.npz", keys=np.array([b"a", b"b"] * 5), vectors=_with(3, np.nan)),
        "not-finite",
        "queries.npz row 3",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_snapshot_is_refused(tmp_path: Path, name: str) -> None:
    breaks, code, place = BROKEN[name]
    folder = write(tmp_path / "s")
    breaks(folder)
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(folder)
    assert (caught.value.code, caught.value.where) == (f"snapshot.{code}", str(folder / place))
    assert caught.value.exit_code == 2
    assert len(caught.value.message) > 10


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("gone", "file"):
        with pytest.raises(SnapshotError) as caught:
            read_snapshot(tmp_path / name)
        assert (caught.value.code, caught.value.where) == ("snapshot.not-found", str(tmp_path / name))


def test_the_row_is_named_within_its_shard(tmp_path: Path) -> None:
    folder = write(tmp_path / "s", shard_rows=4)
    shard = np.load(folder / "embeddings-00002.npy")
    shard[1, 0] = np.inf
    np.save(folder / "embeddings-00002.npy", shard)
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(folder)
    assert caught.value.where == f"{folder / 'embeddings-00002.npy'} row 1"
    assert '"c5"' in caught.value.message


def test_a_shard_with_a_listed_checksum_still_may_not_climb_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in ("../embeddings.npy", "/etc/passwd", "a/b.npy", "..", "c:\\x.npy"):
        files = {**manifest["files"], name: manifest["files"]["embeddings.npy"]}
        _edit(folder, shards=[name], files=files)
        with pytest.raises(SnapshotError) as caught:
            read_snapshot(folder)
        assert caught.value.code == "snapshot.bad-path", name


def test_every_problem_is_listed(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    _line(folder, 2, "nonsense")
    _line(folder, 7, "{}")
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(folder)
    text = str(caught.value)
    assert "chunks.jsonl:2" in text
    assert "chunks.jsonl:7" in text
    assert "chunks.jsonl: the file has 468 bytes, the manifest says 570." in text


def test_twenty_problems_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    folder = write(tmp_path / "s", 50)
    (folder / "chunks.jsonl").write_text("?\n" * 50)
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(folder, verify_checksums=False)
    assert caught.value.message.count("chunks.jsonl:") == 19
    assert "and 30 more problems (50 in all)" in caught.value.message


def test_checksums_may_be_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    _vectors(folder, unit_vectors(10, seed=9))
    assert read_snapshot(folder, verify_checksums=False).manifest.chunks == 10


def test_checksums_of_large_files_are_compared_too(tmp_path: Path) -> None:
    folder = write(tmp_path / "s", 2000, vectors=unit_vectors(2000, 600), queries={})
    assert (folder / "embeddings.npy").stat().st_size > 1 << 22
    assert read_snapshot(folder).manifest.chunks == 2000
    data = bytearray((folder / "embeddings.npy").read_bytes())
    data[-1] ^= 1
    (folder / "embeddings.npy").write_bytes(data)
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(folder)
    assert caught.value.code == "snapshot.checksum-mismatch"


def test_a_few_zero_vectors_are_named_and_excluded(tmp_path: Path) -> None:
    vectors = unit_vectors(10)
    vectors[[3, 8]] = 0
    snapshot = read_snapshot(write(tmp_path / "s", vectors=vectors, shard_rows=4))
    assert snapshot.empty_rows == (3, 8)
    (notice,) = snapshot.notices
    assert notice.code == "snapshot.zero-vector"
    assert '3 ("c3"), 8 ("c8")' in notice.text


def test_zero_vectors_of_empty_texts_are_no_failure(tmp_path: Path) -> None:
    vectors = unit_vectors(10)
    made = chunks(10)
    for row in range(6):
        vectors[row] = 0
        made[row] = chunks(1, id=f"c{row}", doc=f"d{row // 2}", text=" \n")[0]
    snapshot = read_snapshot(write(tmp_path / "s", vectors=vectors, made=made))
    assert snapshot.empty_rows == (0, 1, 2, 3, 4, 5)
    assert [notice.code for notice in snapshot.notices] == ["snapshot.empty-text", "snapshot.zero-vector"]


def test_identical_texts_are_reported_as_groups(tmp_path: Path) -> None:
    made = chunks(10)
    made[4] = chunks(1, id="c4", doc="d2", text="text 1")[0]
    (notice,) = read_snapshot(write(tmp_path / "s", made=made)).notices
    assert notice.code == "snapshot.identical-texts"
    assert "c1 = c4" in notice.text


def test_norms_are_measured_not_believed(tmp_path: Path) -> None:
    vectors = unit_vectors(10)
    vectors[2] *= 3
    folder = write(tmp_path / "s", vectors=vectors)
    assert json.loads((folder / "manifest.json").read_text())["normalised"] is False
    _edit(folder, normalised=True)
    snapshot = read_snapshot(folder)
    assert snapshot.norms == pytest.approx((1.0, 3.0), abs=1e-6)
    assert [notice.code for notice in snapshot.notices] == [
        "snapshot.normalised-mismatch",
        "snapshot.inner-product-unnormalised",
    ]


@pytest.mark.parametrize("scale", [1e-30, 1e25], ids=["tiny", "huge"])
def test_norms_survive_squares_that_do_not_fit(tmp_path: Path, scale: float) -> None:
    snapshot = read_snapshot(write(tmp_path / "s", vectors=unit_vectors(10) * np.float32(scale)))
    assert snapshot.norms == pytest.approx((scale, scale), rel=1e-5)
    assert snapshot.empty_rows == ()


def test_ids_are_read_in_nfc(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    _line(folder, 1, '{"id": "cafe\\u0301", "doc": "d0", "text": "t"}')
    assert read_snapshot(folder, verify_checksums=False).chunks[0].id == "caf\u00e9"


def test_a_byte_order_mark_and_blank_lines_are_no_problem(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    data = (folder / "chunks.jsonl").read_bytes()
    (folder / "chunks.jsonl").write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n\r\n"))
    assert read_snapshot(folder, verify_checksums=False).manifest.chunks == 10


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    (folder / "chunks.jsonl").chmod(0)
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(folder)
    assert (caught.value.code, caught.value.where) == ("snapshot.unreadable", str(folder / "chunks.jsonl"))
