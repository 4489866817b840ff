"""What a snapshot is and whether it is sound, for a person or a machine to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rageval_action.core.model.snapshot import Manifest
from rageval_action.core.model.types import Notice
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.fingerprint import fingerprint
from rageval_action.snapshots.manifest import MANIFEST
from rageval_action.snapshots.read import read_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from rageval_action.core.model.snapshot import Snapshot


class SnapshotReport(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """What `rageval snapshot info` and `verify` tell.

    Attributes:
        checked: `contents` after the usual checks of a load, `everything` when checksums and fingerprint held too.
        smallest_norm, largest_norm: of the vectors that are not zero; 0 for a snapshot without vectors.
        zero_vectors: rows that no search returns.
        query_vectors: how many queries need no model.
    """

    schema_name: Literal["rageval.snapshot-report/1"] = "rageval.snapshot-report/1"
    path: str
    checked: Literal["contents", "everything"]
    manifest: Manifest
    smallest_norm: float
    largest_norm: float
    zero_vectors: int
    query_vectors: int
    notices: tuple[Notice, ...]


def describe(path: Path) -> SnapshotReport:
    """Load a snapshot without comparing checksums, and describe it.

    Raises:
        SnapshotError: as `read.read_snapshot`.
    """
    return _report(read_snapshot(path, verify_checksums=False), "contents")


def verify(path: Path) -> SnapshotReport:
    """Check everything: what every load checks, and that the contents are those of the fingerprint.

    Raises:
        SnapshotError: as `read.read_snapshot`, or `snapshot.fingerprint-mismatch`.
    """
    snapshot = read_snapshot(path)
    found = fingerprint(snapshot.manifest, snapshot.chunks, snapshot.shards)
    if found != snapshot.manifest.fingerprint:
        raise SnapshotError(
            "snapshot.fingerprint-mismatch",
            "the contents are not those that the manifest's fingerprint was made of, or its settings were edited.",
            hint="Rebuild the snapshot.",
            where=str(path / MANIFEST),
        )
    return _report(snapshot, "everything")


def _report(snapshot: Snapshot, checked: Literal["contents", "everything"]) -> SnapshotReport:
    return SnapshotReport(
        path=snapshot.path,
        checked=checked,
        manifest=snapshot.manifest,
        smallest_norm=snapshot.norms[0],
        largest_norm=snapshot.norms[1],
        zero_vectors=len(snapshot.empty_rows),
        query_vectors=len(snapshot.query_vectors),
        notices=snapshot.notices,
    )
