"""A LanceDB table, searched by LanceDB itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rageval_action.retrievers.clients import ClientRetriever
from rageval_action.retrievers.files import refuse_pointers
from rageval_action.retrievers.interface import OptionValue
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.store_child import Ask, StoreError


class LancedbRetriever(ClientRetriever):
    """Asks a table.

    Options: `path` (the database folder), `table`, `id` and `vector` (columns), `metric` (l2, cosine, dot: what the
    application asks for), `exact` (pass over the index), `where` (LanceDB's SQL condition), `nprobes`,
    `refine_factor` (0 leaves LanceDB its default). Scores are minus the distance; for cosine and dot, one minus it.
    """

    name = "lancedb"
    most = 1_000_000
    store = "LancedbStore"
    libraries = ("lancedb",)

    def settings(self, options: Options) -> None:
        """Read the options."""
        self._path = Path(options.text("path"))
        options.text("table")
        options.text("id", "id")
        options.text("vector", "vector")
        options.text("metric", "l2", choices=("l2", "cosine", "dot"))
        options.flag("exact", default=False)
        options.text("where", "")
        options.integer("nprobes", 0)
        options.integer("refine_factor", 0)
        if not self._path.is_dir():
            raise options.wrong("path", f"there is no folder {self._path}")
        refuse_pointers(self._path.rglob("*"), "a file of LanceDB's")

    def told(self) -> dict[str, OptionValue]:
        """The options, with the folder's whole path."""
        return super().told() | {"path": str(self._path.resolve())}


class LancedbStore:
    """The newest version of the table, in the process of its own."""

    def __init__(self, options: dict[str, Any]) -> None:
        import lancedb

        self._options = options
        try:
            self._table = lancedb.connect(options["path"]).open_table(options["table"])
        except (OSError, ValueError, RuntimeError) as error:
            raise StoreError(f"LanceDB: {str(error)[:300]}") from None

    def search(self, asked: Ask) -> list[tuple[str, float]]:
        """The nearest rows."""
        of = self._options
        try:
            query: Any = self._table.search(asked.numbers(), vector_column_name=of["vector"])
            query = query.distance_type(of["metric"])
            query = query.bypass_vector_index() if of["exact"] else query
            query = query.where(of["where"], prefilter=True) if of["where"] else query
            query = query.nprobes(of["nprobes"]) if of["nprobes"] else query
            query = query.refine_factor(of["refine_factor"]) if of["refine_factor"] else query
            found = query.select([of["id"], "_distance"]).limit(asked.limit).to_list()
        except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
            raise StoreError(f"LanceDB: {str(error)[:300]}") from None
        least = 0.0 if of["metric"] == "l2" else 1.0
        return [(str(row[of["id"]]), least - row["_distance"]) for row in found]
