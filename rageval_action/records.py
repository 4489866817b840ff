"""Run records on disk: a folder or its zip. What is inside them is `core.model.record`'s business."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from rageval_action.core.model.record import MEMBERS, RECORD, RunRecord, decode
from rageval_action.errors import RecordError

MAX_MEMBER_BYTES = 2 << 30
MAX_RATIO = 200
"""A zip member that unpacks to more than this many times its size is a bomb, not a record."""

RATIO_FREE_BYTES = 10 << 20
"""Members up to this size may pack as well as they like: rankings of a tiny corpus are repetitive."""


def read_record(location: str | Path) -> RunRecord:
    """Read a record from a folder or a `.zip`; only its own members are opened, by name, in memory.

    Raises:
        RecordError: `record.not-found`, `record.not-readable`, `record.bad-zip`, `record.too-large`, and those of
            `core.model.record.decode`.
    """
    path = Path(location)
    where = str(location)
    try:
        if path.is_dir():
            members = {name: _file(path / name) for name in MEMBERS if (path / name).is_file()}
        elif path.is_file():
            members = _members_of_zip(path, where)
        else:
            hint = "Give the folder that `rageval evaluate --out` wrote, or its zip."
            raise RecordError("record.not-found", "there is no record here.", hint=hint, where=where)
    except OSError as error:
        raise RecordError("record.not-readable", f"{error.strerror or error}.", where=where) from error
    return decode(members, where=where)


def _file(path: Path) -> bytes:
    size = path.stat().st_size
    if size > MAX_MEMBER_BYTES:
        raise RecordError("record.too-large", f"it has {size} bytes.", where=str(path))
    return path.read_bytes()


def _members_of_zip(path: Path, where: str) -> dict[str, bytes]:
    with _opened(path, where) as archive:
        held = set(archive.namelist())
        return {name: _member(archive, name, where) for name in MEMBERS if name in held}


def summary_of_zip(path: Path) -> bytes:
    """`record.json` of a zipped record, without the rest.

    Raises:
        RecordError: `record.bad-zip`, `record.missing-member`, `record.too-large`.
    """
    where = str(path)
    with _opened(path, where) as archive:
        if RECORD not in archive.namelist():
            raise RecordError("record.missing-member", f"{RECORD} is not there.", where=where)
        return _member(archive, RECORD, where)


@contextlib.contextmanager
def _opened(path: Path, where: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise RecordError("record.bad-zip", f"not a readable zip: {error}.", where=where) from error


def _member(archive: zipfile.ZipFile, name: str, where: str) -> bytes:
    entry = archive.getinfo(name)
    bomb = entry.file_size > RATIO_FREE_BYTES and entry.file_size > MAX_RATIO * max(entry.compress_size, 1)
    if entry.file_size > MAX_MEMBER_BYTES or bomb:
        raise RecordError("record.too-large", f"{name} unpacks to {entry.file_size} bytes.", where=where)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} is packed in a way that no record is")
    data = archive.read(entry)
    if len(data) != entry.file_size:
        raise ValueError(f"{name} is not as long as the zip says")
    return data


def check_out(out: Path) -> None:
    """Refuse a folder that holds anything: a record is never overwritten.

    Raises:
        RecordError: `record.out-not-empty`.
    """
    if out.is_dir() and not any(out.iterdir()):
        return
    if out.exists() or out.is_symlink():
        hint = "Give a new or empty folder to --out."
        text = "it exists and is not an empty folder."
        raise RecordError("record.out-not-empty", text, hint=hint, where=str(out))


def write_files(out: Path, files: Mapping[str, bytes]) -> None:
    """Write all `files` into the new or empty folder `out`, or none of them.

    They are written to a hidden folder first. For a new `out` that folder takes its name; an empty one (which may be a
    mount point) gets the finished files moved in, `record.json` last: who sees that sees a whole record.

    Raises:
        RecordError: `record.out-not-empty`; `record.not-written` when the disk refuses.
    """
    try:
        check_out(out)
        home = out if out.is_dir() else out.parent
        home.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".rageval-", dir=home))
        try:
            for name, data in files.items():
                (work / name).write_bytes(data)
            _publish(work, out, sorted(files, key=lambda name: (name == RECORD, name)))
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        text = f"{error.strerror or error}."
        raise RecordError("record.not-written", text, where=str(out)) from error


def _publish(work: Path, out: Path, names: list[str]) -> None:
    if not out.is_dir():
        work.chmod(0o755)  # a temporary folder is its owner's alone
        work.rename(out)
        return
    try:
        for name in names:
            (work / name).rename(out / name)
    except OSError:
        for name in names:
            (out / name).unlink(missing_ok=True)
        raise
