"""What the golden commands share: options of reading, the chunks of a snapshot, and how notices are shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rageval_action.cli.options import text_option
from rageval_action.cli.safe_echo import say
from rageval_action.core.labels.grade_scale import parse_grade_map
from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rageval_action.core.model.types import Chunk, GoldenSet, Notice

F = TypeVar("F", bound="Callable[..., Any]")


def reading_options(function: F) -> F:
    """Add the options that declare what a foreign file does not say itself."""
    for option in reversed(
        (
            click.option("--format", "format_", default="auto", help="Format; default: told by the content."),
            text_option("--map", "OURS=THEIRS,…", "Fields, for example query=soru.", "mapped"),
            text_option("--list-separator", "TEXT", "Between ids in a cell, or none.", "separator"),
            text_option("--id-template", "TEXT", 'Joins ids of several parts: "{0}-{1}".'),
            text_option("--grade-map", "OLD=NEW,…", "Grades that run otherwise: 1=4,2=3 or high=2."),
            click.option("--merge-equal", is_flag=True, help="Join rows with the same question and access."),
        )
    ):
        function = option(function)
    return function


def golden_argument(function: F) -> F:
    """Add the argument that names a golden set, as `location`: one place or several."""
    return click.argument("location", metavar="FILE...", nargs=-1, required=True, callback=_one_location)(
        function
    )


def _one_location(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str:
    del context, parameter
    return "\n".join(value)


def read(location: str, corpus: tuple[Chunk, ...], reading: Mapping[str, Any]) -> GoldenSet:
    """The golden set at `location`, read by the options of `reading_options`, and `source` and `review` if given."""
    from rageval_action.golden.field_names import parse_map
    from rageval_action.golden.formats import read_golden
    from rageval_action.golden.reader_types import ReadOptions

    options = ReadOptions(
        fields=parse_map(reading["mapped"]),
        separator=reading["separator"].replace("\\n", "\n").replace("\\t", "\t"),
        id_template=reading["id_template"],
        grades=parse_grades(reading["grade_map"]),
        corpus=corpus,
        merge_equal=reading["merge_equal"],
        source=reading.get("source") or "",
        review=reading.get("review") or "",
    )
    return read_golden(location, format=reading["format_"], options=options)


def parse_grades(text: str) -> dict[str, int]:
    """`--grade-map` as old -> new.

    Raises:
        ConfigError: `config.bad-grade-map`.
    """
    try:
        return parse_grade_map(text)
    except ValueError as fault:
        raise ConfigError("config.bad-grade-map", f"{fault}.", where="--grade-map") from fault


def chunks_of(snapshot: str) -> tuple[Chunk, ...]:
    """The chunks of a snapshot; none for an empty location."""
    if not snapshot:
        return ()
    from rageval_action.snapshots.interface import open_snapshot

    return open_snapshot(snapshot).chunks


def tell(notices: Iterable[Notice]) -> None:
    """Show notices, one a line."""
    for notice in notices:
        place = f"{notice.where}: " if notice.where else ""
        say(f"  {place}{notice.text}")


def refuse_existing(out: str, *, force: bool = False) -> Path:
    """`out` as a path that may be written.

    Raises:
        ConfigError: `output.exists`.
    """
    path = Path(out)
    if path.exists() and not force:
        raise ConfigError(
            "output.exists", "this file is there already.", hint="Name another, or say --force.", where=out
        )
    return path
