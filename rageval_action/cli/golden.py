"""`rageval golden …`: read, check, make and keep golden sets."""

from __future__ import annotations

import click

from rageval_action.cli.main import LazyGroup

TABLE: dict[str, str] = {
    "import": "rageval_action.cli.golden_import:import_",
    "check": "rageval_action.cli.golden_check:check",
    "generate": "rageval_action.cli.golden_generate:generate",
    "review": "rageval_action.cli.golden_review:review",
    "merge": "rageval_action.cli.golden_merge:merge",
    "drift": "rageval_action.cli.golden_drift:drift",
    "add": "rageval_action.cli.golden_add:add",
}
"""Command -> `module:attribute`."""


@click.command(cls=LazyGroup, table=TABLE, context_settings={"help_option_names": ["-h", "--help"]})
def golden() -> None:
    """Read, check, generate, review and maintain golden sets."""
