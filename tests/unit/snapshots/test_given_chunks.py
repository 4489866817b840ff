"""Reading a file of chunks that somebody else wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from rageval_action.core.model.types import Chunk, ChunkAcl
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.given_chunks import read_given_chunks


def _read(tmp_path: Path, *lines: str):
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_given_chunks(path)


def test_a_full_row(tmp_path: Path) -> None:
    corpus = _read(
        tmp_path,
        '{"id": "a", "doc": "d", "text": "日本", "start": 3, "end": 5, "metadata": {"k": [1]},'
        ' "acl": {"tenant": "t", "principals": ["u"], "groups": ["g"]}}',
    )
    acl = ChunkAcl(tenant="t", principals=("u",), groups=("g",))
    expected = Chunk(id="a", doc="d", text="日本", start=3, end=5, metadata={"k": [1]}, acl=acl)
    assert corpus.chunks == (expected,)
    assert corpus.notices == ()


def test_what_is_changed_is_said(tmp_path: Path) -> None:
    corpus = _read(
        tmp_path,
        "",
        '{"_id": 7, "text": "x", "title": "T"}',
        '{"id": "cafe\\u0301", "doc": 3, "text": "y", "metadata": {"a": 1}, "lang": "fr"}',
    )
    assert [(chunk.id, chunk.doc, chunk.metadata) for chunk in corpus.chunks] == [
        ("7", "7", {"title": "T"}),
        ("caf\u00e9", "3", {"a": 1, "lang": "fr"}),
    ]
    assert {notice.code: notice.text for notice in corpus.notices} == {
        "snapshot.integer-ids": "2 ids are numbers; they were read as text.",
        "snapshot.id-form": "1 ids were not in Unicode form NFC; now they are.",
        "snapshot.no-doc": "1 rows name no `doc`; each is its own document.",
        "snapshot.extra-fields": "Fields kept as metadata, not embedded: title, lang.",
    }


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ('{"id": "b", "text": ', "snapshot.bad-chunk", "not JSON"),
        ('["b"]', "snapshot.bad-chunk", "object"),
        ('{"id": "b"}', "snapshot.bad-chunk", "text"),
        ('{"id": "b", "text": null}', "snapshot.bad-chunk", "$.text"),
        ('{"id": "b", "text": 5}', "snapshot.bad-chunk", "$.text"),
        ('{"text": "x"}', "snapshot.bad-chunk", "`id`"),
        ('{"id": "", "text": "x"}', "snapshot.bad-chunk", "`id` is empty"),
        ('{"id": true, "text": "x"}', "snapshot.bad-chunk", "$.id"),
        ('{"id": "b", "doc": "", "text": "x"}', "snapshot.bad-chunk", "`doc` is empty"),
        ('{"id": "b", "text": "x", "acl": {"group": ["g"]}}', "snapshot.bad-chunk", "group"),
        ('{"id": "b", "text": "x", "ACL": {}}', "snapshot.bad-chunk", "everyone may see"),
        ('{"id": "a", "text": "x"}', "snapshot.duplicate-id", "already on line 1"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, line: str, code: str, says: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        _read(tmp_path, '{"id": "a", "text": "fine"}', line)
    assert (caught.value.code, caught.value.where) == (code, f"{tmp_path / 'corpus.jsonl'}:2")
    assert says in caught.value.message


def test_files_that_are_no_corpus(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    for text, code in (
        ("\n\n", "snapshot.empty"),
        ("version https://git-lfs.github.com/spec/v1\n", "snapshot.lfs-pointer"),
    ):
        path.write_text(text)
        with pytest.raises(SnapshotError) as caught:
            read_given_chunks(path)
        assert caught.value.code == code
    with pytest.raises(SnapshotError) as caught:
        read_given_chunks(tmp_path / "none.jsonl")
    assert caught.value.code == "snapshot.not-found"
    with pytest.raises(SnapshotError, match="a folder, not a file"):
        read_given_chunks(tmp_path)
