"""Members of an untrusted zip, in memory and by exact name: nothing is written under a name that the archive chose."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Literal

from msgspec import Struct


class ZipLimits(Struct, frozen=True, kw_only=True):
    """What is still believed.

    Attributes:
        member: bytes of one member when unpacked.
        archive: bytes of the zip itself. members: entries in it, ours or not.
        ratio: unpacked over packed size, for members above `free` bytes: small ones may pack as well as they like.
    """

    member: int
    archive: float = math.inf
    members: float = math.inf
    ratio: float = 200
    free: int = 10 << 20


class ZipError(Exception):
    """The zip is not read. `kind`: `missing`: a member is not there once; `too-large`; `damaged`: any other reason."""

    def __init__(self, kind: Literal["missing", "too-large", "damaged"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Members:
    """The entries of an open zip."""

    def __init__(self, archive: zipfile.ZipFile, limits: ZipLimits) -> None:
        self._archive = archive
        self._limits = limits
        self.names = tuple(archive.namelist())

    def read(self, name: str) -> bytes:
        """The bytes of the one member called `name`, which was checked before a byte of it was unpacked.

        Raises:
            ZipError: it is not there once; it is encrypted, packed by another method than deflate, too large, or not
                as long as the zip says.
        """
        found = [entry for entry in self._archive.infolist() if entry.filename == name]
        if len(found) != 1:
            raise ZipError("missing", f"{name} is there {len(found)} times, not once, at the root")
        entry = found[0]
        if entry.flag_bits & 0x1:
            raise ZipError("damaged", f"{name} is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ZipError("damaged", f"{name} is compressed by an unusual method")
        most = min(self._limits.member, max(entry.compress_size * self._limits.ratio, self._limits.free))
        if entry.file_size > most:
            text = f"{name} unpacks to {entry.file_size:,} bytes, more than {most:,.0f}"
            raise ZipError("too-large", text)
        with self._archive.open(entry) as stream:
            data = stream.read(entry.file_size + 1)
        if len(data) != entry.file_size:
            raise ZipError("damaged", f"{name} is not as long as the zip says")
        return data


@contextmanager
def open_zip(file: BinaryIO, limits: ZipLimits) -> Iterator[Members]:
    """The members of the zip `file`, as long as the block runs.

    Raises:
        ZipError: it is no zip or damaged, also where that shows only inside the block; it goes over a limit.
    """
    size = file.seek(0, 2)
    if size > limits.archive:
        raise ZipError("too-large", f"the archive has {size:,} bytes, more than {limits.archive:,}")
    try:
        with zipfile.ZipFile(file) as archive:
            members = Members(archive, limits)
            if len(members.names) > limits.members:
                text = f"the archive has {len(members.names):,} entries, more than {limits.members}"
                raise ZipError("too-large", text)
            yield members
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OverflowError) as error:
        raise ZipError("damaged", f"the archive is damaged ({error})") from error
