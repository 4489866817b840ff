"""Named members of an untrusted zip, in memory: nothing is written under a name that the archive chose."""

from __future__ import annotations

import io
import zipfile
import zlib

from msgspec import Struct

from rageval_action.errors import RecordError

_CHUNK = 1 << 20


class Limits(Struct, frozen=True, kw_only=True):
    """What is still believed to be a record.

    Attributes:
        archive: bytes of the zip itself; also the cap of its download.
        members: entries in the zip, ours or not.
        member: bytes of one member when unpacked, counted while reading, not taken from the header.
        ratio: unpacked over packed size, for members above `free`; rankings stay below 40.
        free: bytes up to which a member may pack as well as it likes.
    """

    archive: int = 256 << 20
    members: int = 64
    member: int = 1 << 30
    ratio: int = 200
    free: int = 10 << 20


def read_members(data: bytes, names: tuple[str, ...], limits: Limits) -> dict[str, bytes]:
    """The members `names` of the zip `data`; whatever else it holds is not looked at.

    Raises:
        RecordError: `record.bad-archive` when it is no zip, lacks a member or holds it twice, is encrypted,
            uses another compression than deflate, is damaged, or goes over a limit.
    """
    if len(data) > limits.archive:
        raise _bad(f"the archive has {len(data):,} bytes, more than {limits.archive:,}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > limits.members:
                raise _bad(f"the archive has {len(entries):,} entries, more than {limits.members}")
            return {name: _member(archive, _entry(entries, name), limits) for name in names}
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError) as error:
        raise _bad(f"the archive is damaged ({error})") from error


def _entry(entries: list[zipfile.ZipInfo], name: str) -> zipfile.ZipInfo:
    """The one entry called `name`, checked before a byte of it is unpacked."""
    found = [entry for entry in entries if entry.filename == name]
    if len(found) != 1:
        raise _bad(f"the archive holds {name} {len(found)} times, not once, at its root")
    entry = found[0]
    if entry.flag_bits & 0x1:
        raise _bad(f"{name} is encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _bad(f"{name} is compressed by an unusual method")
    return entry


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: Limits) -> bytes:
    cap = min(limits.member, max(entry.compress_size * limits.ratio, limits.free))
    if entry.file_size > cap:
        raise _bad(f"{entry.filename} would unpack to {entry.file_size:,} bytes, more than {cap:,}")
    parts: list[bytes] = []
    size = 0
    with archive.open(entry) as stream:
        while part := stream.read(_CHUNK):
            size += len(part)
            if size > cap:
                raise _bad(f"{entry.filename} unpacks to more than {cap:,} bytes")
            parts.append(part)
    return b"".join(parts)


def _bad(what: str) -> RecordError:
    return RecordError("record.bad-archive", f"{what}.")
