"""`rageval schema`: the JSON Schema of a wire format, generated from the types that read and write it."""

from __future__ import annotations

import click

NAMES = (
    "record",
    "rankings",
    "comparison",
    "scores",
    "error",
    "manifest",
    "golden",
    "history",
    "explanation",
)


@click.command()
@click.argument("name", type=click.Choice(NAMES))
def schema(name: str) -> None:
    """Print the JSON Schema of NAME (`rankings` and `golden` describe one line)."""
    import msgspec

    described = msgspec.json.schema(_kind(name), schema_hook=_anything)
    described["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    click.echo(msgspec.json.format(msgspec.json.encode(described), indent=2).decode())


def _anything(kind: type) -> dict[str, object]:
    """A value of any shape (the policy as written, a gate) is described by no constraint."""
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError


def _kind(name: str) -> type:
    from rageval_action.cli.output import ErrorReport
    from rageval_action.core.judging.document import ComparisonDocument
    from rageval_action.core.judging.explanation import Explanation
    from rageval_action.core.measuring.scoring import ScoreReport
    from rageval_action.core.model.record import QueryRow, Record
    from rageval_action.core.model.snapshot import Manifest
    from rageval_action.core.series.history import History
    from rageval_action.golden.canonical import CanonicalRow

    kinds: dict[str, type] = {
        "record": Record,
        "rankings": QueryRow,
        "comparison": ComparisonDocument,
        "scores": ScoreReport,
        "error": ErrorReport,
        "manifest": Manifest,
        "golden": CanonicalRow,
        "history": History,
        "explanation": Explanation,
    }
    return kinds[name]
