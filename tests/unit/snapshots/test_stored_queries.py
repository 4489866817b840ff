"""Query vectors that outlive a build, and those that come later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rageval_action.core.model.snapshot import BuildSettings
from rageval_action.errors import SnapshotError
from rageval_action.snapshots.build import Plan, build_from_vectors, build_with_model
from rageval_action.snapshots.encoder import query_encoder
from rageval_action.snapshots.read import read_snapshot
from rageval_action.snapshots.stored_queries import add_vectors, kept, read_stored
from rageval_action.snapshots.verify import verify
from tests.unit.snapshots.small_snapshots import SETTINGS, cached, chunks, unit_vectors, write
from tests.unit.snapshots.test_build import Model, vector_of


def test_a_rebuild_keeps_the_vectors_and_embeds_only_new_questions(tmp_path: Path) -> None:
    plan = Plan(out=tmp_path / "old", model="intfloat/e5-small")
    build_with_model(plan, chunks(5), ["one", "two"], Model(), lambda done, total: None)
    again = Model()
    plan = Plan(out=tmp_path / "new", model="intfloat/e5-small")
    keep = read_stored(tmp_path / "old")
    built = build_with_model(plan, chunks(6), ["two", "three"], again, lambda done, total: None, keep)
    assert [text for text in again.seen if text.startswith("query: ")] == ["query: three"]
    assert "snapshot.queries-not-kept" not in {notice.code for notice in built.notices}
    encode = query_encoder(read_snapshot(tmp_path / "new"), allow_model=False)
    expected = [vector_of(f"query: {text}") for text in ("one", "two", "three")]
    assert np.array_equal(encode(["one", "two", "three"]), np.array(expected))


def test_given_vectors_take_the_place_of_kept_ones(tmp_path: Path) -> None:
    write(tmp_path / "old")
    plan = Plan(out=tmp_path / "new", model_label="toy/model", revision="r1", query_prefix="q: ")
    given = unit_vectors(1, seed=9)
    build_from_vectors(plan, chunks(4), unit_vectors(4), ["two"], given, read_stored(tmp_path / "old"))
    encode = query_encoder(read_snapshot(tmp_path / "new"), allow_model=False)
    old = query_encoder(read_snapshot(tmp_path / "old"), allow_model=False)
    assert np.array_equal(encode(["two"]), given)
    assert np.array_equal(encode(["one"]), old(["one"]))


@pytest.mark.parametrize(
    ("settings", "dimension", "word"),
    [
        (BuildSettings(metric="ip", model="other", revision="r1", query_prefix="q: "), 4, "other"),
        (BuildSettings(metric="ip", model="toy/model", revision="r2", query_prefix="q: "), 4, "r2"),
        (BuildSettings(metric="ip", model="toy/model", revision="r1"), 4, "toy/model r1"),
        (SETTINGS, 8, "dimension"),
    ],
)
def test_vectors_of_another_space_are_never_kept(
    tmp_path: Path, settings: BuildSettings, dimension: int, word: str
) -> None:
    vectors, (notice,) = kept(read_stored(write(tmp_path / "old")), settings, dimension)
    assert vectors == {}
    assert notice.code == "snapshot.queries-not-kept"
    assert "2 query vectors" in notice.text
    assert word in notice.text


def test_two_unnamed_models_are_not_taken_for_one(tmp_path: Path) -> None:
    unnamed = BuildSettings(metric="ip")
    old = write(tmp_path / "old", settings=unnamed, queries=cached(["one"], settings=unnamed))
    vectors, (notice,) = kept(read_stored(old), unnamed, 4)
    assert vectors == {}
    assert "--model-name" in notice.text


def test_added_vectors_leave_the_rest_of_the_snapshot_as_it_was(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    encode = query_encoder(read_snapshot(folder), allow_model=False)
    old = encode(["one", "two"])
    vector = unit_vectors(1, seed=3)[0]
    fingerprint = read_snapshot(folder).manifest.fingerprint
    add_vectors(folder, {"three": vector})
    assert verify(folder).manifest.fingerprint == fingerprint
    changed = {path.name for path in folder.iterdir() if before.get(path.name) != path.read_bytes()}
    assert changed == {"queries.npz", "manifest.json"}
    encode = query_encoder(read_snapshot(folder), allow_model=False)
    assert np.array_equal(encode(["one", "two", "three"]), np.array([*old, vector]))


def test_the_first_vectors_of_a_snapshot_without_any(tmp_path: Path) -> None:
    folder = write(tmp_path / "s", queries={})
    assert "queries.npz" not in {path.name for path in folder.iterdir()}
    add_vectors(folder, {"one": unit_vectors(1)[0]})
    assert verify(folder).query_vectors == 1


def test_vectors_that_do_not_fit_their_checksum_are_not_kept(tmp_path: Path) -> None:
    folder = write(tmp_path / "s")
    write(tmp_path / "t", queries=cached(["other"]))
    (folder / "queries.npz").write_bytes((tmp_path / "t" / "queries.npz").read_bytes())
    with pytest.raises(SnapshotError) as caught:
        read_stored(folder)
    assert caught.value.code == "snapshot.checksum-mismatch"
