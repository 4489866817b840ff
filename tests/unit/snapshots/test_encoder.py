"""Where query vectors come from, and what is said when there are none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rageval_action.core.model.snapshot import Snapshot
from rageval_action.errors import CannotMeasureError, RagevalError, SnapshotError
from rageval_action.snapshots.encoder import QueryEncoder, query_encoder
from rageval_action.snapshots.model import load_model
from rageval_action.snapshots.read import read_snapshot
from tests.unit.snapshots.small_snapshots import SETTINGS, cached, write

TEXTS = ["one", "two"]


class Model:
    """Embeds a text as what the test wants; counts the texts it was given."""

    revision = "r1"
    notices = ()

    def __init__(self, snapshot: Snapshot, dimension: int = 4, sign: int = 1, value: float = 1.0) -> None:
        self.seen: list[str] = []
        self.cost: dict[str, float] = {}
        self._chunk = np.asarray(snapshot.shards[0][0]) * sign
        self._probe = SETTINGS.document_prefix + snapshot.chunks[0].text
        self._dimension = dimension
        self._value = value

    def count_cut(self, texts: Sequence[str]) -> int:
        return 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.seen += texts
        made = np.full((len(texts), self._dimension), self._value, np.float32)
        for row, text in enumerate(texts):
            if text == self._probe and self._dimension == 4:
                made[row] = self._chunk
        return made


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    return read_snapshot(write(tmp_path / "s", queries=cached(TEXTS)))


def _with(snapshot: Snapshot, model: Model, **options: object) -> QueryEncoder:
    return query_encoder(snapshot, load=lambda name, revision: model, **options)


def test_cached_vectors_need_no_model(snapshot: Snapshot) -> None:
    def never(name: str, revision: str) -> Model:
        raise AssertionError("no model is needed")

    encode = query_encoder(snapshot, load=never)
    assert np.array_equal(encode(["two", "one", "two"]), np.array(list(cached(TEXTS).values()))[[1, 0, 1]])
    assert encode.origin == "cached"
    assert encode.fresh("one") is None
    assert encode([]).shape == (0, 4)


def test_a_model_that_embeds_nothing_is_told(snapshot: Snapshot) -> None:
    for asked, told in (
        ("", []),
        (f"/models/{SETTINGS.model}", []),
        ("/models/other", ["the model other was not used"]),
    ):
        encode = query_encoder(snapshot, model_path=asked)
        assert encode.notices == ()
        encode(["one"])
        assert [notice.text.partition(":")[0] for notice in encode.notices] == told


def test_importing_the_encoder_loads_no_model_library(snapshot: Snapshot) -> None:
    before = "sentence_transformers" in sys.modules
    query_encoder(snapshot)(["one"])
    assert ("sentence_transformers" in sys.modules) == before


def test_the_rest_is_embedded_once_each_with_the_prefix(snapshot: Snapshot) -> None:
    model = Model(snapshot)
    encode = _with(snapshot, model)
    encode(["new", "one", "new"])
    encode(["new", "newer"])
    assert model.seen == ["d: text 0", "q: new", "q: newer"]
    assert encode.origin == "mixed"


def test_a_fresh_vector_is_embedded_each_time(snapshot: Snapshot) -> None:
    model = Model(snapshot)
    encode = _with(snapshot, model)
    encode(["new"])
    assert encode.origin == "model"
    model.seen.clear()
    assert encode.fresh("new") is not None
    assert encode.fresh("new") is not None
    assert model.seen == ["q: new", "q: new"]


def test_texts_are_looked_up_in_nfc(snapshot: Snapshot, tmp_path: Path) -> None:
    made = read_snapshot(write(tmp_path / "t", queries=cached(["caf\u00e9"])))
    assert query_encoder(made, allow_model=False)(["cafe\u0301"]).shape == (1, 4)


@pytest.mark.parametrize("field", ["model", "revision", "query_prefix"])
def test_vectors_of_another_model_are_not_used(snapshot: Snapshot, field: str) -> None:
    manifest = msgspec.structs.replace(snapshot.manifest, **{field: "other"})
    other = msgspec.structs.replace(snapshot, manifest=manifest)
    with pytest.raises(CannotMeasureError):
        query_encoder(other, allow_model=False)(["one"])


def test_no_vectors_and_no_model_is_cannot_measure(snapshot: Snapshot) -> None:
    with pytest.raises(CannotMeasureError) as caught:
        query_encoder(snapshot, allow_model=False)(["one", "lost one", "lost two"])
    error = caught.value
    assert (error.code, error.exit_code, error.where) == ("snapshot.no-query-vectors", 3, snapshot.path)
    assert "2 query vectors" in error.message
    assert '"lost one"' in error.message
    assert "--queries" in error.hint
    assert 'pip install "rag-eval-action[embed]"' in error.hint


def test_the_missing_library_is_named(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(CannotMeasureError) as caught:
        query_encoder(snapshot)(["lost"])
    assert caught.value.code == "snapshot.no-query-vectors"
    assert caught.value.message.startswith(
        '1 query vector is neither in the snapshot nor computable, the first for "lost"'
    )
    assert caught.value.message.endswith("is not installed.")
    assert str(caught.value).count("pip install") == 1
    with pytest.raises(CannotMeasureError) as caught:
        load_model("any")
    assert (caught.value.code, caught.value.exit_code) == ("snapshot.embed-extra-missing", 3)
    assert 'pip install "rag-eval-action[embed]"' in caught.value.hint


def test_the_model_of_the_manifest_is_loaded_in_its_revision(snapshot: Snapshot) -> None:
    asked = []

    def load(name: str, revision: str) -> Model:
        asked.append((name, revision))
        return Model(snapshot)

    query_encoder(snapshot, load=load)(["new"])
    query_encoder(snapshot, load=load, model_path="/models/x")(["new"])
    assert asked == [("toy/model", "r1"), ("/models/x", "")]


def test_a_snapshot_may_not_name_a_folder_as_its_model(
    snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model folder can bring code, and the snapshot may come from a pull request."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy" / "model").mkdir(parents=True)
    model = Model(snapshot)
    with pytest.raises(CannotMeasureError, match="only --model may do that"):
        _with(snapshot, model)(["new"])
    assert model.seen == []
    _with(snapshot, model, model_path="toy/model")(["new"])
    assert model.seen


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ({"dimension": 3}, "snapshot.dimension-mismatch"),
        ({"value": np.nan}, "snapshot.not-finite"),
        ({"sign": -1}, "snapshot.model-mismatch"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(snapshot: Snapshot, model: dict[str, float], code: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        _with(snapshot, Model(snapshot, **model))(["new"])
    assert caught.value.code == code


def test_a_snapshot_without_a_model_name_says_so(snapshot: Snapshot) -> None:
    manifest = msgspec.structs.replace(snapshot.manifest, model="")
    with pytest.raises(RagevalError, match="the snapshot names no model"):
        query_encoder(msgspec.structs.replace(snapshot, manifest=manifest))(["one"])


@pytest.mark.parametrize("name", ["x" * 5000, "toy/\x1b[2J", "toy\nmodel"])
def test_what_is_no_name_is_handed_to_no_library(snapshot: Snapshot, name: str) -> None:
    named = msgspec.structs.replace(
        snapshot, manifest=msgspec.structs.replace(snapshot.manifest, model=name), query_vectors={}
    )
    model = Model(named)
    with pytest.raises(CannotMeasureError, match="is no name"):
        _with(named, model)(["new"])
    assert model.seen == []
