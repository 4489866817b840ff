"""Run records on disk: a folder or its zip. What is inside them is `core.model.record`'s business."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from rageval_action.core.model import lfs_pointer
from rageval_action.core.model.record import MEMBERS, RECORD, RunRecord, decode
from rageval_action.errors import RecordError
from rageval_action.zip_reader import Members, ZipError, ZipLimits, open_zip

LIMITS = ZipLimits(member=2 << 30)


def read_record(location: str | Path, limits: ZipLimits = LIMITS) -> RunRecord:
    """Read a record from a folder or a `.zip`; only its own members are opened, by name, in memory.

    Raises:
        RecordError: `record.not-found`, `record.not-readable`, `record.lfs-pointer`, `record.bad-zip`,
            `record.too-large`, and those of `core.model.record.decode`.
    """
    path = Path(location)
    where = str(location)
    try:
        if path.is_dir():
            members = {name: _file(path / name, limits.member) for name in MEMBERS if (path / name).is_file()}
        elif path.is_file():
            with _opened(path, limits) as archive:
                members = {name: archive.read(name) for name in MEMBERS if name in archive.names}
        else:
            hint = "Give the folder that `rageval evaluate --out` wrote, or its zip."
            raise RecordError("record.not-found", "there is no record here.", hint=hint, where=where)
    except OSError as error:
        raise RecordError("record.not-readable", f"{error.strerror or error}.", where=where) from error
    return decode(members, where=where)


def _file(path: Path, most: int) -> bytes:
    size = path.stat().st_size
    if size > most:
        raise RecordError("record.too-large", f"it has {size} bytes.", where=str(path))
    data = path.read_bytes()
    _refuse_pointer(data, path)
    return data


def _refuse_pointer(start: bytes, path: Path) -> None:
    if text := lfs_pointer.pointer_problem(start, "a record"):
        raise RecordError("record.lfs-pointer", text, hint=lfs_pointer.HINT, where=str(path))


def summary_of_zip(path: Path) -> bytes:
    """`record.json` of a zipped record, without the rest.

    Raises:
        RecordError: `record.lfs-pointer`, `record.bad-zip`, `record.missing-member`, `record.too-large`.
    """
    with _opened(path, LIMITS) as archive:
        if RECORD not in archive.names:
            raise RecordError("record.missing-member", f"{RECORD} is not there.", where=str(path))
        return archive.read(RECORD)


@contextlib.contextmanager
def _opened(path: Path, limits: ZipLimits) -> Iterator[Members]:
    try:
        with path.open("rb") as file:
            _refuse_pointer(file.read(lfs_pointer.MOST_BYTES), path)
            with open_zip(file, limits) as archive:
                yield archive
    except ZipError as error:
        code = "record.too-large" if error.kind == "too-large" else "record.bad-zip"
        raise RecordError(code, f"not a readable zip: {error}.", where=str(path)) from error


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
