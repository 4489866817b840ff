from __future__ import annotations

import json
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

from rageval_action.errors import SnapshotError
from rageval_action.snapshots.importers import restricted_pickle
from rageval_action.snapshots.interface import open_snapshot
from tests.unit.snapshots.imported_corpus import DOCS, IDS, TEXTS, chunks_file, codes, opened, same, vectors


def refused(location: str) -> SnapshotError:
    with pytest.raises(SnapshotError) as caught:
        open_snapshot(location)
    return caught.value


def hnsw(d: int) -> Any:
    return faiss.IndexHNSWFlat(d, 4)


def ivf(d: int) -> Any:
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, 2)
    index.train(vectors())
    return index


EXACT = {
    "ip": (faiss.IndexFlatIP, "ip"),
    "l2": (faiss.IndexFlatL2, "l2"),
    "hnsw": (hnsw, "l2"),
    "ivf": (ivf, "l2"),
}


@pytest.mark.parametrize("kind", EXACT)
def test_bare_indexes_are_joined_by_line(tmp_path: Path, kind: str) -> None:
    make, metric = EXACT[kind]
    index = make(8)
    index.add(vectors())
    faiss.write_index(index, str(tmp_path / "i.faiss"))
    made = opened(f"faiss:{tmp_path}/i.faiss?chunks={chunks_file(tmp_path)}")
    same(made, vectors())
    assert made.manifest.metric == metric
    assert "snapshot.lossy-index" not in codes(made)


@pytest.mark.parametrize("wrap", ["IndexIDMap", "IndexIDMap2", "ivf"])
def test_indexes_with_ids_are_joined_by_id(tmp_path: Path, wrap: str) -> None:
    names = [70, 3, 11, 900000000000, 5, 42]
    index = ivf(8) if wrap == "ivf" else getattr(faiss, wrap)(faiss.IndexFlatIP(8))
    order = np.array([3, 1, 0, 2, 5, 4])
    index.add_with_ids(vectors()[order], np.array(names)[order])
    faiss.write_index(index, str(tmp_path / "i.faiss"))
    made = opened(f"faiss:{tmp_path}/i.faiss?chunks={chunks_file(tmp_path, [str(name) for name in names])}")
    row = {chunk.id: at for at, chunk in enumerate(made.chunks)}
    stored = made.shards[0]
    for at, name in enumerate(names):
        np.testing.assert_allclose(stored[row[str(name)]], vectors()[at], atol=1e-6)
        assert made.chunks[row[str(name)]].text == TEXTS[at]


def test_the_chunks_own_ids_may_be_missing_from_an_id_map_of_lines(tmp_path: Path) -> None:
    index = faiss.IndexIDMap(faiss.IndexFlatIP(8))
    index.add_with_ids(vectors()[::-1].copy(), np.arange(6)[::-1].copy())
    faiss.write_index(index, str(tmp_path / "i.faiss"))
    same(opened(f"faiss:{tmp_path}/i.faiss?chunks={chunks_file(tmp_path)}"), vectors())


@pytest.mark.parametrize(
    ("factory", "named"),
    [("PQ4x4np", "IndexPQ"), ("SQ8", "IndexScalarQuantizer"), ("L2norm,Flat", "NormalizationTransform")],
)
def test_indexes_that_change_vectors_are_named(tmp_path: Path, factory: str, named: str) -> None:
    index = faiss.index_factory(8, factory)
    many = vectors(unit=False, count=600)
    index.train(many)
    index.add(vectors(unit=False))
    faiss.write_index(index, str(tmp_path / "i.faiss"))
    made = opened(f"faiss:{tmp_path}/i.faiss?chunks={chunks_file(tmp_path)}")
    said = next(notice.text for notice in made.notices if notice.code == "snapshot.lossy-index")
    assert named in said


def test_binary_indexes_and_foreign_metrics_are_refused(tmp_path: Path) -> None:
    binary = faiss.IndexBinaryFlat(8)
    binary.add(np.zeros((6, 1), dtype=np.uint8))
    faiss.write_index_binary(binary, str(tmp_path / "b.faiss"))
    assert refused(f"faiss:{tmp_path}/b.faiss?chunks={chunks_file(tmp_path)}").code == "snapshot.binary-index"
    index = faiss.IndexFlat(8, faiss.METRIC_L1)
    index.add(vectors())
    faiss.write_index(index, str(tmp_path / "l1.faiss"))
    assert refused(f"faiss:{tmp_path}/l1.faiss?chunks={chunks_file(tmp_path)}").code == "snapshot.bad-metric"


