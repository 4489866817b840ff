"""A LanceDB table, searched by LanceDB itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.types import Query
from rageval_action.retrievers.external import AnswerError
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.stores import StoreRetriever, missing


class LancedbRetriever(StoreRetriever):
    """Asks a table.

    Options: `path` (the database folder), `table`, `id` and `vector` (columns), `metric` (l2, cosine, dot: what the
    application asks for), `exact` (pass over the index), `where` (LanceDB's SQL condition), `nprobes`,
    `refine_factor` (0 leaves LanceDB its default). Scores are minus the distance; for cosine and dot, one minus it.
    """

    name = "lancedb"
    most = 1_000_000

    def configure(self, options: Options) -> None:
        """Read the options."""
        self._path = Path(options.text("path"))
        self._table = options.text("table")
        self._id = options.text("id", "id")
        self._vector = options.text("vector", "vector")
        self._metric = options.text("metric", "l2", choices=("l2", "cosine", "dot"))
        self._exact = options.flag("exact", default=False)
        self._where = options.text("where", "")
        self._nprobes = options.integer("nprobes", 0)
        self._refine = options.integer("refine_factor", 0)
        self._open: Any = None
        if not self._path.is_dir():
            raise options.wrong("path", f"there is no folder {self._path}")
        try:
            import lancedb
        except ImportError:
            raise missing("lancedb", "lancedb") from None
        self._library: Any = lancedb

    def open(self) -> None:
        """Open the newest version of the table."""
        try:
            self._open = self._library.connect(str(self._path)).open_table(self._table)
        except (OSError, ValueError, RuntimeError, FileNotFoundError) as error:
            raise AnswerError(f"LanceDB: {str(error)[:300]}") from None

    def close(self) -> None:
        """Let go of the table."""
        self._open = None

    def search(self, query: Query, vector: NDArray[np.float32], limit: int) -> list[tuple[str, float]]:
        """The nearest rows."""
        del query
        if self._open is None:
            self.open()
        try:
            asked = self._open.search(vector, vector_column_name=self._vector).distance_type(self._metric)
            asked = asked.bypass_vector_index() if self._exact else asked
            asked = asked.where(self._where, prefilter=True) if self._where else asked
            asked = asked.nprobes(self._nprobes) if self._nprobes else asked
            asked = asked.refine_factor(self._refine) if self._refine else asked
            found = asked.select([self._id, "_distance"]).limit(limit).to_list()
        except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
            raise AnswerError(f"LanceDB: {str(error)[:300]}") from None
        base = 0.0 if self._metric == "l2" else 1.0
        return [(str(row[self._id]), base - row["_distance"]) for row in found]
