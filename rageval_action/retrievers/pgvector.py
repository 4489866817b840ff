"""PostgreSQL with pgvector: the nearest rows by an operator, filters and access in SQL."""

from __future__ import annotations

import os
from typing import Any

from rageval_action.retrievers.clients import ClientRetriever
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.store_child import Ask, StoreError
from rageval_action.retrievers.stores import literal

OPERATORS = {
    "<=>": "cosine distance",
    "<->": "Euclidean distance",
    "<#>": "negative inner product",
    "<+>": "L1",
}


class PgvectorRetriever(ClientRetriever):
    """Asks a table.

    Options: `dsn_env` (the variable with the connection string, `DATABASE_URL`), `table`, `id` and `vector` (columns),
    `operator` (`<=>`, `<->`, `<#>`, `<+>`: what the application orders by), `type` (vector, halfvec), `where` (a SQL
    condition in which `%(tenant)s`, `%(principal)s`, `%(groups)s` and `%(query)s` stand for values), `exact` (no
    index), `set.NAME` (a setting of the session, such as `set.hnsw.ef_search`), `timeout_s`. Scores are minus the
    operator's value; for cosine, one minus it. Every statement runs in a read-only transaction.
    """

    name = "pgvector"
    most = 1_000_000
    store = "PgvectorStore"
    libraries = ("psycopg",)
    grace_s = 1.0

    def settings(self, options: Options) -> None:
        """Read the options."""
        self._variable = options.text("dsn_env", "DATABASE_URL")
        self._address = options.key("dsn_env", "DATABASE_URL")
        options.text("table")
        options.text("id", "id")
        options.text("vector", "embedding")
        options.text("operator", "<=>", choices=tuple(OPERATORS))
        options.text("type", "vector", choices=("vector", "halfvec"))
        options.text("where", "true")
        options.flag("exact", default=False)
        options.recorded.update({f"set.{name}": str(value) for name, value in options.part("set").items()})

    def variables(self) -> dict[str, str]:
        """The connection string, by the name that the options give, and what libpq reads."""
        libpq = {name: value for name, value in self.options.environ.items() if name.startswith("PG")}
        return libpq | {self._variable: self._address}


class PgvectorStore:
    """The connection, in the process of its own."""

    def __init__(self, options: dict[str, Any]) -> None:
        import psycopg

        self._library = psycopg
        self._options = options
        self._base: Any = None
        self._connect()

    def _connect(self) -> None:
        """Connect, read-only, with a time limit on every statement."""
        limit_s = self._options["timeout_s"]
        settings = {"statement_timeout": str(max(1, int(limit_s * 1000)))}
        settings |= {
            name.removeprefix("set."): value
            for name, value in self._options.items()
            if name.startswith("set.")
        }
        if self._options["exact"]:
            settings |= {"enable_indexscan": "off", "enable_bitmapscan": "off"}
        try:
            base = self._library.connect(
                os.environ[self._options["dsn_env"]], connect_timeout=max(2, int(limit_s))
            )
            base.read_only = True
            base.autocommit = False
            with base.cursor() as cursor:
                for name, value in settings.items():
                    cursor.execute("SELECT set_config(%s, %s, false)", (name, value))
            base.commit()
        except self._library.Error as error:
            raise StoreError(f"PostgreSQL: {_said(error)}") from None
        self._base = base

    def search(self, asked: Ask) -> list[tuple[str, float]]:
        """The first rows by the operator; a connection that failed is made anew for the next query."""
        if self._base.closed:
            self._connect()
        try:
            with self._base.cursor() as cursor:
                cursor.execute(self._statement(), _values(asked))
                found = cursor.fetchall()
            self._base.rollback()
        except self._library.Error as error:
            self._base.close()
            raise StoreError(f"PostgreSQL: {_said(error)}") from None
        least = 1.0 if self._options["operator"] == "<=>" else 0.0
        return [(str(name), least - float(distance)) for name, distance in found if distance is not None]

    def _statement(self) -> Any:
        sql, of = self._library.sql, self._options
        return sql.SQL(
            "SELECT {id}::text, {vector} {operator} %(vector)s::{type} AS distance FROM {table} "
            "WHERE {where} ORDER BY distance LIMIT %(limit)s"
        ).format(
            id=sql.Identifier(of["id"]),
            vector=sql.Identifier(of["vector"]),
            operator=sql.SQL(of["operator"]),
            type=sql.SQL(of["type"]),
            table=sql.Identifier(*of["table"].split(".")),
            where=sql.SQL(of["where"]),
        )


def _values(asked: Ask) -> dict[str, object]:
    acl = asked.acl
    return {
        "vector": str(literal(asked.numbers())),
        "limit": asked.limit,
        "query": asked.text,
        "tenant": acl.tenant if acl else None,
        "principal": acl.principal if acl else None,
        "groups": list(acl.groups) if acl else None,
    }


def _said(error: Exception) -> str:
    """The first line of the database's words; never the connection string."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
