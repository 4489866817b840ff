"""Opening a snapshot by location, and describing it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.snapshots.interface import SOURCES, open_snapshot
from rageval_action.snapshots.verify import describe, verify
from tests.unit.snapshots.small_snapshots import write


def test_a_folder_needs_no_scheme(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    for location in (folder, str(folder), f"folder:{folder}"):
        assert open_snapshot(location).manifest.chunks == 10
    assert open_snapshot(write(tmp_path / "a:b")).manifest.chunks == 10


def test_an_unknown_scheme_is_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        open_snapshot("nosuch:place")
    assert caught.value.code == "config.unknown-source"
    for name in SOURCES:
        assert name in caught.value.hint


def test_a_missing_folder_is_a_snapshot_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError) as caught:
        open_snapshot(str(tmp_path / "none"))
    assert caught.value.code == "snapshot.not-found"


def test_verify_compares_the_fingerprint(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    assert verify(folder).checked == "everything"
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "model": "another"}))
    with pytest.raises(SnapshotError) as caught:
        verify(folder)
    assert (caught.value.code, caught.value.where) == (
        "snapshot.fingerprint-mismatch",
        str(folder / "manifest.json"),
    )


def test_a_description_has_what_was_measured(tmp_path: Path) -> None:
    report = describe(write(tmp_path / "s"))
    assert (report.zero_vectors, report.query_vectors, report.checked) == (0, 2, "contents")
    assert (report.smallest_norm, report.largest_norm) == pytest.approx((1, 1), abs=1e-6)
