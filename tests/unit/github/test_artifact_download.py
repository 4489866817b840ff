"""Hostile archives: every attack is refused by its own defence."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from rageval_action.errors import RecordError
from rageval_action.github.artifact_download import LIMITS, unpack
from rageval_action.zip_reader import ZipLimits
from tests.fakes.github import zipped

NAMES = ("record.json", "rankings.jsonl")
GOOD = {"record.json": b'{"a": 1}', "rankings.jsonl": b"{}\n" * 10}


def refused(data: bytes, limits: ZipLimits = LIMITS) -> str:
    with pytest.raises(RecordError) as error:
        unpack(data, NAMES, limits)
    assert error.value.code == "record.bad-archive"
    return error.value.message


def test_members_are_read_by_name_and_the_rest_is_left_alone() -> None:
    data = zipped(GOOD | {"../../evil": b"x", "/etc/passwd": b"x", "record.json.exe": b"x", "C:\\x": b"y"})
    assert unpack(data, NAMES) == GOOD


def test_nothing_is_written_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    unpack(zipped(GOOD | {"../climbed": b"x", "here": b"x"}), NAMES)
    assert list(tmp_path.iterdir()) == []
    assert not (tmp_path.parent / "climbed").exists()


def test_a_traversing_name_is_not_the_member() -> None:
    assert "0 times" in refused(zipped({"../record.json": b"{}", "rankings.jsonl": b""}))
    assert "0 times" in refused(zipped({"x/record.json": b"{}", "rankings.jsonl": b""}))


def test_a_bomb_is_not_unpacked() -> None:
    bomb = zipped({"record.json": b"\0" * 50_000_000, "rankings.jsonl": b""})
    assert len(bomb) < 100_000
    assert "unpacks to 50,000,000 bytes, more than" in refused(bomb)


def test_a_bomb_that_lies_about_its_size() -> None:
    data = bytearray(zipped({"record.json": b"\0" * 5_000_000, "rankings.jsonl": b""}))
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.find(signature)
        data[at + offset : at + offset + 4] = struct.pack("<I", 100)
    message = refused(bytes(data), replace(LIMITS, ratio=2, free=10))
    assert message == "the archive is damaged (Bad CRC-32 for file 'record.json')."


def test_the_count_while_reading_holds_when_the_header_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.BytesIO):
        left = 100

        def read(self, size: int | None = -1) -> bytes:
            self.left -= 1
            assert self.left, "read on and on"
            return b"\0" * (size or 1)

    data = zipped(GOOD)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: Endless())
    assert "not as long as the zip says" in refused(data)


def test_sizes_and_counts() -> None:
    assert "more than 10" in refused(zipped(GOOD), replace(LIMITS, archive=10))
    assert "unpacks to 8 bytes, more than 4" in refused(zipped(GOOD), replace(LIMITS, member=4))
    assert "entries" in refused(zipped(GOOD | {f"f{n}": b"" for n in range(80)}))


def test_doubles_damage_and_oddities() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("record.json", "rankings.jsonl", "record.jsom"):
            archive.writestr(name, b"1")
    buffer = io.BytesIO(buffer.getvalue().replace(b"record.jsom", b"record.json"))
    assert "2 times" in refused(buffer.getvalue())
    whole = zipped(GOOD)
    for data in (b"", b"no zip", whole[: len(whole) // 2], whole[10:]):
        assert "damaged" in refused(data)
    flipped = bytearray(zipped({"record.json": bytes(range(256)) * 4, "rankings.jsonl": b""}))
    flipped[60] ^= 0xFF
    assert "damaged" in refused(bytes(flipped))
    locked = bytearray(whole)
    locked[locked.find(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in refused(bytes(locked))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in GOOD.items():
            archive.writestr(name, data)
    assert "unusual" in refused(buffer.getvalue())
