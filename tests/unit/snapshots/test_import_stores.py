from __future__ import annotations

import json
import os
import pickle
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rageval_action.errors import ConfigError, SnapshotError
from rageval_action.snapshots.importers import reader_process
from rageval_action.snapshots.interface import open_snapshot
from tests.unit.snapshots.imported_corpus import DOCS, IDS, TEXTS, opened, same, vectors


def refused(location: str) -> SnapshotError:
    with pytest.raises(SnapshotError) as caught:
        open_snapshot(location)
    return caught.value


# Chroma


def chroma_folder(folder: Path, *, space: str = "", name: str = "docs", count: int = 6) -> Any:
    """A folder that Chroma itself wrote."""
    chromadb = pytest.importorskip("chromadb")
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    metadata = {"hnsw:space": space} if space else None
    collection = client.create_collection(name, metadata=metadata, embedding_function=None)
    if count == 6:
        collection.add(
            ids=IDS,
            embeddings=vectors().tolist(),
            documents=TEXTS,
            metadatas=[{"source": doc} for doc in DOCS],
        )
    return collection


@pytest.mark.slow
@pytest.mark.parametrize(("space", "metric"), [("", "l2"), ("cosine", "cosine"), ("ip", "ip"), ("l2", "l2")])
def test_chroma(tmp_path: Path, space: str, metric: str) -> None:
    chroma_folder(tmp_path / "db", space=space)
    before = {path: path.read_bytes() for path in (tmp_path / "db").rglob("*") if path.is_file()}
    made = opened(f"chroma:{tmp_path}/db")
    same(made, vectors())
    assert made.manifest.metric == metric
    assert {path: path.read_bytes() for path in (tmp_path / "db").rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_chroma_with_rows_in_the_index_and_in_the_queue(tmp_path: Path) -> None:
    """2,500 rows: the index is written every 1,000, the rest waits in the queue; some are changed and deleted."""
    collection = chroma_folder(tmp_path / "db", count=0)
    many = vectors(count=2500)
    for start in range(0, 2500, 500):
        collection.add(
            ids=[f"r{at}" for at in range(start, start + 500)],
            embeddings=many[start : start + 500].tolist(),
            documents=[f"text {at}" for at in range(start, start + 500)],
        )
    collection.update(ids=["r7", "r2400"], embeddings=(-many[[7, 2400]]).tolist())
    collection.delete(ids=["r8", "r2401"])
    made = open_snapshot(f"chroma:{tmp_path}/db")
    stored = dict(zip([chunk.id for chunk in made.chunks], np.concatenate(made.shards), strict=True))
    assert len(stored) == 2498
    assert not {"r8", "r2401"} & set(stored)
    np.testing.assert_allclose(stored["r7"], -many[7], atol=1e-6)
    np.testing.assert_allclose(stored["r2400"], -many[2400], atol=1e-6)
    np.testing.assert_allclose(stored["r1234"], many[1234], atol=1e-6)


@pytest.mark.slow
def test_which_chroma_collection(tmp_path: Path) -> None:
    chroma_folder(tmp_path / "db", name="one")
    chroma_folder(tmp_path / "db", name="two")
    error = refused(f"chroma:{tmp_path}/db")
    assert error.code == "snapshot.which-collection"
    assert "one, two" in error.message
    same(open_snapshot(f"chroma:{tmp_path}/db?collection=two"), vectors())


class _Payload:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return (os.system, (f"touch {self.path}",))


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["sqlite cut", "sqlite noise", "segment cut", "segment pickle", "link"])
def test_damaged_and_hostile_chroma_folders(tmp_path: Path, damage: str) -> None:
    collection = chroma_folder(tmp_path / "db", count=0)
    many = vectors(count=1500)
    collection.add(ids=[f"r{at}" for at in range(1500)], embeddings=many.tolist())
    database = tmp_path / "db" / "chroma.sqlite3"
    segments = [path.parent for path in (tmp_path / "db").rglob("data_level0.bin")]
    mark = tmp_path / "pwned"
    if damage == "sqlite cut":
        database.write_bytes(database.read_bytes()[:5000])
    elif damage == "sqlite noise":
        database.write_bytes(os.urandom(5000))
    elif damage == "link":
        (tmp_path / "db" / "out").symlink_to("/etc/passwd")
    else:
        assert segments
    for folder in segments:
        if damage == "segment cut":
            (folder / "data_level0.bin").write_bytes((folder / "data_level0.bin").read_bytes()[:100])
            (folder / "header.bin").write_bytes(b"\xff" * 100)
        if damage == "segment pickle":
            (folder / "index_metadata.pickle").write_bytes(pickle.dumps(_Payload(mark)))
    try:
        made = open_snapshot(f"chroma:{tmp_path}/db")
    except SnapshotError:
        pass
    else:  # the damaged part may not have been needed; then what came out is right
        assert damage.startswith("segment")
        stored = dict(zip([chunk.id for chunk in made.chunks], np.concatenate(made.shards), strict=True))
        np.testing.assert_allclose(stored["r1"], many[1], atol=1e-6)
    assert not mark.exists()


