"""Whatever format a golden set comes in: an id is what is written, or the row is refused; nothing vanishes unsaid."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rageval_action.core.model.types import Chunk, GoldenSet
from rageval_action.errors import RagevalError
from rageval_action.golden.canonical_file import encode_row, row_of
from rageval_action.golden.formats import FORMATS, read_golden
from rageval_action.golden.printed_lists import is_printed
from rageval_action.golden.reader_types import ReadOptions

QUESTION = "Where is the quay?"
PASSAGE = "The quay lies to the south."
Writer = Callable[[str, str], dict[str, bytes] | None]
"""A row with this query id and this judged id, as files by their suffix; None where the format cannot write them."""


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _csv(*cells: str, header: str = "id,query,relevant") -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return f"{header}\r\n{text.getvalue()}".encode()


def _parquet(query: str, doc: str) -> bytes:
    pa = pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    row = {"id": query, "query": QUESTION, "relevant": [doc]}
    pq.write_table(pa.Table.from_pylist([row]), buffer)
    return buffer.getvalue()


def _row(query: object, doc: object) -> dict[str, object]:
    return {"id": query, "query": QUESTION, "relevant": [doc]}


def _squad(query: str, doc: str) -> bytes:
    qas = [{"id": query, "question": QUESTION}]
    return _json({"data": [{"title": doc, "paragraphs": [{"context": PASSAGE, "qas": qas}]}]})


WRITERS: dict[str, tuple[Writer, ...]] = {
    "canonical": (lambda q, d: {".jsonl": _json(_row(q, d))},),
    "jsonl": (
        lambda q, d: {".jsonl": _json({"qid": q, "question": QUESTION, "gold_ids": [d]})},
        lambda q, d: {".jsonl": _json({"qid": q, "question": QUESTION, "qrels": {d: 1.0}})},
        lambda q, d: {".jsonl": _json({"qid": q, "question": QUESTION, "expected_id": d})},
    ),
    "json": (lambda q, d: {".json": _json([{"qid": q, "question": QUESTION, "gold_ids": [{"doc_id": d}]}])},),
    "csv": (
        lambda q, d: None if is_printed(d.strip()) else {".csv": _csv(q, QUESTION, d)},
        lambda q, d: {".csv": _csv(q, QUESTION, json.dumps([d]))},
        lambda q, d: {".csv": _csv(q, QUESTION, repr([d]))},
        lambda q, d: {".csv": _csv(q, QUESTION, f"[{d!r}]")},
        lambda q, d: {".csv": _csv(q, QUESTION, f"array([{d!r}], dtype=object)")},
        lambda q, d: {".csv": _csv(q, QUESTION, f"[{d}]")} if _plain(d) else None,
        lambda q, d: {".csv": _csv(q, QUESTION, d, "1", header="id,query,doc_id,grade")},
    ),
    "yaml": (
        lambda q, d: {".yaml": f"- id: {json.dumps(q)}\n  query: w\n  relevant: [{json.dumps(d)}]\n".encode()},
        lambda q, d: {".yaml": f"- id: {q}\n  query: w\n  relevant: [{d}]\n".encode()} if _plain(q, d) else None,
        lambda q, d: {".yaml": f"- id: {q}\n  query: w\n  qrels: {{{d}: 1}}\n".encode()} if _plain(q, d) else None,
    ),
    "parquet": (lambda q, d: {".parquet": _parquet(q, d)},),
    "trec": (
        lambda q, d: {"queries": f"{q}\t{QUESTION}\n".encode(), "qrels": f"{q} 0 {d} 1\n".encode()},
        lambda q, d: (
            None
            if "\t" in q + d
            else {"queries": _json({"_id": q, "text": QUESTION}), "qrels": f"{q}\t{d}\t1\n".encode()}
        ),
        lambda q, d: {"queries": _json({"_id": q, "text": QUESTION}), "qrels": _json({q: {d: 1}})},
    ),
    "llamaindex": (lambda q, d: {".json": _json({"queries": {q: QUESTION}, "relevant_docs": {q: [d]}})},),
    "squad": (lambda q, d: {".json": _squad(q, d)},),
}  # fmt: skip


def _plain(*names: str) -> bool:
    """True for what a plain YAML scalar can say: no marks of YAML, none of its spellings of null."""
    return all(
        name and name.lower() not in ("null", "~") and all(one.isalnum() or one in "._" for one in name)
        for name in names
    )


SPELLINGS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.sampled_from(
        [
            "1_000",
            "0x1F",
            "010",
            "0o17",
            "1e3",
            "1.0",
            "1.50",
            "-0",
            "+1",
            "yes",
            "no",
            "on",
            "off",
            "true",
            "True",
            "null",
            "None",
            "nan",
            "NaN",
            "inf",
            "2024-01-01",
            "1:30",
            "'a'b",
            "['a']",
            "#q1",
            "d,e",
            "d|e",
            "d;e",
            "[1]",
            "{1}",
            "0",
            "007",
            "1.",
            ".5",
            "...",
            "q\t1",
            "é",
        ]
    ),
    st.from_regex(r"[+-]?[0-9][0-9_.:eExob]{0,6}", fullmatch=True),
)


def read(files: dict[str, bytes], name: str, **options: object) -> GoldenSet:
    with tempfile.TemporaryDirectory() as folder:
        paths = {suffix: Path(folder) / f"set{suffix}" for suffix in files}
        for suffix, content in files.items():
            paths[suffix].write_bytes(content)
        location = str(next(iter(paths.values())))
        if "qrels" in paths:
            location = f"queries={paths['queries']},qrels={paths['qrels']}"
        corpus = (Chunk(id="c", doc="d", text=PASSAGE),) if name == "squad" else ()
        return read_golden(location, format=name, options=ReadOptions(corpus=corpus, **options))


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name in FORMATS for form in range(len(WRITERS[name]))]
)
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(query=SPELLINGS, doc=SPELLINGS)
@example(query="1_000", doc="0x1F")
@example(query="no", doc="010")
@example(query=" q", doc="d ")
@example(query="q", doc="1' '2")
def test_an_id_is_what_is_written(name: str, form: int, query: str, doc: str) -> None:
    files = WRITERS[name][form](query, doc)
    if files is None or (name == "csv" and not query.strip()):  # a blank cell is no id
        return
    try:
        golden = read(files, name)
    except RagevalError:
        return
    (found,) = golden.queries
    assert found.id == unicodedata.normalize("NFC", query)
    judged = [*found.relevant, *(member for group in found.any_of for member in group)]
    if name != "squad":
        assert judged == [unicodedata.normalize("NFC", doc)]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_writer_that_is_read(name: str) -> None:
    for write in WRITERS[name]:
        files = write("q7", "d7")
        assert files is not None
        if b"[d7]" in next(iter(files.values())) and name == "csv":
            continue  # words without quotes are refused
        assert read(files, name).queries[0].id == "q7"


ROW = st.fixed_dictionaries(
    {"query": st.sampled_from(["a?", "b?", "c?"])},
    optional={
        "id": SPELLINGS,
        "relevant": st.one_of(
            st.none(),
            st.lists(SPELLINGS, max_size=3),
            st.dictionaries(SPELLINGS, st.sampled_from([-1, 0, 1, 2, 1.0, True, 0.5, "high"]), max_size=3),
        ),
        "any_of": st.lists(st.lists(SPELLINGS, max_size=2), max_size=2),
        "evidence": st.lists(
            st.fixed_dictionaries(
                {"doc": SPELLINGS, "quote": SPELLINGS}, optional={"start": st.integers(-1, 9)}
            ),
            max_size=2,
        ),
        "answerable": st.booleans(),
        "acl_context": st.sampled_from(
            [{"tenant_id": "t"}, {"groups": ["g", "h"]}, {"principal": 7}, {"role": "r"}]
        ),
        "source": st.sampled_from(["human", "unknown", "handbook.pdf"]),
        "review": st.sampled_from(["pending", "approved"]),
        "tags": st.lists(SPELLINGS, max_size=2),
    },
)


@pytest.mark.parametrize("merge_equal", [False, True])
@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(ROW, min_size=1, max_size=4))
def test_what_import_writes_is_read_again_the_same(rows: list[dict[str, object]], merge_equal: bool) -> None:
    try:
        first = read({".json": _json(rows)}, "json", merge_equal=merge_equal)
    except RagevalError:
        return
    written = b"\n".join(encode_row(row_of(query)) for query in first.queries)
    again = read({".jsonl": written}, "canonical")
    forget = ("line",)
    assert [_without(query, forget) for query in again.queries] == [
        _without(query, forget) for query in first.queries
    ]


def _without(query: object, names: tuple[str, ...]) -> dict[str, object]:
    return {name: getattr(query, name) for name in query.__struct_fields__ if name not in names}  # type: ignore[attr-defined]


EXTRA = "zeal"
"""A field that nothing reads."""
WITH_EXTRA: dict[str, dict[str, bytes]] = {
    "canonical": {".jsonl": _json(_row("q", "d") | {EXTRA: 1})},
    "jsonl": {".jsonl": _json({"qid": "q", "question": QUESTION, "gold_ids": ["d"], EXTRA: 1})},
    "json": {".json": _json({EXTRA: 1, "questions": [_row("q", "d")]})},
    "csv": {".csv": _csv("q", QUESTION, "d", "x", header=f"id,query,relevant,{EXTRA}")},
    "yaml": {".yaml": f"{EXTRA}: 1\nquestions:\n- id: q\n  query: w\n  relevant: [d]\n".encode()},
    "trec": {"queries": _json({"_id": "q", "text": QUESTION, EXTRA: 1}), "qrels": b"q\td\t1\n"},
    "llamaindex": {".json": _json({"queries": {"q": QUESTION}, "relevant_docs": {"q": ["d"]}, EXTRA: 1})},
    "squad": {".json": _squad("q", "d").replace(b'"title"', f'"{EXTRA}"'.encode())},
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_field_that_nothing_reads_is_named(name: str) -> None:
    if name == "parquet":
        pa = pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([_row("q", "d") | {EXTRA: 1}]), buffer)
        files = {".parquet": buffer.getvalue()}
    else:
        files = WITH_EXTRA[name]
    notices = read(files, name).notices
    assert any(
        "Not used: " in notice.text and EXTRA in notice.text.partition("Not used")[2] for notice in notices
    )


DECLARED: dict[str, dict[str, object]] = {
    "--map": {"fields": {"page": "nowhere"}},
    "--list-separator": {"separator": "|"},
    "--id-template": {"id_template": "{0}-{1}"},
    "--grade-map": {"grades": {"9": 1}},
}


@pytest.mark.parametrize("option", DECLARED)
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_declared_is_used_or_refused(name: str, option: str) -> None:
    """The sample has one plain id without a grade: only a cell can be read by a separator."""
    files = WRITERS[name][0]("q", "d")
    assert files is not None
    if (name, option) == ("csv", "--list-separator"):
        assert read(files, name, **DECLARED[option]).queries[0].relevant == {"d": 1}
        return
    with pytest.raises(RagevalError) as caught:
        read(files, name, **DECLARED[option])
    assert caught.value.code in ("config.no-effect", "golden.no-field", "golden.bad-row")
