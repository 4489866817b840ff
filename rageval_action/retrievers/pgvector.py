"""PostgreSQL with pgvector: the nearest rows by an operator, filters and access in SQL."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.types import Query
from rageval_action.retrievers.external import AnswerError
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.stores import StoreRetriever, literal, missing
from rageval_action.transport import credential

OPERATORS = {
    "<=>": "cosine distance",
    "<->": "Euclidean distance",
    "<#>": "negative inner product",
    "<+>": "L1",
}


class PgvectorRetriever(StoreRetriever):
    """Asks a table.

    Options: `dsn_env` (the variable with the connection string, `DATABASE_URL`), `table`, `id` and `vector` (columns),
    `operator` (`<=>`, `<->`, `<#>`, `<+>`: what the application orders by), `type` (vector, halfvec), `where` (a SQL
    condition in which `%(tenant)s`, `%(principal)s`, `%(groups)s` and `%(query)s` stand for values), `exact` (no
    index), `set.NAME` (a setting of the session, such as `set.hnsw.ef_search`), `timeout_s`. Scores are minus the
    operator's value; for cosine, one minus it. Every statement runs in a read-only transaction.
    """

    name = "pgvector"
    most = 1_000_000

    def configure(self, options: Options) -> None:
        """Read the options."""
        variable = options.text("dsn_env", "DATABASE_URL")
        self._address = credential(variable, "retriever pgvector, option dsn_env")
        self._table = options.text("table")
        self._id = options.text("id", "id")
        self._vector = options.text("vector", "embedding")
        self._operator = options.text("operator", "<=>", choices=tuple(OPERATORS))
        self._type = options.text("type", "vector", choices=("vector", "halfvec"))
        self._where = options.text("where", "true")
        self._exact = options.flag("exact", default=False)
        self._timeout_s = options.number("timeout_s", 30.0, least=0.01)
        self._settings = {name: str(value) for name, value in options.part("set").items()}
        options.recorded.update({f"set.{name}": value for name, value in self._settings.items()})
        self._base: Any = None
        try:
            import psycopg
        except ImportError:
            raise missing("psycopg", "pgvector") from None
        self._library: Any = psycopg

    def open(self) -> None:
        """Connect, read-only, with a time limit on every statement."""
        try:
            base = self._library.connect(self._address, connect_timeout=max(2, int(self._timeout_s)))
            base.read_only = True
            base.autocommit = False
            settings = {"statement_timeout": str(int(self._timeout_s * 1000))} | self._settings
            if self._exact:
                settings |= {"enable_indexscan": "off", "enable_bitmapscan": "off"}
            with base.cursor() as cursor:
                for name, value in settings.items():
                    cursor.execute("SELECT set_config(%s, %s, false)", (name, value))
            base.commit()
        except self._library.Error as error:
            raise AnswerError(f"PostgreSQL: {_said(error)}") from None
        self._base = base

    def close(self) -> None:
        """End the connection."""
        if self._base is not None:
            self._base.close()
            self._base = None

    def search(self, query: Query, vector: NDArray[np.float32], limit: int) -> list[tuple[str, float]]:
        """The first rows by the operator."""
        if self._base is None or self._base.closed:
            self.open()
        try:
            with self._base.cursor() as cursor:
                cursor.execute(self._statement(), self._values(query, vector, limit))
                found = cursor.fetchall()
            self._base.rollback()
        except self._library.Error as error:
            self.close()
            raise AnswerError(f"PostgreSQL: {_said(error)}") from None
        base = 1.0 if self._operator == "<=>" else 0.0
        return [(str(name), base - float(distance)) for name, distance in found if distance is not None]

    def _statement(self) -> Any:
        sql = self._library.sql
        return sql.SQL(
            "SELECT {id}::text, {vector} {operator} %(vector)s::{type} AS distance FROM {table} "
            "WHERE {where} ORDER BY distance LIMIT %(limit)s"
        ).format(
            id=sql.Identifier(self._id),
            vector=sql.Identifier(self._vector),
            operator=sql.SQL(self._operator),
            type=sql.SQL(self._type),
            table=sql.Identifier(*self._table.split(".")),
            where=sql.SQL(self._where),
        )

    def _values(self, query: Query, vector: NDArray[np.float32], limit: int) -> dict[str, object]:
        acl = query.acl
        return {
            "vector": str(literal(vector)),
            "limit": limit,
            "query": query.text,
            "tenant": acl.tenant if acl else None,
            "principal": acl.principal if acl else None,
            "groups": list(acl.groups) if acl else None,
        }


def _said(error: Exception) -> str:
    """The first line of the database's words; never the connection string."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