# LanceDB


def lance_table(folder: Path, metric: str = "", table: str = "docs") -> Any:
    lancedb = pytest.importorskip("lancedb")
    base = lancedb.connect(str(folder))
    rows = [
        {"id": name, "text": text, "doc": doc, "vector": vector.tolist()}
        for name, text, doc, vector in zip(IDS, TEXTS, DOCS, vectors(), strict=True)
    ]
    made = base.create_table(table, rows[:4])
    made.add(rows[4:])
    made.add([{"id": "gone", "text": "x", "doc": "x", "vector": [0.5] * 8}])
    made.delete("id = 'gone'")
    return made


@pytest.mark.slow
def test_lancedb(tmp_path: Path) -> None:
    lance_table(tmp_path / "db")
    made = opened(f"lancedb:{tmp_path}/db")
    same(made, vectors())
    assert made.manifest.metric == "l2"


@pytest.mark.slow
def test_which_lancedb_table_and_a_metric_of_ones_own(tmp_path: Path) -> None:
    lance_table(tmp_path / "db", table="one")
    lance_table(tmp_path / "db", table="two")
    assert "one, two" in refused(f"lancedb:{tmp_path}/db").message
    made = open_snapshot(f"lancedb:{tmp_path}/db?table=two&metric=cosine")
    same(made, vectors())
    assert made.manifest.metric == "cosine"


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["data cut", "data noise", "versions gone"])
def test_damaged_lancedb_folders_are_refused(tmp_path: Path, damage: str) -> None:
    lance_table(tmp_path / "db")
    table = tmp_path / "db" / "docs.lance"
    if damage == "versions gone":
        for path in (table / "_versions").iterdir():
            path.unlink()
    for path in (table / "data").iterdir():
        if damage == "data cut":
            path.write_bytes(path.read_bytes()[:20])
        elif damage == "data noise":
            path.write_bytes(os.urandom(2000))
    assert refused(f"lancedb:{tmp_path}/db").code in {"snapshot.unreadable", "snapshot.import-crashed"}


# sqlite-vec


def vec_database(path: Path, column: str = "embedding float[8]") -> None:
    """A database that the extension itself wrote, in a SQLite that can load it."""
    apsw = pytest.importorskip("apsw")
    sqlite_vec = pytest.importorskip("sqlite_vec")
    base = apsw.Connection(str(path))
    base.enable_load_extension(True)
    base.load_extension(sqlite_vec.loadable_path())
    base.execute(f"CREATE VIRTUAL TABLE vec USING vec0({column})")
    base.execute("CREATE TABLE chunks(n INTEGER PRIMARY KEY, chunk_id TEXT, doc TEXT, content TEXT)")
    for at, vector in enumerate(vectors(), 1):
        base.execute("INSERT INTO vec(rowid, embedding) VALUES (?, ?)", (at, vector.tobytes()))
        base.execute("INSERT INTO chunks VALUES (?, ?, ?, ?)", (at, IDS[at - 1], DOCS[at - 1], TEXTS[at - 1]))
    base.execute("INSERT INTO vec(rowid, embedding) VALUES (99, ?)", (np.zeros(8, np.float32).tobytes(),))
    base.execute("DELETE FROM vec WHERE rowid = 99")
    base.close()


