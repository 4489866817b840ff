"""Where a store lies and how its fields are named: `chroma:./db?collection=docs&doc=source`."""

from __future__ import annotations

import difflib
import hashlib
import stat
from pathlib import Path
from urllib.parse import parse_qsl

from rageval_action.core.model.lfs_pointer import MOST_BYTES
from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.snapshots.problems import refuse_pointer

FIELDS = ("id", "doc", "text", "vector", "acl", "metric", "model")
"""Options of every importer: names of the fields that hold these, the metric, and the model that made the vectors."""

MAX_FILES = 100_000


class StoreLocation:
    """A path or address with options; as text, `scheme:path` without the options.

    Attributes:
        scheme: the source's name.
        where: the path as given, without options: for messages.
        options: what was given after `?`.

    Raises:
        ConfigError: `config.unknown-option`.
    """

    def __init__(self, scheme: str, text: str, own_options: tuple[str, ...] = ()) -> None:
        self.scheme = scheme
        self.where, _, tail = text.partition("?")
        self.options = dict(parse_qsl(tail, keep_blank_values=True))
        known = (*FIELDS, *own_options)
        for name in self.options:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"Did you mean {near[0]}?" if near else f"It takes: {', '.join(known)}."
                message = f'{scheme}: has no option "{name}".'
                raise ConfigError("config.unknown-option", message, hint=hint, where=text)

    def __str__(self) -> str:
        return f"{self.scheme}:{self.where}"

    def get(self, name: str, default: str = "") -> str:
        """The option, or the default."""
        return self.options.get(name) or default

    def need(self, name: str, why: str) -> str:
        """The option.

        Raises:
            ConfigError: `config.missing-option`.
        """
        if not self.options.get(name):
            hint = f"Write {self}?{name}=…"
            raise ConfigError("config.missing-option", why, hint=hint, where=str(self))
        return self.options[name]

    def chunks_file(self) -> Path:
        """The option `chunks`: a file with the texts and ids that belong to bare vectors.

        Raises:
            ConfigError: `config.missing-option`.
        """
        return Path(self.need("chunks", "vectors alone have no texts and no ids: give the chunks' file."))

    def file(self) -> Path:
        """The place as a file.

        Raises:
            SnapshotError: `snapshot.not-found`.
        """
        path = Path(self.where)
        if not path.is_file():
            raise SnapshotError("snapshot.not-found", "there is no such file.", where=self.where)
        return path

    def folder(self, *inside: str) -> Path:
        """The place as a folder that holds the files `inside`, and nothing that leads out of it.

        Raises:
            SnapshotError: `snapshot.not-found`, and what `files_of` raises.
        """
        path = Path(self.where)
        if not path.is_dir():
            raise SnapshotError("snapshot.not-found", f"there is no folder {path}.", where=self.where)
        found = files_of(path)
        for name in inside:
            if path / name not in found:
                raise SnapshotError("snapshot.not-found", f"there is no {path / name}.", where=self.where)
        return path


def files_of(path: Path) -> list[Path]:
    """The plain files of a folder, sorted; a file, and what SQLite keeps beside it while a program has it open.

    Raises:
        SnapshotError: `snapshot.not-found`; `snapshot.link-in-store` for a symbolic link, which could lead anywhere,
            and for pipes and devices; `snapshot.too-large`.
    """
    if path.is_file():
        beside = (path.with_name(path.name + ending) for ending in ("-wal", "-journal"))
        return [path, *(part for part in beside if part.is_file() and part.stat().st_size)]
    if not path.is_dir():
        raise SnapshotError("snapshot.not-found", "there is no such file or folder.", where=str(path))
    found: list[Path] = []
    for entry in path.rglob("*"):
        kind = entry.lstat().st_mode
        if stat.S_ISDIR(kind):
            continue
        if not stat.S_ISREG(kind):
            what = "a symbolic link" if stat.S_ISLNK(kind) else "a pipe or device"
            text = f"the store holds {what}."
            raise SnapshotError("snapshot.link-in-store", text, hint="Copy plain files.", where=str(entry))
        found.append(entry)
        if len(found) > MAX_FILES:
            raise SnapshotError("snapshot.too-large", f"over {MAX_FILES} files.", where=str(path))
    return sorted(found)


def refuse_pointers(*roots: Path) -> None:
    """Refuse a store of which a file is a Git LFS pointer; what is not there is left to the reader.

    Raises:
        SnapshotError: `snapshot.lfs-pointer`, and what `files_of` raises.
    """
    for path in (path for root in roots if root.exists() for path in files_of(root)):
        if path.stat().st_size < MOST_BYTES:
            with path.open("rb") as stream:
                refuse_pointer(stream.read(MOST_BYTES), "the store itself", str(path))


def content_key(location: StoreLocation) -> str:
    """SHA-256 over the names and contents of the store's files and the options: the same store, the same key."""
    digest = hashlib.sha256(repr((location.scheme, sorted(location.options.items()))).encode())
    chunks = location.get("chunks")
    for root in (Path(location.where), *([Path(chunks)] if chunks else [])):
        for path in files_of(root):
            name = str(path.relative_to(root)) if root.is_dir() else path.name
            digest.update(f"{name}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
