"""What every snapshot source promises, run over every entry of `SOURCES`: the same chunks come out of each."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import pytest

from rageval_action.core.model.snapshot import BuildSettings
from rageval_action.core.model.types import Chunk
from rageval_action.errors import RagevalError
from rageval_action.snapshots.importers import reader_process
from rageval_action.snapshots.importers.stores import import_store
from rageval_action.snapshots.interface import IMPORTERS, SOURCES, open_snapshot
from rageval_action.snapshots.read import read_snapshot
from rageval_action.snapshots.write import Contents, write_snapshot
from tests.contracts.retriever_setups import KEPT_OPEN
from tests.fakes import search_servers
from tests.fakes.databases import fill_postgres
from tests.unit.snapshots.imported_corpus import DOCS, IDS, TEXTS, chunks_file, same, vectors
from tests.unit.snapshots.test_import_faiss import langchain_folder, llama_nodes
from tests.unit.snapshots.test_import_stores import chroma_folder, lance_table, qdrant_points, vec_database

CHUNKS = [Chunk(id=i, doc=d, text=t) for i, d, t in zip(IDS, DOCS, TEXTS, strict=True)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("RAGEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def readers() -> set[int]:
    """Readers that are still running below this process."""
    running = set()
    for children in Path("/proc/self/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            command = Path(f"/proc/{child}/cmdline")
            if command.is_file() and b"importers.reader_process" in command.read_bytes():
                running.add(child)
    return running


def _folder(at: Path) -> str:
    write_snapshot(at / "index", Contents(chunks=CHUNKS, vectors=vectors()), BuildSettings(metric="cosine"))
    return f"folder:{at}/index"


def _vectors(at: Path) -> str:
    np.save(at / "v.npy", vectors())
    return f"vectors:{at}/v.npy?chunks={chunks_file(at)}"


def _parquet(at: Path) -> str:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = {"id": IDS, "doc": DOCS, "text": TEXTS, "vector": [row.tolist() for row in vectors()]}
    parquet.write_table(pa.table(rows), at / "v.parquet")
    return f"parquet:{at}/v.parquet"


def _faiss(at: Path) -> str:
    index = faiss.IndexFlatIP(8)
    index.add(vectors())
    faiss.write_index(index, str(at / "i.faiss"))
    return f"faiss:{at}/i.faiss?chunks={chunks_file(at)}"


def _llamaindex(at: Path) -> str:
    core = pytest.importorskip("llama_index.core")
    index = core.VectorStoreIndex(nodes=llama_nodes(), embed_model=core.MockEmbedding(8))
    index.storage_context.persist(str(at / "st"))
    return f"llamaindex:{at}/st"


def _chroma(at: Path) -> str:
    chroma_folder(at / "db")
    return f"chroma:{at}/db"


def _lancedb(at: Path) -> str:
    lance_table(at / "db")
    return f"lancedb:{at}/db"


def _sqlite(at: Path) -> str:
    vec_database(at / "v.db")
    return f"sqlite-vec:{at}/v.db?texts=chunks&id=chunk_id"


def _hf(at: Path) -> str:
    datasets = pytest.importorskip("datasets")
    rows = {"id": IDS, "doc": DOCS, "text": TEXTS, "vector": [row.tolist() for row in vectors()]}
    datasets.Dataset.from_dict(rows).save_to_disk(str(at / "ds"))
    return f"hf:{at}/ds"


def _haystack(at: Path) -> str:
    haystack = pytest.importorskip("haystack")
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    documents = [
        haystack.Document(id=i, content=t, meta={"doc": d}, embedding=v.tolist())
        for i, t, d, v in zip(IDS, TEXTS, DOCS, vectors(), strict=True)
    ]
    store.write_documents(documents)
    store.save_to_disk(str(at / "s.json"))
    return f"haystack:{at}/s.json"


def _written(scheme: str, rows: list[dict[str, object]], more: str = "") -> Callable[[Path], str]:
    def write(at: Path) -> str:
        (at / "x.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return f"{scheme}:{at}/x.jsonl{more}"

    return write


def _rows(shape: Callable[[str, str, str, list[float]], dict[str, object]]) -> list[dict[str, object]]:
    return [shape(i, d, t, v.tolist()) for i, d, t, v in zip(IDS, DOCS, TEXTS, vectors(), strict=True)]


def _qdrant_export(at: Path) -> str:
    return _written("qdrant-export", qdrant_points(), "?id=chunk_id")(at)


def _qdrant(at: Path) -> str:
    pytest.importorskip("qdrant_client")
    service = search_servers.qdrant(CHUNKS, vectors())
    KEPT_OPEN.append(service.__enter__())
    return f"qdrant:{service.url}?collection=docs&id=chunk_id"


def _postgres(at: Path) -> str:
    import os

    os.environ["RAGEVAL_CONTRACT_DATABASE"] = fill_postgres("source", CHUNKS, vectors())
    return "pgvector:?table=source&dsn_env=RAGEVAL_CONTRACT_DATABASE"


def _csv(at: Path) -> str:
    lines = ["id,doc,content,embedding"]
    lines += [f'{i},{d},"{t}","{v.tolist()}"' for i, d, t, v in zip(IDS, DOCS, TEXTS, vectors(), strict=True)]
    (at / "c.csv").write_text("\n".join(lines), encoding="utf-8")
    return f"pgvector-csv:{at}/c.csv"


MAKERS: dict[str, Callable[[Path], str]] = {
    "chroma": _chroma,
    "faiss": _faiss,
    "folder": _folder,
    "haystack": _haystack,
    "hf": _hf,
    "lancedb": _lancedb,
    "langchain": lambda at: f"langchain:{langchain_folder(at / 'lc')}",
    "llamaindex": _llamaindex,
    "meilisearch-export": _written(
        "meilisearch-export",
        _rows(lambda i, d, t, v: {"id": i, "doc": d, "text": t, "_vectors": {"e": {"embeddings": v}}}),
    ),
    "opensearch-export": _written(
        "opensearch-export",
        _rows(lambda i, d, t, v: {"_id": i, "_source": {"doc": d, "text": t, "vector": v}}),
    ),
    "parquet": _parquet,
    "pgvector": _postgres,
    "pgvector-csv": _csv,
    "qdrant": _qdrant,
    "qdrant-export": _qdrant_export,
    "sqlite-vec": _sqlite,
    "vectors": _vectors,
}


@pytest.fixture(params=sorted(MAKERS))
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of each kind with the same chunks."""
    return MAKERS[str(request.param)](tmp_path)


