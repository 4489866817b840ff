"""Stores written by their own libraries, in every version whose format differs, give back what was put into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.core.model.types import Chunk
from rageval_action.errors import RagevalError
from rageval_action.snapshots.interface import open_snapshot
from tests.small_project import ROOT
from tests.unit.snapshots.store_archives import ROWS, Stored, archives, cases, versions_table
from tools.make_store_fixtures import RECIPES

CASES = {name: (stored, case) for name, stored, case in cases()}
GOOD = [name for name, (_, case) in CASES.items() if "refused" not in case]
REFUSED = [name for name, (_, case) in CASES.items() if "refused" in case]
LIBRARIES = {
    "chroma": "chromadb",
    "hf": "pyarrow",
    "lancedb": "lancedb",
    "parquet": "pyarrow",
    "sqlite-vec": "sqlite_vec",
}
"""What an import needs beside the base install."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own."""
    monkeypatch.setenv("RAGEVAL_CACHE", str(tmp_path / "cache"))


def location(stored: Stored, case: dict[str, Any], folder: Path) -> str:
    scheme = case["location"].partition(":")[0]
    inside = "chroma" if "/chroma" in case["location"] else scheme
    pytest.importorskip(LIBRARIES.get(inside, "numpy"))
    return str(case["location"]).replace("{folder}", str(stored.unpack(folder)))


@pytest.mark.parametrize("name", GOOD)
def test_what_went_in_comes_out(name: str, tmp_path: Path) -> None:
    stored, case = CASES[name]
    made = open_snapshot(location(stored, case, tmp_path / "store"))
    names = case.get("names", [row["id"] for row in ROWS])
    chosen = _chosen(made, names)
    without = set(case.get("without", ()))
    assert made.manifest.metric == case["metric"]
    assert [chunk.text for chunk in chosen] == ["" if "text" in without else row["text"] for row in ROWS]
    if "source" not in without:
        assert [chunk.doc for chunk in chosen] == [row["doc"] for row in ROWS]
    for chunk, row in zip(chosen, ROWS, strict=True):
        kept = {key: value for key, value in row["metadata"].items() if key not in without}
        held = chunk.metadata or {}
        assert {key: held[key] for key in kept} == kept
    _check_vectors(made, chosen, case)


def _chosen(made: Snapshot, names: list[str]) -> list[Chunk]:
    """The chunks in the corpus's order, by id, or by text where the library made the ids; and no others."""
    assert len(made.chunks) == len(ROWS)
    if not names:
        by_text = {chunk.text: chunk for chunk in made.chunks}
        return [by_text[row["text"]] for row in ROWS]
    by_id = {chunk.id: chunk for chunk in made.chunks}
    return [by_id[name] for name in names]


def _check_vectors(made: Snapshot, chosen: list[Chunk], case: dict[str, Any]) -> None:
    """Equal to the last bit, or to what the library itself gives back, or to the precision that it states."""
    at = {chunk.id: row for row, chunk in enumerate(made.chunks)}
    stored = np.concatenate([np.asarray(shard) for shard in made.shards])[[at[chunk.id] for chunk in chosen]]
    given = np.array([row["vector"] for row in ROWS], dtype=np.float32)
    kept = case.get("vectors", "exact")
    precision = case.get("precision", 0.0)
    lossy = [notice.text for notice in made.notices if notice.code == "snapshot.lossy-index"]
    if kept == "normalised":
        unit = given / np.linalg.norm(given, axis=1, keepdims=True)
        np.testing.assert_allclose(stored, unit, atol=1e-6)
    else:
        expected = given if kept == "exact" else np.array(kept, dtype=np.float32)
        np.testing.assert_allclose(stored, expected, rtol=0, atol=precision * np.abs(expected).max())
    assert bool(lossy) == ("lossy" in case)
    assert case.get("lossy", "") in "".join(lossy)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_safely_is_refused(name: str, tmp_path: Path) -> None:
    stored, case = CASES[name]
    place = location(stored, case, tmp_path / "store")
    with pytest.raises(RagevalError) as caught:
        open_snapshot(place)
    assert caught.value.code == case["refused"]
    assert caught.value.exit_code == 2
    assert str(tmp_path) in caught.value.where
    assert caught.value.hint


def test_the_documentation_names_the_versions() -> None:
    documented = (ROOT / "docs" / "snapshots.md").read_text(encoding="utf-8")
    assert "\n".join(versions_table()) in documented


def test_every_archive_can_be_made_again() -> None:
    made = {(stored.store, stored.label): stored.packages for stored in archives()}
    assert set(made) == {(store, label) for store, labels in RECIPES.items() for label in labels}
    for (store, label), packages in made.items():
        library, _, version = RECIPES[store][label].packages.split()[0].partition("==")
        assert packages[library] == version
        assert label.endswith(version)
