"""A sqlite-vec table, searched by the extension itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.types import Query
from rageval_action.retrievers.external import AnswerError
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.stores import StoreRetriever, missing

FUNCTIONS = {"cosine": "vec_distance_cosine", "l2": "vec_distance_l2"}


class SqliteVecRetriever(StoreRetriever):
    """Asks a vec0 table by a full scan, which is what sqlite-vec does in any case.

    Options: `file`, `table`, `vector` (column), `metric` (cosine, l2), `texts` (an ordinary table to join
    by its rowid),
    `id` (the column that holds the chunk's id, in `texts` or in the table itself; rowid by default), `where` (a SQL
    condition with `:tenant`, `:principal`, `:query`). The file is opened read-only. Python's own SQLite often cannot
    load extensions, so `apsw` does it.
    """

    name = "sqlite-vec"
    most = 1_000_000

    def configure(self, options: Options) -> None:
        """Read the options."""
        self._file = Path(options.text("file"))
        self._table = _quoted(options.text("table"))
        self._vector = _quoted(options.text("vector", "embedding"))
        self._function = FUNCTIONS[options.text("metric", "l2", choices=tuple(FUNCTIONS))]
        texts = options.text("texts", "")
        self._id = _quoted(options.text("id", "rowid"))
        self._where = options.text("where", "1")
        self._join = f"JOIN {_quoted(texts)} AS t ON t.rowid = v.rowid" if texts else ""
        self._of = "t" if texts else "v"
        self._base: Any = None
        if not self._file.is_file():
            raise options.wrong("file", f"there is no file {self._file}")
        try:
            import apsw
            import sqlite_vec
        except ImportError:
            raise missing("sqlite-vec and apsw", "sqlite-vec") from None
        self._library, self._extension = apsw, sqlite_vec.loadable_path()

    def open(self) -> None:
        """Open the file and load the extension; loading is forbidden again at once."""
        try:
            self._base = self._library.Connection(str(self._file), flags=self._library.SQLITE_OPEN_READONLY)
            self._base.enable_load_extension(True)  # noqa: FBT003 - the library's own signature
            self._base.load_extension(self._extension)
            self._base.enable_load_extension(False)  # noqa: FBT003
        except self._library.Error as error:
            raise AnswerError(f"SQLite: {error}") from None

    def close(self) -> None:
        """Close the file."""
        if self._base is not None:
            self._base.close()
            self._base = None

    def search(self, query: Query, vector: NDArray[np.float32], limit: int) -> list[tuple[str, float]]:
        """The nearest rows."""
        if self._base is None:
            self.open()
        statement = (
            f"SELECT {self._of}.{self._id}, {self._function}(v.{self._vector}, :vector) AS distance "  # noqa: S608
            f"FROM {self._table} AS v {self._join} WHERE {self._where} ORDER BY distance LIMIT :limit"
        )
        acl = query.acl
        values = {
            "vector": np.ascontiguousarray(vector, dtype="<f4").tobytes(),
            "limit": limit,
            "query": query.text,
            "tenant": acl.tenant if acl else None,
            "principal": acl.principal if acl else None,
        }
        try:
            found = list(self._base.execute(statement, values))
        except self._library.Error as error:
            raise AnswerError(f"SQLite: {error}") from None
        base = 1.0 if self._function == FUNCTIONS["cosine"] else 0.0
        return [(str(name), base - distance) for name, distance in found if distance is not None]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
