"""Every golden-set format reads the same two questions, and refuses what is not a set, each in its own way."""

from __future__ import annotations

import importlib
import io
import json
from pathlib import Path

import pytest

from rageval_action.core.model.types import Chunk, GoldenSet
from rageval_action.errors import GoldenError
from rageval_action.golden.formats import FORMATS, read_golden
from rageval_action.golden.reader_types import ReadOptions

ROWS = [
    {"id": "q1", "query": "Where is the café?", "relevant": ["d1"]},
    {"id": "q2", "query": "何時開門？", "relevant": ["d2"]},
]
CORPUS = (
    Chunk(id="c1", doc="d1", text="The café is at the quay."),
    Chunk(id="c2", doc="d2", text="大門九點開。"),
)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parquet() -> bytes:
    pa = pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), buffer)
    return buffer.getvalue()


SAMPLES = {
    "canonical": lambda: "\n".join(map(_json, ROWS)),
    "jsonl": lambda: "\n".join(_json({"qid": row["id"], "question": row["query"], "expected_ids": row["relevant"]}) for row in ROWS),
    "json": lambda: _json([{"id": row["id"], "question": row["query"], "expectedIds": row["relevant"]} for row in ROWS]),
    "csv": lambda: "id;question;expected_id\n" + "".join(f"{row['id']};{row['query']};{row['relevant'][0]}\n" for row in ROWS),
    "yaml": lambda: "".join(f"- id: {row['id']}\n  question: {row['query']}\n  expected_ids: {row['relevant']}\n" for row in ROWS),
    "parquet": _parquet,
    "trec": lambda: ("".join(f"{row['id']}\t{row['query']}\n" for row in ROWS), "q1 0 d1 1\nq2 0 d2 1\n"),
    "llamaindex": lambda: _json(
        {"queries": {row["id"]: row["query"] for row in ROWS}, "relevant_docs": {row["id"]: row["relevant"] for row in ROWS}}
    ),
    "squad": lambda: _json(
        {"data": [{"paragraphs": [
            {"context": chunk.text, "qas": [{"id": row["id"], "question": row["query"]}]}
            for row, chunk in zip(ROWS, CORPUS, strict=True)
        ]}]}
    ),
}  # fmt: skip


def read(folder: Path, name: str, content: object, *, named: bool) -> GoldenSet:
    options = ReadOptions(corpus=CORPUS) if name == "squad" else ReadOptions()
    texts = content if isinstance(content, tuple) else (content,)
    paths = []
    for at, text in enumerate(texts):
        suffix = {"yaml": ".yaml", "csv": ".csv", "canonical": ".jsonl", "jsonl": ".jsonl"}.get(name, "")
        path = folder / f"{name}-{at}{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else str(text).encode())
        paths.append(path)
    location = f"queries={paths[0]},qrels={paths[1]}" if len(paths) == 2 else str(paths[0])
    return read_golden(location, format=name if named else "auto", options=options)


@pytest.fixture(params=FORMATS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_entry_has_a_sample_and_can_be_imported(name: str) -> None:
    module, _, attribute = FORMATS[name].partition(":")
    assert callable(getattr(importlib.import_module(module), attribute))
    assert name in SAMPLES


@pytest.mark.parametrize("named", [True, False])
def test_reads_the_two_questions(tmp_path: Path, name: str, *, named: bool) -> None:
    golden = read(tmp_path, name, SAMPLES[name](), named=named)
    assert golden.format == name
    assert [(query.id, query.text) for query in golden.queries] == [
        ("q1", "Where is the café?"),
        ("q2", "何時開門？"),
    ]
    judged = [list(query.relevant) or [item.doc for item in query.evidence] for query in golden.queries]
    assert judged == [["d1"], ["d2"]]
    assert all(query.line > 0 for query in golden.queries)
    assert len(golden.sha256) == 64
    assert str(tmp_path) in golden.path


def test_bom_and_crlf_change_nothing(tmp_path: Path, name: str) -> None:
    content = SAMPLES[name]()
    if isinstance(content, bytes):
        pytest.skip("a binary format")
    dress = lambda text: "\ufeff" + text.replace("\n", "\r\n")  # noqa: E731
    dressed = tuple(map(dress, content)) if isinstance(content, tuple) else dress(content)
    assert [query.text for query in read(tmp_path, name, dressed, named=False).queries] == [
        row["query"] for row in ROWS
    ]


@pytest.mark.parametrize("content", ["", "\n \n", "{", '{"id": 1}', "a,b\n", "PAR1", "[[[", "\x00\x01"])
def test_what_is_no_set_is_refused_with_its_place(tmp_path: Path, name: str, content: str) -> None:
    texts = (content, content) if name == "trec" else content
    with pytest.raises(GoldenError) as caught:
        read(tmp_path, name, texts, named=True)
    assert caught.value.code.startswith(("golden.", "trec."))
    assert str(tmp_path) in caught.value.where
    assert caught.value.exit_code == 2
