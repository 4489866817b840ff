"""Run records on disk: a folder or its zip. What is inside them is `core.record`'s business."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from rageval_action.core.record import MEMBERS, RunRecord, decode
from rageval_action.errors import RecordError

MAX_MEMBER_BYTES = 2 << 30
MAX_RATIO = 200
"""A zip member that unpacks to more than this many times its size is a bomb, not a record."""

RATIO_FREE_BYTES = 10 << 20
"""Members up to this size may pack as well as they like: rankings of a tiny corpus are repetitive."""


def read_record(location: str | Path) -> RunRecord:
    """Read a record from a folder or a `.zip`; only its own members are opened, by name, in memory.

    Raises:
        RecordError: `record.not-found`, `record.bad-zip`, `record.too-large`, and those of `core.record.decode`.
    """
    path = Path(location)
    where = str(location)
    if path.is_dir():
        members = {name: (path / name).read_bytes() for name in MEMBERS if (path / name).is_file()}
    elif path.is_file():
        members = _members_of_zip(path, where)
    else:
        hint = "Give the folder that `rageval evaluate --out` wrote, or its zip."
        raise RecordError("record.not-found", "there is no record here.", hint=hint, where=where)
    return decode(members, where=where)


def _members_of_zip(path: Path, where: str) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: _member(archive, name, where) for name in MEMBERS if name in archive.namelist()}
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, RuntimeError) as error:
        raise RecordError("record.bad-zip", f"not a readable zip: {error}.", where=where) from error


def _member(archive: zipfile.ZipFile, name: str, where: str) -> bytes:
    entry = archive.getinfo(name)
    bomb = entry.file_size > RATIO_FREE_BYTES and entry.file_size > MAX_RATIO * max(entry.compress_size, 1)
    if entry.file_size > MAX_MEMBER_BYTES or bomb:
        raise RecordError("record.too-large", f"{name} unpacks to {entry.file_size} bytes.", where=where)
    with archive.open(entry) as member:
        data = member.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise RecordError("record.bad-zip", f"{name} is not as long as the zip says.", where=where)
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
        raise RecordError(
            "record.out-not-empty", "it exists and is not an empty folder.", hint=hint, where=str(out)
        )


def write_files(out: Path, files: Mapping[str, bytes]) -> None:
    """Write all `files` into the new or empty folder `out`, or none of them.

    They are written to a folder beside it first, which then takes its name: a reader sees a whole record or nothing.

    Raises:
        RecordError: `record.out-not-empty`; `record.not-written` when the disk refuses.
    """
    check_out(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise RecordError("record.not-written", f"{error}.", where=str(out)) from error
    try:
        for name, data in files.items():
            (work / name).write_bytes(data)
        work.chmod(0o755)
        if out.is_dir():
            out.rmdir()
        work.replace(out)
    except OSError as error:
        raise RecordError("record.not-written", f"{error}.", where=str(out)) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