def test_every_source_has_a_maker() -> None:
    assert set(MAKERS) == set(SOURCES)


def test_every_source_gives_the_same_chunks_again_and_again(location: str, tmp_path: Path) -> None:
    made = open_snapshot(location)
    same(made, vectors())
    again = open_snapshot(location)
    assert again.manifest == made.manifest
    assert again.chunks == made.chunks
    scheme = location.partition(":")[0]
    if scheme in IMPORTERS:
        manifest, notices = import_store(location, tmp_path / "out")
        assert manifest.fingerprint == made.manifest.fingerprint
        assert any(notice.code == "snapshot.metric" for notice in notices)
        same(read_snapshot(tmp_path / "out"), vectors())


def _asked(location: str, more: str) -> str:
    return f"{location}{'&' if '?' in location else '?'}{more}"


def test_access_that_cannot_be_read_opens_nothing(location: str) -> None:
    """A field that holds no access rule, or that no row has, is refused; it never opens the chunks to everybody."""
    if location.partition(":")[0] not in IMPORTERS:
        pytest.skip("chunks of a snapshot say themselves who may read them")
    for field in ("doc", "access-with-a-slip"):
        with pytest.raises(RagevalError) as caught:
            open_snapshot(_asked(location, f"acl={field}"))
        assert caught.value.code in {"snapshot.bad-chunk", "snapshot.no-field"}
        assert caught.value.exit_code == 2
        assert field in caught.value.message


IN_PROCESS = {
    "folder": "mapped, not read",
    "haystack": "one JSON file, parsed at once",
    "llamaindex": "JSON files, parsed at once; a FAISS or Chroma store inside is read as those are",
    "meilisearch-export": "one JSON file, parsed at once",
    "opensearch-export": "one JSON file, parsed at once",
    "pgvector-csv": "one CSV file, read at once",
    "qdrant-export": "one JSON file, parsed at once",
    "vectors": "one array, mapped",
    "pgvector": "a server: its client's own limits (test_import_servers.py)",
    "qdrant": "a server: its client's own limits (test_import_servers.py)",
}
"""Sources that no child process reads, and why they need no limit."""