@pytest.mark.parametrize(
    ("column", "metric"),
    [
        ("embedding float[8]", "l2"),
        ("embedding float[8] distance_metric=cosine", "cosine"),
        ("+note text, embedding float[8]", "l2"),
    ],
)
def test_sqlite_vec(tmp_path: Path, column: str, metric: str) -> None:
    vec_database(tmp_path / "v.db", column)
    made = opened(f"sqlite-vec:{tmp_path}/v.db?texts=chunks&id=chunk_id")
    same(made, vectors())
    assert made.manifest.metric == metric
    bare = open_snapshot(f"sqlite-vec:{tmp_path}/v.db")
    assert [chunk.id for chunk in bare.chunks] == ["1", "2", "3", "4", "5", "6"]


def test_sqlite_vec_with_text_keys_and_many_rows(tmp_path: Path) -> None:
    apsw = pytest.importorskip("apsw")
    sqlite_vec = pytest.importorskip("sqlite_vec")
    base = apsw.Connection(str(tmp_path / "v.db"))
    base.enable_load_extension(True)
    base.load_extension(sqlite_vec.loadable_path())
    base.execute("CREATE VIRTUAL TABLE vec USING vec0(key text primary key, embedding float[8])")
    many = vectors(count=2500)
    with base:
        for at, vector in enumerate(many):
            base.execute("INSERT INTO vec(key, embedding) VALUES (?, ?)", (f"k{at}", vector.tobytes()))
        base.execute("DELETE FROM vec WHERE key IN ('k3', 'k1030')")
    base.close()
    made = open_snapshot(f"sqlite-vec:{tmp_path}/v.db")
    stored = dict(zip([chunk.id for chunk in made.chunks], np.concatenate(made.shards), strict=True))
    assert len(stored) == 2498
    np.testing.assert_array_equal(stored["k2047"], many[2047])


def test_damaged_and_odd_sqlite_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "noise.db").write_bytes(os.urandom(4096))
    assert refused(f"sqlite-vec:{tmp_path}/noise.db").code == "snapshot.not-sqlite"
    with closing(sqlite3.connect(tmp_path / "none.db")) as base:
        base.execute("CREATE TABLE t(x)")
    assert refused(f"sqlite-vec:{tmp_path}/none.db").code == "snapshot.which-table"
    vec_database(tmp_path / "v.db")
    with closing(sqlite3.connect(tmp_path / "v.db")) as base:
        base.execute("UPDATE vec_rowids SET chunk_offset = 1000000000")
        base.commit()
    assert refused(f"sqlite-vec:{tmp_path}/v.db").code == "snapshot.truncated"
    vec_database(tmp_path / "emptied.db")
    with closing(sqlite3.connect(tmp_path / "emptied.db")) as base:
        base.execute("DELETE FROM vec_rowids")
        base.commit()
    assert refused(f"sqlite-vec:{tmp_path}/emptied.db").code == "snapshot.empty"
    vec_database(tmp_path / "c.db")
    with closing(sqlite3.connect(tmp_path / "c.db")) as base:
        base.execute("UPDATE vec_vector_chunks00 SET vectors = x'00'")
        base.commit()
    assert refused(f"sqlite-vec:{tmp_path}/c.db").code == "snapshot.truncated"


# Haystack, Qdrant's points, Hugging Face, search servers' exports


@pytest.mark.slow
def test_haystack(tmp_path: Path) -> None:
    haystack = pytest.importorskip("haystack")
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [
            haystack.Document(id=name, content=text, meta={"source_id": doc}, embedding=vector.tolist())
            for name, text, doc, vector in zip(IDS, TEXTS, DOCS, vectors(), strict=True)
        ]
    )
    store.save_to_disk(str(tmp_path / "store.json"))
    made = opened(f"haystack:{tmp_path}/store.json")
    same(made, vectors())
    assert made.manifest.metric == "cosine"


