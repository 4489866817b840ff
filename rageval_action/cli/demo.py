"""`rageval demo`: the main job on the examples, from snapshots to verdict."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_action.cli.configuration import configure, world
from rageval_action.cli.evaluate import next_steps, show_comparison
from rageval_action.cli.options import text_option
from rageval_action.cli.safe_echo import say

if TYPE_CHECKING:
    from rageval_action.core.model.record import RunRecord


@click.command()
@text_option("--examples", "DIR", "Folder of the examples; default: that of the clone.")
@text_option("--markdown", "FILE", "Also write the pull request comment to FILE.")
def demo(examples: str, markdown: str) -> None:
    """Evaluate the example snapshots before and after a change, compare them and show the result.

    The change makes retrieval worse on purpose, so the verdict is a regression; the command itself ends with 0.
    """
    from rageval_action import pipeline
    from rageval_action.core.model.record import encode
    from rageval_action.records import write_files

    folder = Path(examples) if examples else shipped()
    config = str(folder / "rageval.yml")
    out = Path(tempfile.mkdtemp(prefix="rageval-demo-"))
    records: dict[str, RunRecord] = {}
    for side in ("baseline", "candidate"):
        settings = configure({"snapshot": str(folder / side)}, config)
        records[side] = pipeline.evaluate(settings, world(folder), records.get("baseline"))
        write_files(out / side, encode(records[side]))
    document = pipeline.conclude(
        records["candidate"],
        pipeline.Baseline(record=records["baseline"], rung="snapshot"),
        settings.policy,
        today=world().today(),
    )
    show_comparison(document, records["candidate"], "", markdown, document, before=records["baseline"].record)
    click.echo(f"\nThe two records are in {out}. Compare them again with:")
    click.echo(f"  rageval compare {out / 'baseline'} {out / 'candidate'} --config {config}")
    for line in next_steps(
        document, str(out / "candidate"), str(out / "baseline"), settings.snapshot, config
    ):
        say(line)


def shipped() -> Path:
    """The examples of the clone that the command runs from or in: an installed package has none."""
    from rageval_action.errors import ConfigError

    for folder in (Path(__file__).resolve().parents[2] / "examples", Path("examples")):
        if (folder / "rageval.yml").is_file():
            return folder
    raise ConfigError(
        "demo.no-examples",
        "the examples are not part of the installed package.",
        hint="Run it at the root of a clone of the repository, or give the clone's folder examples to --examples.",
    )
