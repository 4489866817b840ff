"""Databases with vec0 tables: plain, under cosine, with text keys, behind another vector column, with metadata."""

from __future__ import annotations

import array
from pathlib import Path
from typing import Any

import apsw
import sqlite_vec
from corpus import Corpus, Row, case


def write(corpus: Corpus, out: Path) -> list[Row]:
    """Every kind of table that this version has."""
    makers = (_plain, _keyed, _second, _whole)
    return [made for make in makers for made in make(corpus, out)]


def _open(path: Path) -> Any:
    base = apsw.Connection(str(path))
    base.enable_load_extension(enable=True)
    base.load_extension(sqlite_vec.loadable_path())
    return base


def _blob(row: Row) -> bytes:
    return array.array("f", row["vector"]).tobytes()


def _numbered(corpus: Corpus) -> list[Any]:
    return list(enumerate(corpus.written, 1))


def _texts(base: Any, corpus: Corpus) -> None:
    """The ordinary table beside the vectors."""
    base.execute("CREATE TABLE chunks(n INTEGER PRIMARY KEY, chunk_id, content, source, lang, page, weight)")
    rows = [(n, row) for n, row in _numbered(corpus) if row["id"] != corpus.gone["id"]]
    for n, row in rows:
        last = corpus.update if row["id"] == corpus.update["id"] else row
        values = [last["metadata"][name] for name in ("source", "lang", "page", "weight")]
        base.execute("INSERT INTO chunks VALUES (?,?,?,?,?,?,?)", (n, last["id"], last["text"], *values))


def _plain(corpus: Corpus, out: Path) -> list[Row]:
    cases = []
    for name, more, metric in (
        ("plain", "", "l2"),
        ("cosine", " distance_metric=cosine", "cosine"),
        ("quoted", ", chunk_size=8", "l2"),
    ):
        base = _open(out / (name + ".db"))
        base.execute("CREATE VIRTUAL TABLE vec USING vec0(embedding float[8]" + more + ")")
        for n, row in _numbered(corpus):
            base.execute("INSERT INTO vec(rowid, embedding) VALUES (?, ?)", (n, _blob(row)))
        base.execute("DELETE FROM vec WHERE rowid = 6")
        base.execute("UPDATE vec SET embedding = ? WHERE rowid = 3", (_blob(corpus.update),))
        _texts(base, corpus)
        base.close()
        location = "sqlite-vec:{folder}/" + name + ".db?texts=chunks&id=chunk_id"
        cases.append(case(location, metric))
    return cases


def _keyed(corpus: Corpus, out: Path) -> list[Row]:
    base = _open(out / "keyed.db")
    base.execute("CREATE VIRTUAL TABLE vec USING vec0(key text primary key, embedding float[8])")
    changes = sqlite_vec.__version__ >= "0.1.3"  # before that a row with a text key could not be changed
    for row in corpus.written if changes else corpus.rows:
        base.execute("INSERT INTO vec(key, embedding) VALUES (?, ?)", (row["id"], _blob(row)))
    if changes:
        base.execute("DELETE FROM vec WHERE key = ?", (corpus.gone["id"],))
        base.execute(
            "UPDATE vec SET embedding = ? WHERE key = ?", (_blob(corpus.update), corpus.update["id"])
        )
    base.close()
    return [case("sqlite-vec:{folder}/keyed.db", "l2", without=["text", "source", "lang", "page", "weight"])]


def _second(corpus: Corpus, out: Path) -> list[Row]:
    """Coarse vectors of bits first, as for rescoring: the floats are the second column."""
    base = _open(out / "second.db")
    base.execute("CREATE VIRTUAL TABLE vec USING vec0(coarse bit[8], embedding float[8])")
    add = "INSERT INTO vec(rowid, coarse, embedding) VALUES (?, vec_quantize_binary(vec_f32(?)), ?)"
    for n, row in _numbered(corpus):
        last = corpus.update if row["id"] == corpus.update["id"] else row
        base.execute(add, (n, _blob(last), _blob(last)))
    base.execute("DELETE FROM vec WHERE rowid = 6")
    _texts(base, corpus)
    base.close()
    return [case("sqlite-vec:{folder}/second.db?texts=chunks&id=chunk_id", "l2")]


def _whole(corpus: Corpus, out: Path) -> list[Row]:
    """Since 0.1.6 a vec0 table can hold everything: metadata, a partition key, and texts in an auxiliary column."""
    base = _open(out / "whole.db")
    try:
        base.execute(
            "CREATE VIRTUAL TABLE vec USING vec0(key text primary key, lang text partition key, source text, "
            "page integer, weight float, embedding float[8], +content text, chunk_size=8)"
        )
    except apsw.SQLError:
        base.close()
        (out / "whole.db").unlink()
        return []
    add = "INSERT INTO vec(key, lang, source, page, weight, embedding, content) VALUES (?, ?, ?, ?, ?, ?, ?)"
    for row in corpus.written:
        base.execute(add, _values(row))
    base.execute("DELETE FROM vec WHERE key = ?", (corpus.gone["id"],))
    update = corpus.update
    change = "UPDATE vec SET page = ?, weight = ?, embedding = ?, content = ? WHERE key = ?"
    kept = update["metadata"]
    base.execute(change, (kept["page"], kept["weight"], _blob(update), update["text"], update["id"]))
    base.close()
    return [case("sqlite-vec:{folder}/whole.db", "l2")]


def _values(row: Row) -> tuple[Any, ...]:
    kept = row["metadata"]
    return (row["id"], kept["lang"], kept["source"], kept["page"], kept["weight"], _blob(row), row["text"])
