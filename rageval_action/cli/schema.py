"""`rageval schema`: the JSON Schema of a wire format, generated from the types that read and write it."""

from __future__ import annotations

import importlib

import click

TYPES = {
    "record": "core.model.record:Record",
    "rankings": "core.model.record:QueryRow",
    "comparison": "core.judging.document:ComparisonDocument",
    "scores": "core.measuring.scoring:ScoreReport",
    "error": "cli.output:ErrorReport",
    "manifest": "core.model.snapshot:Manifest",
    "golden": "golden.canonical:CanonicalRow",
    "history": "core.series.history:History",
    "explanation": "core.judging.explanation:Explanation",
}
"""Format -> `module:type` below this package."""


@click.command()
@click.argument("name", type=click.Choice(list(TYPES)))
def schema(name: str) -> None:
    """Print the JSON Schema of NAME (`rankings` and `golden` describe one line)."""
    import msgspec

    module, _, kind = TYPES[name].partition(":")
    written = getattr(importlib.import_module(f"rageval_action.{module}"), kind)
    described = msgspec.json.schema(written, schema_hook=_anything)
    described["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    click.echo(msgspec.json.format(msgspec.json.encode(described), indent=2).decode())


def _anything(kind: type) -> dict[str, object]:
    """A value of any shape (the policy as written, a gate) is described by no constraint."""
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError
