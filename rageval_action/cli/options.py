"""Options that several commands have: where to read, where to write, declared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def text_option(name: str, metavar: str, text: str, parameter: str = "") -> Callable[[F], F]:
    """An option that takes a text and is empty by default; `parameter` where the command calls it otherwise."""
    names = (name, parameter) if parameter else (name,)
    return click.option(*names, default="", metavar=metavar, help=text)


def json_option(what: str, more: str = "") -> Callable[[F], F]:
    """`--json`, as `json_target`."""
    return text_option("--json", "FILE", f"Write {what} as JSON; - is standard output.{more}", "json_target")


def markdown_option(what: str) -> Callable[[F], F]:
    """`--markdown`."""
    return text_option("--markdown", "FILE", f"Write {what} as Markdown; - is standard output.")


def html_option(what: str) -> Callable[[F], F]:
    """`--html`, as `html_target`."""
    return text_option(
        "--html", "FILE", f"Write {what} as one HTML file; - is standard output.", "html_target"
    )


def out_option(what: str) -> Callable[[F], F]:
    """`--out`, a folder that the command makes."""
    return click.option("--out", required=True, metavar="DIR", help=f"New or empty folder for {what}.")


def golden_sets_option(text: str) -> Callable[[F], F]:
    """`--queries`, any number of golden sets, as a tuple."""
    return click.option("--queries", multiple=True, metavar="GOLDEN", help=text)


def query_embeddings_option(text: str) -> Callable[[F], F]:
    """`--query-embeddings`."""
    return text_option("--query-embeddings", "FILE", text)


def query_vector_options(function: F) -> F:
    """`--queries` and `--query-embeddings`."""
    queries = golden_sets_option("Golden set whose query vectors are kept as well; repeatable.")
    vectors = query_embeddings_option("Their vectors (.npy), row i for query i, set after set.")
    return queries(vectors(function))
