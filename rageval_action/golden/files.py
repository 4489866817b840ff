"""Finds and reads the files of a golden set, as bytes; what they mean is a reader's business."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rageval_action.errors import GoldenError
from rageval_action.golden.interface import Part, Parts

MAX_BYTES = 1 << 30
"""Largest golden file that is read; a set of this size has millions of queries."""

ROLES = ("rows", "topics", "qrels")
"""Names a location may use, and the order in which several files are hashed."""

_LFS = b"version https://git-lfs.github.com/spec/"
_UTF8_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")


def parse_location(location: str | Path) -> dict[str, str]:
    """Role -> path. `golden.jsonl` is one file; `topics=FILE,qrels=FILE` is two.

    Only a text that starts with a known role and `=` is split, so other paths may hold commas.

    Raises:
        GoldenError: `golden.bad-location` for an unknown or repeated role, or a role without a path.
    """
    text = str(location)
    if isinstance(location, Path) or not text.startswith(tuple(f"{role}=" for role in ROLES)):
        return {"rows": text}
    found: dict[str, str] = {}
    for piece in text.split(","):
        role, mark, path = piece.partition("=")
        if not mark or role not in ROLES or not path or role in found:
            raise GoldenError(
                "golden.bad-location",
                f'"{text}" does not name a golden set: "{piece}" is not NAME=FILE with a new name.',
                hint="Write a path, or topics=FILE,qrels=FILE.",
            )
        found[role] = path
    return found


def load(location: str | Path) -> dict[str, Part]:
    """Read every file that `location` names.

    Raises:
        GoldenError: `golden.not-found`, `golden.too-large`, `golden.empty`, `golden.lfs-pointer`,
            `golden.bad-encoding` or `golden.bad-location`.
    """
    return {role: _load_one(role, path) for role, path in parse_location(location).items()}


def require(parts: Parts, *roles: str) -> tuple[Part, ...]:
    """The parts with these roles, which must be all that were given.

    Raises:
        GoldenError: `golden.bad-location`.
    """
    if set(parts) == set(roles):
        return tuple(parts[role] for role in roles)
    wanted = "the path of one file" if roles == ("rows",) else ",".join(f"{role}=FILE" for role in roles)
    raise GoldenError(
        "golden.bad-location",
        "this format needs other files than were named.",
        hint=f"Write {wanted}.",
        where=",".join(f"{role}={part.path}" for role, part in parts.items()),
    )


def joint_sha256(parts: Parts) -> str:
    """SHA-256 of the bytes on disk; of several files, of their concatenation in the order of `ROLES`."""
    digest = hashlib.sha256()
    for role in ROLES:
        if role in parts:
            digest.update(parts[role].raw)
    return digest.hexdigest()


def _load_one(role: str, path: str) -> Part:
    file = Path(path)
    if not file.exists():
        raise GoldenError(
            "golden.not-found", "there is no such file.", hint="Check the path of the golden set.", where=path
        )
    if file.is_dir():
        raise GoldenError("golden.not-found", "this is a folder; a golden set is a file.", where=path)
    try:
        size = file.stat().st_size
        raw = file.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        reason = error.strerror or "the system gave no reason"
        raise GoldenError("golden.not-found", f"the file cannot be read: {reason}.", where=path) from error
    if size > MAX_BYTES:
        raise GoldenError(
            "golden.too-large", f"the file has {size:,} bytes; {MAX_BYTES:,} is the limit.", where=path
        )
    return Part(role=role, path=path, raw=raw, data=_checked(raw, path))


def _checked(raw: bytes, path: str) -> bytes:
    """`raw` without its byte-order mark: UTF-8 text, not empty, not a Git LFS pointer."""
    if raw.startswith(_LFS):
        raise GoldenError(
            "golden.lfs-pointer",
            "this is a Git LFS pointer, not the file itself.",
            hint="Fetch it with `git lfs pull`; in a workflow give actions/checkout `lfs: true`.",
            where=f"{path}:1",
        )
    if raw.startswith(_WIDE_BOMS):
        raise GoldenError(
            "golden.bad-encoding", "the file is UTF-16.", hint="Save it as UTF-8.", where=f"{path}:1"
        )
    data = raw.removeprefix(_UTF8_BOM)
    if not data.strip():
        raise GoldenError("golden.empty", "the file holds no rows.", where=path)
    _check_utf8(data, path)
    return data


def _check_utf8(data: bytes, path: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GoldenError(
            "golden.bad-encoding",
            f"byte 0x{data[error.start]:02x} is not UTF-8.",
            hint="Save the file as UTF-8.",
            where=f"{path}:{line}",
        ) from error
