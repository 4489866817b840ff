"""LanceDB folders: by lancedb, or by pylance, which older versions of it wrote their tables with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from corpus import Corpus, Row, case


def write(corpus: Corpus, out: Path) -> list[Row]:
    """A table with a deleted and a changed row; with pylance, one for each file format that it can write."""
    try:
        import lancedb
    except ImportError:
        return _by_pylance(corpus, out)
    table = lancedb.connect(str(out / "db")).create_table("docs", _table(corpus.written[:4]))
    table.add(_table(corpus.written[4:]))
    _change(table, corpus)
    return [case("lancedb:{folder}/db", "l2")]


def _by_pylance(corpus: Corpus, out: Path) -> list[Row]:
    import lance

    cases = []
    for version in ("", "legacy", "2.0", "2.1", "2.2", "2.3"):
        options = {"data_storage_version": version} if version else {}
        path = str(out / ("db" + version) / "docs.lance")
        try:
            lance.write_dataset(_table(corpus.written[:4]), path, **options)
        except (TypeError, ValueError, OSError):
            continue
        dataset = lance.write_dataset(_table(corpus.written[4:]), path, mode="append", **options)
        if not hasattr(dataset, "delete"):
            lance.write_dataset(_table(corpus.rows), path, mode="overwrite")
        else:
            _change(dataset, corpus)
        # The newest format is marked unstable: what these versions wrote under that name is not what it became.
        early = (version, lance.__version__) in (("2.1", "0.18.2"), ("2.3", "14.0.2"))
        told = {"refused": "snapshot.unreadable"} if early else {}
        cases.append(case("lancedb:{folder}/db" + version, "l2", **told))
    return cases


def _change(table: Any, corpus: Corpus) -> None:
    update, gone = corpus.update["id"], corpus.gone["id"]
    table.delete("id = '" + gone + "'")
    table.delete("id = '" + update + "'")
    if hasattr(table, "add"):
        table.add(_table([corpus.update]))
    else:
        import lance

        lance.write_dataset(_table([corpus.update]), table.uri, mode="append")


def _table(rows: list[Row]) -> Any:
    columns = {name: [row["metadata"][name] for row in rows] for name in ("source", "lang", "page", "weight")}
    vectors = pa.array([number for row in rows for number in row["vector"]], type=pa.float32())
    return pa.table(
        {
            "id": [row["id"] for row in rows],
            "text": [row["text"] for row in rows],
            "vector": pa.FixedSizeListArray.from_arrays(vectors, 8),
            **columns,
        }
    )