def qdrant_points(*, named: bool = False) -> list[dict[str, Any]]:
    """Points that Qdrant itself scrolled out, in the shape of its API."""
    library = pytest.importorskip("qdrant_client")
    from qdrant_client import models

    client = library.QdrantClient(":memory:")
    size = models.VectorParams(size=8, distance=models.Distance.DOT)
    client.create_collection("docs", vectors_config={"text": size} if named else size)
    points = [
        models.PointStruct(
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, name)),
            vector={"text": vector.tolist()} if named else vector.tolist(),
            payload={"chunk_id": name, "doc_id": doc, "text": text},
        )
        for name, doc, text, vector in zip(IDS, DOCS, TEXTS, vectors(), strict=True)
    ]
    client.upsert("docs", points)
    records, _ = client.scroll("docs", limit=100, with_payload=True, with_vectors=True)
    return [record.model_dump(mode="json", exclude_none=True) for record in records]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("form", ["lines", "array", "answer"])
def test_qdrant_points(tmp_path: Path, form: str, named: bool) -> None:
    points = qdrant_points(named=named)
    path = tmp_path / "points.json"
    if form == "lines":
        path.write_text("\n".join(json.dumps(point) for point in points), encoding="utf-8")
    else:
        whole = points if form == "array" else {"result": {"points": points, "next_page_offset": None}}
        path.write_text(json.dumps(whole), encoding="utf-8")
    same(opened(f"qdrant-export:{path}?id=chunk_id"), vectors())


def test_hugging_face_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_dict(
        {"id": IDS, "text": TEXTS, "doc": DOCS, "embeddings": [row.tolist() for row in vectors()]}
    )
    made.save_to_disk(str(tmp_path / "ds"), num_shards=2)
    same(opened(f"hf:{tmp_path}/ds"), vectors())
    state = json.loads((tmp_path / "ds" / "state.json").read_text())
    state["_data_files"] = [{"filename": "../../secret.arrow"}]
    (tmp_path / "ds" / "state.json").write_text(json.dumps(state))
    assert refused(f"hf:{tmp_path}/ds").code == "snapshot.bad-path"


def test_a_dataset_cut_between_two_batches_is_refused(tmp_path: Path) -> None:
    datasets, pyarrow = pytest.importorskip("datasets"), pytest.importorskip("pyarrow")
    columns = {"id": IDS, "text": TEXTS, "doc": DOCS, "embeddings": [row.tolist() for row in vectors()]}
    datasets.Dataset.from_dict(columns).save_to_disk(str(tmp_path / "ds"))
    (file,) = (tmp_path / "ds").glob("*.arrow")
    table = pyarrow.ipc.open_stream(file.read_bytes()).read_all()
    written = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table, max_chunksize=2)
        half = written.tell()
        stream.write_table(table, max_chunksize=2)
    file.write_bytes(written.getvalue().to_pybytes()[:half])
    error = refused(f"hf:{tmp_path}/ds")
    assert (error.code, f"{file.name} ends before its rows do." in str(error)) == ("snapshot.truncated", True)


def test_opensearch_hits(tmp_path: Path) -> None:
    hits = [
        {"_index": "docs", "_id": name, "_source": {"doc": doc, "text": text, "embedding": vector.tolist()}}
        for name, doc, text, vector in zip(IDS, DOCS, TEXTS, vectors(), strict=True)
    ]
    (tmp_path / "hits.jsonl").write_text("\n".join(map(json.dumps, hits)), encoding="utf-8")
    same(opened(f"opensearch-export:{tmp_path}/hits.jsonl?metric=l2"), vectors())
    (tmp_path / "answer.json").write_text(json.dumps({"hits": {"hits": hits}}), encoding="utf-8")
    same(opened(f"opensearch-export:{tmp_path}/answer.json"), vectors())
    del hits[2]["_source"]["embedding"]  # type: ignore[attr-defined]
    (tmp_path / "hits.jsonl").write_text("\n".join(map(json.dumps, hits)), encoding="utf-8")
    error = refused(f"opensearch-export:{tmp_path}/hits.jsonl")
    assert error.code == "snapshot.no-vector"
    assert error.where.endswith("entry 2")


