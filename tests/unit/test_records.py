"""Records on disk: read by name only, written whole or not at all, never over anything."""

from __future__ import annotations

import os
import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from rageval_action.core.model.record import MEMBERS, RANKINGS, RECORD, encode
from rageval_action.errors import RecordError
from rageval_action.records import LIMITS, check_out, read_record, write_files
from tests.synthetic_runs import ranked

RUN = ranked([1, 3, 0])
FILES = encode(RUN)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path / "run", FILES)
    return tmp_path / "run"


def zipped(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 98765\n"


class TestRead:
    @pytest.mark.parametrize("name", [*MEMBERS, "run.zip"])
    def test_a_git_lfs_pointer_is_named_with_its_real_size(self, folder: Path, name: str) -> None:
        (folder / name).write_bytes(POINTER)
        with pytest.raises(RecordError) as caught:
            read_record(folder / name if name.endswith(".zip") else folder)
        assert (caught.value.code, caught.value.where) == ("record.lfs-pointer", str(folder / name))
        assert "98,765 bytes" in caught.value.message

    def test_a_folder(self, folder: Path) -> None:
        assert encode(read_record(folder)) == FILES
        assert encode(read_record(str(folder))) == FILES

    def test_a_zip(self, tmp_path: Path) -> None:
        assert encode(read_record(zipped(tmp_path / "run.zip", FILES))) == FILES
        assert encode(read_record(zipped(tmp_path / "raw.zip", FILES, zipfile.ZIP_STORED))) == FILES

    def test_only_its_own_members_are_opened_and_nothing_is_extracted(self, tmp_path: Path) -> None:
        evil = {"../../evil.txt": b"x", "/abs.txt": b"x", "bomb": b"0" * 50_000_000, **FILES}
        path = zipped(tmp_path / "run.zip", evil)
        assert encode(read_record(path)) == FILES
        assert [one.name for one in tmp_path.iterdir()] == ["run.zip"]

    @pytest.mark.parametrize("name", ["nowhere", "a\tb"])
    def test_nothing_there(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(RecordError) as caught:
            read_record(tmp_path / name)
        assert (caught.value.code, caught.value.where) == ("record.not-found", str(tmp_path / name))

    def test_a_zip_of_the_folder_instead_of_its_files(self, tmp_path: Path) -> None:
        path = zipped(tmp_path / "run.zip", {f"run/{name}": data for name, data in FILES.items()})
        with pytest.raises(RecordError, match=r"record\.json is not there") as caught:
            read_record(path)
        assert "side by side" in caught.value.hint

    @pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"not a zip at all", b"\x00" * 1000])
    def test_not_a_zip(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "run.zip").write_bytes(data)
        with pytest.raises(RecordError) as caught:
            read_record(tmp_path / "run.zip")
        assert caught.value.code == "record.bad-zip"

    def test_every_truncation_and_many_flipped_bytes_are_refused_or_read(self, tmp_path: Path) -> None:
        whole = zipped(tmp_path / "run.zip", FILES).read_bytes()
        path = tmp_path / "broken.zip"
        for end in range(0, len(whole) - 1, 211):
            path.write_bytes(whole[:end])
            with pytest.raises(RecordError):
                read_record(path)
        for at in range(0, len(whole), 37):
            broken = bytearray(whole)
            broken[at] ^= 0x5A
            path.write_bytes(bytes(broken))
            with suppress(RecordError):
                read_record(path)

    def test_other_compressions_are_refused(self, tmp_path: Path) -> None:
        path = zipped(tmp_path / "run.zip", FILES, zipfile.ZIP_BZIP2)
        with pytest.raises(RecordError, match="compressed by an unusual method") as caught:
            read_record(path)
        assert caught.value.code == "record.bad-zip"

    def test_an_encrypted_member_is_refused(self, tmp_path: Path) -> None:
        path = zipped(tmp_path / "run.zip", FILES, zipfile.ZIP_STORED)
        data = bytearray(path.read_bytes())
        for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            at = data.find(signature)
            data[at + offset] |= 1
        path.write_bytes(bytes(data))
        with pytest.raises(RecordError) as caught:
            read_record(path)
        assert caught.value.code == "record.bad-zip"

    def test_a_bomb_is_refused_unread(self, tmp_path: Path) -> None:
        path = zipped(tmp_path / "run.zip", {**FILES, RANKINGS: b" " * (LIMITS.free + 1)})
        with pytest.raises(RecordError, match=r"rankings\.jsonl unpacks to 10,485,761 bytes") as caught:
            read_record(path)
        assert caught.value.code == "record.too-large"

    def test_a_small_member_may_pack_well(self, tmp_path: Path) -> None:
        rows = FILES[RANKINGS]
        read_record(zipped(tmp_path / "run.zip", FILES), replace(LIMITS, ratio=1, free=len(rows)))
        with pytest.raises(RecordError):
            read_record(tmp_path / "run.zip", replace(LIMITS, ratio=1, free=len(rows) - 1))

    def test_members_have_a_largest_size(self, tmp_path: Path, folder: Path) -> None:
        largest = max(map(len, FILES.values()))
        path = zipped(tmp_path / "run.zip", FILES)
        read_record(folder, replace(LIMITS, member=largest))
        read_record(path, replace(LIMITS, member=largest))
        for location in (folder, path):
            with pytest.raises(RecordError) as caught:
                read_record(location, replace(LIMITS, member=largest - 1))
            assert caught.value.code == "record.too-large"

    @pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    @pytest.mark.parametrize("lie", [10, -10])
    def test_a_zip_that_lies_about_a_size(self, tmp_path: Path, method: int, lie: int) -> None:
        path = zipped(tmp_path / "run.zip", FILES, method)
        data = bytearray(path.read_bytes())
        at = data.find(b"PK\x01\x02")
        (size,) = struct.unpack_from("<I", data, at + 24)
        struct.pack_into("<I", data, at + 24, size + lie)
        path.write_bytes(bytes(data))
        with pytest.raises(RecordError) as caught:
            read_record(path)
        assert caught.value.code == "record.bad-zip"

    def test_a_disk_that_fails(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(path: Path) -> bytes:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(Path, "read_bytes", fail)
        with pytest.raises(RecordError, match=r"Input/output error\.") as caught:
            read_record(folder)
        assert (caught.value.code, caught.value.where) == ("record.not-readable", str(folder))

    def test_a_pipe_is_not_waited_for(self, folder: Path) -> None:
        (folder / RECORD).unlink()
        os.mkfifo(folder / RECORD)
        with pytest.raises(RecordError) as caught:
            read_record(folder)
        assert caught.value.code == "record.missing-member"


class TestWrite:
    def test_a_new_folder_and_its_parents(self, tmp_path: Path) -> None:
        write_files(tmp_path / "a" / "b" / "run", FILES)
        assert sorted(one.name for one in (tmp_path / "a" / "b" / "run").iterdir()) == sorted(MEMBERS)
        assert [one.name for one in (tmp_path / "a" / "b").iterdir()] == ["run"]
        assert (tmp_path / "a" / "b" / "run").stat().st_mode & 0o777 == 0o755

    def test_an_empty_folder_stays_the_same_folder(self, tmp_path: Path) -> None:
        out = tmp_path / "run"
        out.mkdir(mode=0o700)
        before = out.stat().st_ino
        write_files(out, FILES)
        assert (out.stat().st_ino, out.stat().st_mode & 0o777) == (before, 0o700)
        assert sorted(one.name for one in out.iterdir()) == sorted(MEMBERS)

    def test_the_current_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        write_files(Path(), FILES)
        assert encode(read_record(".")) == FILES

    def test_anything_there_is_left_alone(self, tmp_path: Path) -> None:
        for name in ("file", "folder", "link"):
            (tmp_path / "folder").mkdir(exist_ok=True)
            (tmp_path / "folder" / "mine").write_text("keep")
            (tmp_path / "file").write_text("keep")
            if not (tmp_path / "link").is_symlink():
                (tmp_path / "link").symlink_to("dangling")
            for refuse in (check_out, lambda path: write_files(path, FILES)):
                with pytest.raises(RecordError) as caught:
                    refuse(tmp_path / name)
                assert (caught.value.code, caught.value.where) == (
                    "record.out-not-empty",
                    str(tmp_path / name),
                )
        assert (tmp_path / "file").read_text() == (tmp_path / "folder" / "mine").read_text() == "keep"
        assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "folder", "link"]

    def test_check_out_makes_nothing(self, tmp_path: Path) -> None:
        check_out(tmp_path / "new")
        check_out(tmp_path)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("existing", [True, False])
    @pytest.mark.parametrize("call", ["write_bytes", "rename"])
    def test_a_full_disk_leaves_nothing_behind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, *, existing: bool
    ) -> None:
        real = getattr(Path, call)
        done: list[object] = []

        def fail(path: Path, *args: object) -> object:
            if len(done) == (2 if call == "write_bytes" or existing else 0):
                raise OSError(28, "No space left on device")
            done.append(path)
            return real(path, *args)

        out = tmp_path / "run"
        if existing:
            out.mkdir()
        monkeypatch.setattr(Path, call, fail)
        with pytest.raises(RecordError, match=r"No space left on device\.") as caught:
            write_files(out, FILES)
        assert (caught.value.code, caught.value.where) == ("record.not-written", str(out))
        assert list(tmp_path.iterdir()) == ([out] if existing else [])
        assert not existing or list(out.iterdir()) == []

    def test_record_json_appears_last(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        real, moved = Path.rename, []

        def watch(path: Path, target: Path) -> Path:
            moved.append(target.name)
            return real(path, target)

        monkeypatch.setattr(Path, "rename", watch)
        write_files(tmp_path, {**FILES, "zz.json": b"{}"})
        assert moved == ["corpus.npz", "rankings.jsonl", "zz.json", "record.json"]

    def test_a_parent_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(RecordError) as caught:
            write_files(tmp_path / "file" / "run", FILES)
        assert caught.value.code == "record.not-written"
