"""A sqlite-vec table, searched by the extension itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rageval_action.retrievers.clients import ClientRetriever
from rageval_action.retrievers.files import refuse_pointers
from rageval_action.retrievers.interface import OptionValue
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.store_child import Ask, StoreError

FUNCTIONS = {"cosine": "vec_distance_cosine", "l2": "vec_distance_l2"}


class SqliteVecRetriever(ClientRetriever):
    """Asks a vec0 table by a full scan, which is what sqlite-vec does in any case.

    Options: `file`, `table`, `vector` (column), `metric` (cosine, l2), `texts` (an ordinary table to join
    by its rowid),
    `id` (the column that holds the chunk's id, in `texts` or in the table itself; rowid by default), `where` (a SQL
    condition with `:tenant`, `:principal`, `:query`). The file is opened read-only. Python's own SQLite often cannot
    load extensions, so `apsw` does it.
    """

    name = "sqlite-vec"
    most = 1_000_000
    store = "SqliteVecStore"
    libraries = ("sqlite_vec", "apsw")

    def settings(self, options: Options) -> None:
        """Read the options."""
        self._file = Path(options.text("file"))
        options.text("table")
        options.text("vector", "embedding")
        options.text("metric", "l2", choices=tuple(FUNCTIONS))
        options.text("texts", "")
        options.text("id", "rowid")
        options.text("where", "1")
        if not self._file.is_file():
            raise options.wrong("file", f"there is no file {self._file}")
        refuse_pointers([self._file], "the database")

    def told(self) -> dict[str, OptionValue]:
        """The options, with the file's whole path."""
        return super().told() | {"file": str(self._file.resolve())}


class SqliteVecStore:
    """The file, in the process of its own."""

    def __init__(self, options: dict[str, Any]) -> None:
        """Open the file and load the extension; loading is forbidden again at once."""
        import apsw
        import sqlite_vec

        self._error = apsw.Error
        self._statement = _statement(options)
        self._least = 1.0 if options["metric"] == "cosine" else 0.0
        try:
            self._base = apsw.Connection(options["file"], flags=apsw.SQLITE_OPEN_READONLY)
            self._base.enable_load_extension(True)  # noqa: FBT003 - the library's own signature
            self._base.load_extension(sqlite_vec.loadable_path())
            self._base.enable_load_extension(False)  # noqa: FBT003
        except apsw.Error as error:
            raise StoreError(f"SQLite: {error}") from None

    def search(self, asked: Ask) -> list[tuple[str, float]]:
        """The nearest rows."""
        acl = asked.acl
        values = {
            "vector": asked.vector,
            "limit": asked.limit,
            "query": asked.text,
            "tenant": acl.tenant if acl else None,
            "principal": acl.principal if acl else None,
        }
        try:
            found: list[Any] = list(self._base.execute(self._statement, values))
        except self._error as error:
            raise StoreError(f"SQLite: {error}") from None
        return [(str(name), self._least - distance) for name, distance in found if distance is not None]


def _statement(options: dict[str, Any]) -> str:
    texts = options["texts"]
    join = f"JOIN {_quoted(texts)} AS t ON t.rowid = v.rowid" if texts else ""
    return (
        f"SELECT {'t' if texts else 'v'}.{_quoted(options['id'])}, "  # noqa: S608
        f"{FUNCTIONS[options['metric']]}(v.{_quoted(options['vector'])}, :vector) AS distance "
        f"FROM {_quoted(options['table'])} AS v {join} WHERE {options['where']} ORDER BY distance LIMIT :limit"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