def test_ids_that_fit_nothing_are_refused(tmp_path: Path) -> None:
    index = faiss.IndexFlatIP(8)
    index.add(vectors(count=5))
    faiss.write_index(index, str(tmp_path / "i.faiss"))
    assert refused(f"faiss:{tmp_path}/i.faiss?chunks={chunks_file(tmp_path)}").code == "snapshot.id-mismatch"


def _written(path: Path) -> bytes:
    index = faiss.IndexFlatIP(8)
    index.add(vectors())
    faiss.write_index(index, str(path))
    return path.read_bytes()


@pytest.mark.parametrize("damage", ["cut", "magic", "count", "noise", "empty"])
def test_damaged_indexes_end_the_child_and_nothing_else(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "i.faiss"
    data = _written(path)
    path.write_bytes(
        {
            "cut": data[: len(data) // 2],
            "magic": b"XXXX" + data[4:],
            "count": data[:8] + struct.pack("<q", 1 << 50) + data[16:],
            "noise": data[:4] + os.urandom(len(data)),
            "empty": b"",
        }[damage]
    )
    error = refused(f"faiss:{path}?chunks={chunks_file(tmp_path)}")
    assert error.code in {
        "snapshot.unreadable",
        "snapshot.import-crashed",
        "snapshot.not-faiss",
        "snapshot.id-mismatch",
    }


# LangChain


def langchain_folder(folder: Path, **options: Any) -> Path:
    """A folder that LangChain itself saved."""
    community = pytest.importorskip("langchain_community.vectorstores")
    from langchain_core.embeddings import Embeddings

    class Fixed(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return vectors()[[TEXTS.index(text) for text in texts]].tolist()  # type: ignore[no-any-return]

        def embed_query(self, text: str) -> list[float]:
            return [0.0] * 8

    store = community.FAISS.from_texts(
        TEXTS,
        Fixed(),
        metadatas=[{"source": doc, "n": at} for at, doc in enumerate(DOCS)],
        ids=IDS,
        **options,
    )
    store.save_local(str(folder))
    return folder


def test_a_langchain_folder_is_read_without_langchain(tmp_path: Path) -> None:
    made = opened(f"langchain:{langchain_folder(tmp_path / 'lc')}")
    same(made, vectors())
    assert made.manifest.metric == "l2"
    assert made.chunks[0].metadata["n"] == 0


def test_langchains_cosine_is_what_its_index_is(tmp_path: Path) -> None:
    from langchain_community.vectorstores.utils import DistanceStrategy

    folder = langchain_folder(tmp_path / "lc", distance_strategy=DistanceStrategy.COSINE)
    assert opened(f"langchain:{folder}").manifest.metric == "l2"


def test_older_module_paths_are_read(tmp_path: Path) -> None:
    folder = langchain_folder(tmp_path / "lc")
    data = (folder / "index.pkl").read_bytes()
    documents, names = pickle.loads(data)  # noqa: S301 - written above
    old = b"clangchain.docstore.in_memory\nInMemoryDocstore\n)\x81}(X\x05\x00\x00\x00_dict}("
    for name, document in documents._dict.items():
        old += (
            _text(name)
            + b"clangchain.schema\nDocument\n)\x81}("
            + _text("page_content")
            + _text(document.page_content)
        )
        old += _text("metadata") + b"}" + _text("source") + _text(document.metadata["source"]) + b"sub"
    old += b"uub}("
    for row, name in names.items():
        old += b"K" + bytes([row]) + _text(name)
    (folder / "index.pkl").write_bytes(b"\x80\x04" + old + b"u\x86.")
    same(opened(f"langchain:{folder}"), vectors())


def _text(text: str) -> bytes:
    data = text.encode()
    return b"X" + struct.pack("<I", len(data)) + data


class _Payload:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return (os.system, (f"touch {self.path}",))


HOSTILE = {
    "system": lambda mark: pickle.dumps((_Payload(mark), {})),
    "protocol 0": lambda mark: pickle.dumps((_Payload(mark), {}), protocol=0),
    "eval": lambda mark: b"cbuiltins\neval\n(V__import__('os').system('touch " + str(mark).encode() + b"')\ntR.",
    "instance": lambda mark: b"(Vtouch " + str(mark).encode() + b"\nios\nsystem\n.",
    "fake langchain": lambda mark: b"clangchain.os\nsystem\n(Vtouch " + str(mark).encode() + b"\ntR.",
    "class called": lambda mark: b"clangchain.x\nDocument\n(Vtouch\ntR.",
    "attribute path": lambda mark: b"\x80\x04\x8c\x09langchain\x8c\x11Document.__init__\x93.",
    "persistent": lambda mark: b"Psomething\n.",
    "extension": lambda mark: b"\x80\x02\x82\x01.",
    "absurd memo": lambda mark: b"\x80\x02Nr\xff\xff\xff\x7f.",
    "cut": lambda mark: pickle.dumps(({}, {}))[:5],
    "other data": lambda mark: pickle.dumps([1, 2, 3]),
    "empty": lambda mark: b"",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused_and_nothing_runs(tmp_path: Path, name: str) -> None:
    mark = tmp_path / "pwned"
    folder = tmp_path / "lc"
    folder.mkdir()
    _written(folder / "index.faiss")
    (folder / "index.pkl").write_bytes(HOSTILE[name](mark))
    error = refused(f"langchain:{folder}")
    harmless = {"class called", "absurd memo", "cut", "other data", "empty"}
    assert error.code == ("snapshot.bad-pickle" if name in harmless else "snapshot.hostile-pickle")
    assert not mark.exists()


def test_a_large_pickle_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restricted_pickle, "MAX_BYTES", 10)
    monkeypatch.setattr("rageval_action.snapshots.importers.langchain.MAX_BYTES", 10)
    folder = langchain_folder(tmp_path / "lc")
    assert refused(f"langchain:{folder}").code == "snapshot.too-large"


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    folder = langchain_folder(tmp_path / "lc")
    (folder / "more").symlink_to("/etc/passwd")
    assert refused(f"langchain:{folder}").code == "snapshot.link-in-store"


# LlamaIndex


def llama_nodes() -> list[Any]:
    schema = pytest.importorskip("llama_index.core.schema")
    return [
        schema.TextNode(
            id_=name, text=text, embedding=vectors()[at].tolist(), metadata={"topic": "t"},
            relationships={schema.NodeRelationship.SOURCE: schema.RelatedNodeInfo(node_id=DOCS[at])},
        )
        for at, (name, text) in enumerate(zip(IDS, TEXTS, strict=True))
    ]  # fmt: skip


@pytest.mark.slow
def test_a_llamaindex_folder(tmp_path: Path) -> None:
    core = pytest.importorskip("llama_index.core")
    index = core.VectorStoreIndex(nodes=llama_nodes(), embed_model=core.MockEmbedding(8))
    index.storage_context.persist(str(tmp_path / "st"))
    made = opened(f"llamaindex:{tmp_path}/st")
    same(made, vectors())
    assert made.manifest.metric == "cosine"
    assert "snapshot.random-ids" in codes(made)


def test_a_llamaindex_folder_with_faiss_inside(tmp_path: Path) -> None:
    """The FAISS store is a package of its own; it writes the index under the JSON's name and numbers as node ids."""
    core = pytest.importorskip("llama_index.core")
    index = core.VectorStoreIndex(nodes=llama_nodes(), embed_model=core.MockEmbedding(8))
    folder = tmp_path / "st"
    index.storage_context.persist(str(folder))
    flat = faiss.IndexFlatL2(8)
    flat.add(vectors())
    faiss.write_index(flat, str(folder / "default__vector_store.json"))
    stored = json.loads((folder / "index_store.json").read_text())
    for entry in stored["index_store/data"].values():
        data = json.loads(entry["__data__"])
        data["nodes_dict"] = {str(at): name for at, name in enumerate(IDS)}
        entry["__data__"] = json.dumps(data)
    (folder / "index_store.json").write_text(json.dumps(stored))
    made = opened(f"llamaindex:{folder}")
    same(made, vectors())
    assert made.manifest.metric == "l2"


def test_llamaindex_nodes_without_a_source_are_no_document_none(tmp_path: Path) -> None:
    """LlamaIndex writes the word None where a node has no source."""
    nodes = {
        name: {"__data__": {"text": text, "metadata": {"doc_id": "None"}, "relationships": {}}}
        for name, text in zip(IDS, TEXTS, strict=True)
    }
    stored = {
        "embedding_dict": {name: vectors()[at].tolist() for at, name in enumerate(IDS)},
        "text_id_to_ref_doc_id": dict.fromkeys(IDS, "None"),
    }
    (tmp_path / "st").mkdir()
    (tmp_path / "st" / "docstore.json").write_text(json.dumps({"docstore/data": nodes}))
    (tmp_path / "st" / "default__vector_store.json").write_text(json.dumps(stored))
    made = opened(f"llamaindex:{tmp_path}/st")
    assert [chunk.doc for chunk in made.chunks] == list(IDS)
    (told,) = [one.text for one in made.notices if one.code == "snapshot.document-field"]
    assert told.startswith("no metadata field names the chunks' documents")


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'{"embedding_dict": {}}', b'{"embedding_dict": {"a": ["x"]}}', b"\x00\x01"]
)
def test_damaged_llamaindex_folders_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "st").mkdir()
    (tmp_path / "st" / "default__vector_store.json").write_bytes(content)
    assert refused(f"llamaindex:{tmp_path}/st").exit_code == 2