@pytest.mark.parametrize("shape", ["object", "nested", "bare"])
def test_meilisearch_documents(tmp_path: Path, shape: str) -> None:
    def held(vector: list[float]) -> object:
        return {
            "object": {"embeddings": vector, "regenerate": False},
            "nested": {"embeddings": [vector]},
            "bare": vector,
        }[shape]

    documents = [
        {"id": name, "doc": doc, "text": text, "_vectors": {"default": held(vector.tolist())}}
        for name, doc, text, vector in zip(IDS, DOCS, TEXTS, vectors(), strict=True)
    ]
    (tmp_path / "d.json").write_text(json.dumps({"results": documents, "total": 6}), encoding="utf-8")
    same(opened(f"meilisearch-export:{tmp_path}/d.json"), vectors())
    for document in documents:
        del document["_vectors"]
    (tmp_path / "d.json").write_text(json.dumps(documents), encoding="utf-8")
    assert "retrieveVectors" in refused(f"meilisearch-export:{tmp_path}/d.json").message


def test_pgvector_copy_files(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    lines = ["id,doc,content,embedding"]
    for name, doc, text, vector in zip(IDS, DOCS, TEXTS, vectors(), strict=True):
        quoted = text.replace('"', '""')
        lines.append(f'{name},{doc},"{quoted}","[{",".join(map(repr, map(float, vector)))}]"')
    path.write_text("\n".join(lines), encoding="utf-8")
    same(opened(f"pgvector-csv:{path}?metric=l2"), vectors())
    assert refused(f"pgvector-csv:{path}?vector=vec").code == "snapshot.no-field"
    path.write_text('id,embedding\na,"[1,x]"\n')
    assert refused(f"pgvector-csv:{path}").code == "snapshot.bad-array"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1, 2]", b'{"documents": 5}', b'[{"id": null, "vector": [1]}]', b'[{"id": "a", "vector": [1, "x"]}]',
     b'[{"id": "a", "vector": [1]}, {"id": "b", "vector": [1, 2]}]', b'[{"id": "a"}]', b"[" * 100_000],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["qdrant-export", "haystack", "opensearch-export", "meilisearch-export"])
def test_broken_json_is_refused(tmp_path: Path, scheme: str, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert refused(f"{scheme}:{tmp_path}/x.json").exit_code == 2


LIBRARIES = {
    "chroma": ("chromadb", "chroma"),
    "hf": ("pyarrow", "parquet"),
    "lancedb": ("lancedb", "lancedb"),
    "parquet": ("pyarrow", "parquet"),
    "sqlite-vec": ("sqlite_vec", "sqlite-vec"),
}
"""What the child needs beside the base install, and the extra that brings it."""


def test_every_reader_but_that_of_faiss_needs_an_extra() -> None:
    assert set(LIBRARIES) == set(reader_process.READERS) - {"faiss"}


@pytest.mark.parametrize("scheme", LIBRARIES)
def test_a_missing_library_is_named(scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child's own Python path hides the library."""
    library, extra = LIBRARIES[scheme]
    store = tmp_path / "store"
    store.mkdir()
    (store / "state.json").write_text('{"_data_files": [{"filename": "a.arrow"}]}')
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / f"{library}.py").write_text("raise ImportError('hidden')")
    real = reader_process.library_environment
    monkeypatch.setattr(
        reader_process,
        "library_environment",
        lambda home: (made := real(home)) | {"PYTHONPATH": f"{tmp_path / 'hide'}:{made['PYTHONPATH']}"},
    )
    with pytest.raises(ConfigError) as caught:
        open_snapshot(f"{scheme}:{store}")
    assert caught.value.code == "config.missing-extra"
    assert f"[{extra}]" in caught.value.hint
    assert str(store) in caught.value.where
