"""Finds and reads the files of a golden set, as bytes; what they mean is a reader's business."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from rageval_action.core.model.lfs_pointer import MARK, lfs_size
from rageval_action.errors import GoldenError, written
from rageval_action.golden.reader_types import Part, Parts

MAX_BYTES = 1 << 30
"""Largest golden file that is read; a set of this size has millions of queries."""

ROLES = ("rows", "topics", "qrels", "corpus")
"""Names a location may use, and the order in which several files are hashed."""

ALIASES = {"queries": "topics"}
"""Other words for a role."""

PARQUET = b"PAR1"

_SPLITS = ("test", "dev", "train")
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".yaml", ".yml", ".parquet")
_UTF8_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "a zip archive (or a spreadsheet)",
    b"\x28\xb5\x2f\xfd": "zstd",
}


class Place(Struct, frozen=True, kw_only=True):
    """The files of one set, or of one of several that are read together.

    Attributes:
        files: role -> path.
        beside: names of files that lie in the same folder and are not read.
    """

    files: dict[str, str]
    beside: tuple[str, ...] = ()


def find(location: str | Path) -> tuple[Place, ...]:
    """Where the files of a golden set are.

    A location is one file, two (`queries=FILE,qrels=FILE`), a folder in BEIR's layout, a folder of golden files, or a
    pattern (`golden/*.jsonl`); several locations stand on lines of their own. Only a text that starts with a known
    role and `=` is split at commas, so other paths may hold them.

    Raises:
        GoldenError: `golden.bad-location` for an unknown or repeated role, a role without a path, or a file that is
            named twice; `golden.not-found` for a folder or a pattern without files.
    """
    pieces = [location] if isinstance(location, Path) else [line.strip() for line in location.split("\n")]
    places = [place for piece in pieces if str(piece) for place in _places(piece)]
    if not places:
        raise GoldenError("golden.not-found", "no golden set is named.", where=str(location))
    seen: set[str] = set()
    for place in places:
        whole = "|".join(os.path.normpath(path) for path in place.files.values())
        if whole in seen:
            raise GoldenError("golden.bad-location", "this file is named twice.", where=whole)
        seen.add(whole)
    return tuple(places)


def files_named(location: str) -> list[str]:
    """Paths of all files that a location names.

    Raises:
        GoldenError: as `find`.
    """
    return [path for place in find(location) for path in place.files.values()]


def _places(location: str | Path) -> list[Place]:
    text = str(location)
    if not isinstance(location, Path) and text.startswith(tuple(f"{name}=" for name in (*ROLES, *ALIASES))):
        return [Place(files=_by_role(text))]
    path = Path(text)
    if path.is_dir():
        return _in_folder(path)
    if any(mark in text for mark in "*?[") and not path.exists():
        found = sorted(name for name in glob.glob(text, recursive=True) if Path(name).is_file())  # noqa: PTH207
        if not found:
            raise GoldenError("golden.not-found", "no file matches this pattern.", where=text)
        return [Place(files={"rows": name}) for name in found]
    return [Place(files={"rows": text})]


def _by_role(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for piece in text.split(","):
        name, mark, path = piece.partition("=")
        role = ALIASES.get(name, name)
        if not mark or role not in ROLES or not path or role in found:
            raise GoldenError(
                "golden.bad-location",
                f'"{text}" does not name a golden set: "{piece}" is not NAME=FILE with a new name.',
                hint="Write a path, or queries=FILE,qrels=FILE (and corpus=FILE where there is one).",
            )
        found[role] = path
    return found


def _in_folder(folder: Path) -> list[Place]:
    """The files of a BEIR data set (queries, one split of the judgments, the corpus), else every golden file."""
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    queries = folder / "queries.jsonl"
    splits = [folder / "qrels" / f"{name}.tsv" for name in _SPLITS]
    splits = [path for path in (*splits, folder / "qrels.tsv") if path.is_file()]
    if queries.is_file() and splits:
        found = {"topics": str(queries), "qrels": str(splits[0])}
        corpus = folder / "corpus.jsonl"
        found |= {"corpus": str(corpus)} if corpus.is_file() else {}
        others = [
            name for name in names if name not in ("queries.jsonl", "corpus.jsonl", "qrels", "qrels.tsv")
        ]
        return [Place(files=found, beside=(*map(str, splits[1:]), *(str(folder / name) for name in others)))]
    rows = [name for name in names if name.lower().endswith(_SUFFIXES) and (folder / name).is_file()]
    if not rows or queries.is_file():
        raise GoldenError(
            "golden.not-found",
            "this folder does not hold queries.jsonl and qrels/test.tsv, as a BEIR data set does, "
            "nor files of rows (.jsonl, .json, .csv, .tsv, .yaml, .parquet) alone.",
            hint="Name the file, or queries=FILE,qrels=FILE.",
            where=str(folder),
        )
    beside = tuple(str(folder / name) for name in names if name not in rows)
    first, *more = rows
    return [
        Place(files={"rows": str(folder / first)}, beside=beside),
        *(Place(files={"rows": str(folder / name)}) for name in more),
    ]


def load(files: Mapping[str, str]) -> dict[str, Part]:
    """Read files by their roles.

    Raises:
        GoldenError: `golden.not-found`, `golden.too-large`, `golden.empty`, `golden.lfs-pointer`,
            `golden.bad-encoding` or `golden.packed`.
    """
    return {role: _load_one(role, path) for role, path in files.items()}


def load_rows(path: str | Path) -> Part:
    """Read one file of rows, as `load` does.

    Raises:
        GoldenError: as `load`; `golden.bad-location` where several files are named.
    """
    places = find(path)
    if len(places) > 1 or set(places[0].files) != {"rows"}:
        raise GoldenError("golden.bad-location", "this takes one file.", where=str(path))
    return load(places[0].files)["rows"]


@contextlib.contextmanager
def no_deeper_than_we_can(location: str | Path) -> Iterator[None]:
    """Values nested deeper than Python can follow are a fault of the file, whichever reader meets them.

    Raises:
        GoldenError: `golden.too-deep`.
    """
    try:
        yield
    except RecursionError:
        text = "its values are nested too deeply to be read."
        raise GoldenError("golden.too-deep", text, where=str(location)) from None


def require(parts: Parts, *roles: str, optional: tuple[str, ...] = ()) -> tuple[Part, ...]:
    """The parts with these roles, which must all be there; no others may be, but the optional ones.

    Raises:
        GoldenError: `golden.bad-location`.
    """
    if set(roles) <= set(parts) <= {*roles, *optional}:
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


def joint_path(parts: Parts) -> str:
    """The set as a user would name it: a path, or `topics=FILE,qrels=FILE`."""
    if "rows" in parts and len(parts) == 1:
        return parts["rows"].path
    return ",".join(f"{role}={parts[role].path}" for role in ROLES if role in parts)


def _load_one(role: str, path: str) -> Part:
    try:
        with Path(path).open("rb") as stream:
            about = os.fstat(stream.fileno())
            size = about.st_size
            if not stat.S_ISREG(about.st_mode):  # a device says that it has no size, and some have no end
                raw = stream.read(MAX_BYTES + 1)
                size = len(raw)
            elif size <= MAX_BYTES:
                raw = stream.read()
    except FileNotFoundError as error:
        hint = "Check the path of the golden set."
        raise GoldenError("golden.not-found", "there is no such file.", hint=hint, where=path) from error
    except IsADirectoryError as error:
        text = "this is a folder; a golden set is a file."
        raise GoldenError("golden.not-found", text, where=path) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GoldenError("golden.not-found", f"the file cannot be read: {reason}.", where=path) from error
    if size > MAX_BYTES:
        raise GoldenError(
            "golden.too-large", f"the file has {size:,} bytes; {MAX_BYTES:,} is the limit.", where=path
        )
    return Part(role=role, path=written(path), raw=raw, data=_checked(raw, path))


def _checked(raw: bytes, path: str) -> bytes:
    """`raw` without its byte-order mark: UTF-8 text (or Parquet), not empty, not a Git LFS pointer."""
    if raw.startswith(MARK):
        raise GoldenError(
            "golden.lfs-pointer",
            f"this is a Git LFS pointer, not the file itself{lfs_size(raw)}.",
            hint="Fetch it with `git lfs pull`; in a workflow give actions/checkout `lfs: true`.",
            where=f"{path}:1",
        )
    if raw.startswith(PARQUET):
        return raw
    for magic, name in _PACKED.items():
        if raw.startswith(magic):
            raise GoldenError(
                "golden.packed", f"this is {name}, not text.", hint="Unpack or export it.", where=path
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
