"""Finds the files of a snapshot folder and compares them with what its manifest promises."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rageval_action.core.model.snapshot import Manifest
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.problems import Problems, refuse_pointer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rageval_action.core.model.snapshot import FileEntry

MANIFEST = "manifest.json"
CHUNKS = "chunks.jsonl"
QUERIES = "queries.npz"
IMPORTED = "imported from "
"""How the build id of a snapshot begins that was another store before."""

MAX_MANIFEST_BYTES = 1 << 24
_PIECE = 1 << 24


def read_manifest(folder: Path) -> Manifest:
    """Decode `manifest.json`.

    Raises:
        SnapshotError: `snapshot.not-found` for a folder or manifest that is not there, `snapshot.lfs-pointer`, or
            `snapshot.bad-manifest` for one that does not fit the schema.
    """
    path = folder / MANIFEST
    if not folder.is_dir():
        what = "a snapshot is a folder, this is a file." if folder.exists() else "there is no such folder."
        hint = "Give the folder that `rageval snapshot build --out` made."
        raise SnapshotError("snapshot.not-found", what, hint=hint, where=str(folder))
    if not path.is_file():
        message = "the folder has no manifest.json, so it is not a snapshot."
        hint = "Give the folder that `rageval snapshot build --out` made."
        raise SnapshotError("snapshot.not-found", message, hint=hint, where=str(path))
    if path.stat().st_size > MAX_MANIFEST_BYTES:
        message = f"the manifest is larger than {MAX_MANIFEST_BYTES:,} bytes."
        raise SnapshotError("snapshot.bad-manifest", message, where=str(path))
    data = path.read_bytes()
    refuse_pointer(data, "the manifest", str(path))
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = f"the manifest does not fit its schema: {error}."
        hint = "Rebuild the snapshot, or see `rageval schema manifest`."
        raise SnapshotError("snapshot.bad-manifest", message, hint=hint, where=str(path)) from error
    _check_values(manifest, str(path))
    return manifest


def _check_values(manifest: Manifest, where: str) -> None:
    problems = Problems()
    if manifest.chunks < 1:
        problems.add("snapshot.empty", where, "the snapshot holds no chunks.")
    if bool(manifest.shards) != bool(manifest.dtype) or bool(manifest.shards) != (manifest.dimension > 0):
        text = "`shards`, `dtype` and `dimension` must all be given, or none of them (a snapshot without vectors)."
        problems.add("snapshot.bad-manifest", where, text)
    if len(set(manifest.shards)) != len(manifest.shards):
        problems.add("snapshot.bad-manifest", where, "a shard is listed twice.")
    problems.raise_if_any()


def encode_manifest(manifest: Manifest) -> bytes:
    """The bytes of `manifest.json`."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def is_remote(name: str) -> bool:
    """True for a shard that lies behind an fsspec URL."""
    return "://" in name


def locate(folder: Path, name: str) -> Path:
    """The path of a local file of the snapshot.

    Raises:
        SnapshotError: `snapshot.bad-path` for a name that is not a plain file name or a link that leaves the folder,
            `snapshot.not-found` for a file that is not there.
    """
    path = folder / name
    if not name or name in {".", ".."} or Path(name).name != name or "\\" in name or "\0" in name:
        message = f'"{name}" is not a plain file name; files of a snapshot lie in its folder.'
        raise SnapshotError("snapshot.bad-path", message, where=str(folder / MANIFEST))
    if not path.is_file():
        message = "the manifest lists this file, but it is not there."
        raise SnapshotError("snapshot.not-found", message, hint="Copy it again or rebuild.", where=str(path))
    if path.resolve().parent != folder.resolve():
        message = "the file is a link that leaves the snapshot's folder."
        raise SnapshotError("snapshot.bad-path", message, hint="Put the file itself there.", where=str(path))
    return path


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Read in large pieces: hashing lets go of the interpreter only while it works on a piece, and between two pieces it
    must wait for whatever another thread is doing.
    """
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as stream:
        room = memoryview(bytearray(min(_PIECE, max(1, path.stat().st_size))))
        while size := stream.readinto(room):
            digest.update(room[:size])
    return digest.hexdigest()


def compare_files(paths: Mapping[str, Path], entries: Mapping[str, FileEntry], problems: Problems) -> None:
    """Compare size and SHA-256 of every file with its entry; `snapshot.checksum-mismatch` for each that differs.

    Files without an entry are the caller's business.
    """
    for name, path in paths.items():
        entry = entries.get(name)
        if entry is None:
            continue
        try:
            size = path.stat().st_size
            digest = sha256_of(path) if size == entry.bytes else ""
        except OSError as error:
            problems.add("snapshot.unreadable", str(path), f"the file cannot be read: {error.strerror}.")
            continue
        if size != entry.bytes:
            text = f"the file has {size:,} bytes, the manifest says {entry.bytes:,}."
        elif digest != entry.sha256:
            text = "the file's SHA-256 is not the one in the manifest."
        else:
            continue
        problems.add(
            "snapshot.checksum-mismatch", str(path), f"{text} It was changed after the snapshot was built."
        )