def test_a_reader_that_takes_too_long_is_ended(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = location.partition(":")[0]
    if scheme in IN_PROCESS:
        pytest.skip(IN_PROCESS[scheme])
    monkeypatch.setattr(reader_process, "TIMEOUT_S", 0.01)
    with pytest.raises(RagevalError) as caught:
        open_snapshot(location)
    assert caught.value.code == "snapshot.import-timeout"
    assert readers() == set()


def test_a_stopped_import_leaves_no_reader_and_no_half_snapshot(
    location: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the child reads: the child ends with us, and the next run finds nothing half-made."""
    scheme = location.partition(":")[0]
    if scheme in IN_PROCESS:
        pytest.skip(IN_PROCESS[scheme])
    whole = subprocess.Popen.communicate

    def interrupted(process: subprocess.Popen[bytes], *given: object, **named: object) -> object:
        monkeypatch.setattr(subprocess.Popen, "communicate", whole)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_snapshot(location)
    assert readers() == set()
    assert not list(cache.rglob("manifest.json"))
    same(open_snapshot(location), vectors())


@pytest.mark.parametrize("scheme", sorted(set(MAKERS) - {"pgvector", "qdrant"}))
def test_a_place_that_is_not_there_is_said_with_where(scheme: str, tmp_path: Path) -> None:
    more = f"?chunks={tmp_path}/none.jsonl" if scheme in {"faiss", "vectors"} else ""
    with pytest.raises(RagevalError) as caught:
        open_snapshot(f"{scheme}:{tmp_path}/none{more}")
    assert caught.value.code == "snapshot.not-found"
    assert str(tmp_path) in caught.value.where
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("scheme", sorted(set(MAKERS) - {"pgvector", "qdrant"}))
def test_a_file_of_noise_is_refused(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 20)
    more = f"?chunks={chunks_file(tmp_path)}" if scheme in {"faiss", "vectors"} else ""
    with pytest.raises(RagevalError) as caught:
        open_snapshot(f"{scheme}:{tmp_path}/noise{more}")
    assert caught.value.exit_code == 2


# Git LFS pointers in place of any file of a store

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1234567\n"
SERVERS = {"pgvector", "qdrant"}


def test_a_git_lfs_pointer_in_place_of_any_file_is_named_with_its_real_size(
    location: str, tmp_path: Path
) -> None:
    if location.partition(":")[0] in SERVERS:
        pytest.skip("a server has no files in a checkout")
    tried = 0
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size):
        whole = path.read_bytes()
        path.write_bytes(POINTER)
        with pytest.raises(RagevalError) as caught:
            open_snapshot(location)
        assert caught.value.code == "snapshot.lfs-pointer", path
        assert "1,234,567 bytes" in caught.value.message
        assert path.name in caught.value.where
        assert "lfs: true" in str(caught.value)
        path.write_bytes(whole)
        tried += 1
    assert tried
    same(open_snapshot(location), vectors())


# Vectors that are missing, short or of another type

NO_HOLES = {
    "chroma": "its collections hold no entry without a vector",
    "faiss": "an index is a matrix",
    "folder": "an array is a matrix",
    "langchain": "an index is a matrix",
    "qdrant": "a collection holds no point without a vector of its size",
    "sqlite-vec": "a table of vectors takes none that is missing or short",
    "vectors": "an array is a matrix",
}
"""Sources that cannot hold a missing or short vector, and why."""

TARGET = 3
"""The row that is spoilt."""

Spoil = Callable[[list[float] | None], list[float] | None]


def _json_spoiler(*path: str) -> Callable[[Path, Spoil], None]:
    """Spoils the vector at `path` in each entry of a JSON or JSON lines file."""

    def spoil(at: Path, change: Spoil) -> None:
        (file,) = [one for one in at.iterdir() if one.suffix in {".json", ".jsonl"}]
        text = file.read_text(encoding="utf-8")
        whole = json.loads(text) if file.suffix == ".json" else None
        rows = whole["documents"] if whole else [json.loads(line) for line in text.splitlines()]
        holder = rows[TARGET]
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = change(holder[path[-1]])
        file.write_text(json.dumps(whole) if whole else "\n".join(map(json.dumps, rows)), encoding="utf-8")

    return spoil


def _spoilt_rows(change: Spoil) -> dict[str, list[object]]:
    found: list[object] = [row.tolist() for row in vectors()]
    found[TARGET] = change(found[TARGET])  # type: ignore[arg-type]
    return {"id": list(IDS), "doc": list(DOCS), "text": list(TEXTS), "vector": found}


def _spoil_parquet(at: Path, change: Spoil) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(_spoilt_rows(change)), at / "v.parquet")


def _spoil_hf(at: Path, change: Spoil) -> None:
    import datasets

    shutil.rmtree(at / "ds")
    datasets.Dataset.from_dict(_spoilt_rows(change)).save_to_disk(str(at / "ds"))


def _spoil_lancedb(at: Path, change: Spoil) -> None:
    import lancedb
    import pyarrow as pa

    base = lancedb.connect(str(at / "db"))
    (name,) = [entry.stem for entry in (at / "db").glob("*.lance")]
    rows = _spoilt_rows(change)
    vector = pa.array(rows.pop("vector"), type=pa.list_(pa.float32(), 8))
    base.create_table(name, pa.table({**rows, "vector": vector}), mode="overwrite", on_bad_vectors="null")


def _spoil_llamaindex(at: Path, change: Spoil) -> None:
    (file,) = [
        one for one in (at / "st").glob("*vector_store.json") if '"embedding_dict": {"' in one.read_text()
    ]
    stored = json.loads(file.read_text(encoding="utf-8"))
    name = list(stored["embedding_dict"])[TARGET]
    stored["embedding_dict"][name] = change(stored["embedding_dict"][name])
    file.write_text(json.dumps(stored), encoding="utf-8")


def _spoil_csv(at: Path, change: Spoil) -> None:
    with (at / "c.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    rows[TARGET + 1][-1] = str(change(vectors()[TARGET].tolist()) or "")
    with (at / "c.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)


def _spoil_postgres(at: Path, change: Spoil) -> None:
    import os

    import psycopg

    spoilt = change(vectors()[TARGET].tolist())
    with psycopg.connect(os.environ["RAGEVAL_CONTRACT_DATABASE"], autocommit=True) as base:
        base.execute("ALTER TABLE source ALTER COLUMN embedding TYPE vector")
        value = None if spoilt is None else str(spoilt)
        base.execute("UPDATE source SET embedding = %s WHERE id = %s", (value, IDS[TARGET]))


SPOILERS: dict[str, Callable[[Path, Spoil], None]] = {
    "haystack": _json_spoiler("embedding"),
    "hf": _spoil_hf,
    "lancedb": _spoil_lancedb,
    "llamaindex": _spoil_llamaindex,
    "meilisearch-export": _json_spoiler("_vectors", "e", "embeddings"),
    "opensearch-export": _json_spoiler("_source", "vector"),
    "parquet": _spoil_parquet,
    "pgvector": _spoil_postgres,
    "pgvector-csv": _spoil_csv,
    "qdrant-export": _json_spoiler("vector"),
}


def test_every_source_is_spoilt_or_cannot_be() -> None:
    assert {*SPOILERS, *NO_HOLES} == set(SOURCES)


@pytest.mark.parametrize("scheme", sorted(SPOILERS))
@pytest.mark.parametrize("change", [lambda vector: None, lambda vector: vector[:3]], ids=["missing", "short"])
def test_a_vector_that_is_missing_or_short_is_named_by_row_and_id(
    scheme: str, change: Spoil, tmp_path: Path
) -> None:
    location = MAKERS[scheme](tmp_path)
    if scheme == "lancedb" and change([0.0] * 8):
        pytest.skip("a column of vectors has one size there")
    SPOILERS[scheme](tmp_path, change)
    with pytest.raises(RagevalError) as caught:
        open_snapshot(location)
    assert caught.value.code in {"snapshot.no-vector", "snapshot.dimension-mismatch"}
    said = f"{caught.value.where} {caught.value.message}"
    if scheme not in {"llamaindex", "qdrant-export"}:  # whose ids are of their own making
        assert f"`{IDS[TARGET]}`" in said, said
    assert re.search(r"\b(row|entry) \d", said), said
    assert "newer" not in caught.value.hint


@pytest.mark.parametrize("kind", ["binary", "string"])
@pytest.mark.parametrize("scheme", ["parquet", "hf"])
def test_a_column_of_bytes_or_text_is_named_as_that(scheme: str, kind: str, tmp_path: Path) -> None:
    location = MAKERS[scheme](tmp_path)

    def spoilt(_: object) -> object:
        return None

    rows = _spoilt_rows(spoilt)  # type: ignore[arg-type]
    rows["vector"] = [row.tobytes() if kind == "binary" else str(row.tolist()) for row in vectors()]
    if scheme == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(rows), tmp_path / "v.parquet")
    else:
        import datasets

        shutil.rmtree(tmp_path / "ds")
        datasets.Dataset.from_dict(rows).save_to_disk(str(tmp_path / "ds"))
    with pytest.raises(RagevalError) as caught:
        open_snapshot(location)
    assert caught.value.code == "snapshot.bad-array"
    assert f"the column vector holds {kind}, not lists of numbers" in caught.value.message
    assert "newer" not in caught.value.hint


def test_a_folder_of_parquet_parts_is_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = {"id": IDS, "doc": DOCS, "text": TEXTS, "vector": [row.tolist() for row in vectors()]}
    table = pa.table(rows)
    (tmp_path / "parts").mkdir()
    parquet.write_table(table.slice(5), tmp_path / "parts" / "part-00001.parquet")
    parquet.write_table(table.slice(0, 5), tmp_path / "parts" / "part-00000.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    same(open_snapshot(f"parquet:{tmp_path}/parts"), vectors())
    (tmp_path / "none").mkdir()
    with pytest.raises(RagevalError, match=r"holds no \.parquet files"):
        open_snapshot(f"parquet:{tmp_path}/none")
    (tmp_path / "split" / "year=2026").mkdir(parents=True)
    parquet.write_table(table, tmp_path / "split" / "year=2026" / "a.parquet")
    with pytest.raises(RagevalError, match="the folder year=2026 holds a column in its name"):
        open_snapshot(f"parquet:{tmp_path}/split")
