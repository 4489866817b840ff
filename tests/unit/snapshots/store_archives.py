"""The stores that libraries of several versions wrote: `tests/fixtures/stores`, made by `tools/make_store_fixtures.py`."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.small_project import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "stores"
CORPUS: dict[str, Any] = json.loads((FOLDER / "corpus.json").read_text(encoding="utf-8"))
ROWS: list[dict[str, Any]] = CORPUS["rows"]


class Stored(Struct, frozen=True, kw_only=True):
    """One archive: which library wrote it, and the stores in it."""

    archive: str
    store: str
    label: str
    python: str
    packages: dict[str, str]
    cases: list[dict[str, Any]]

    def unpack(self, folder: Path) -> Path:
        """The archive's files."""
        with tarfile.open(FOLDER / self.archive) as archive:
            archive.extractall(folder, filter="data")
        return folder


def archives() -> list[Stored]:
    """What every archive says about itself, by store and version."""
    return [_manifest(path) for path in sorted(FOLDER.glob("*.tar.gz"), key=_order)]


def _order(path: Path) -> tuple[str, list[int]]:
    """`chroma-0.4.24` before `chroma-1.0.0`, and 1.8.0 before 1.10.0."""
    store, _, label = path.name.removesuffix(".tar.gz").partition("-")
    return f"{store}-{label.rpartition('-')[0]}", [int(part) for part in label.rpartition("-")[2].split(".")]


def _manifest(path: Path) -> Stored:
    with tarfile.open(path) as archive:
        member = archive.next()
        assert member is not None
        assert member.name == "manifest.json"
        stream = archive.extractfile(member)
        assert stream is not None
        return Stored(archive=path.name, **json.load(stream))


def versions_table() -> list[str]:
    """The lines of the table in `docs/snapshots.md`: which versions of which library each source was tried on."""
    lines = ["| location | written by | refused |", "| --- | --- | --- |"]
    stores = dict.fromkeys(stored.store for stored in archives())
    for store in stores:
        told: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
        for stored in archives():
            if stored.store == store:
                library, version = next(iter(stored.packages.items()))
                refused = all("refused" in case for case in stored.cases)
                told[refused].setdefault(library, []).append(version)
        read, refused_ones = (
            "; ".join(f"{name} {', '.join(them)}" for name, them in part.items()) for part in told
        )
        lines.append(f"| `{store}:` | {read} | {refused_ones} |")
    return lines


def cases() -> Iterator[tuple[str, Stored, dict[str, Any]]]:
    """A name, the archive and the case, for every store in every archive."""
    for stored in archives():
        for case in stored.cases:
            place = case["location"].removeprefix(stored.store + ":").partition("?")[0]
            yield f"{stored.store}-{stored.label}-{Path(place).name}", stored, case
