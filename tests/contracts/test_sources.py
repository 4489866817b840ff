"""What every snapshot source promises, run over every entry of `SOURCES`: the same chunks come out of each."""

from __future__ import annotations

import json
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
