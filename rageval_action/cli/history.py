"""`rageval history`: the records of one branch over time."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rageval_action.cli.common import write_text
from rageval_action.cli.output import errors_as_json, write_json

MOST_BYTES = 64 << 20
"""A `record.json` of more than this is no record."""


@click.command()
@click.argument("places", nargs=-1, required=True, metavar="PLACE...")
@click.option(
    "--release",
    multiple=True,
    metavar="SHA[=NAME]",
    help="A blessed release: creep is counted from the last.",
)
@click.option("--tolerance", default=0.02, help="A fall up to this is no alarm. Default: 0.02.")
@click.option(
    "--json",
    "json_target",
    default="",
    metavar="FILE",
    help="Write the history as JSON; - is standard output.",
)
@click.option("--markdown", default="", metavar="FILE", help="Write it as Markdown; - is standard output.")
@click.option("--html", "html_target", default="", metavar="FILE", help="Write it as one HTML file.")
@click.option("--badge", default="", metavar="FILE", help="Write an SVG badge with the last headline score.")
@click.option(
    "--endpoint", default="", metavar="FILE", help="Write the JSON that shields.io's endpoint badge reads."
)
def history(
    places: tuple[str, ...],
    release: tuple[str, ...],
    tolerance: float,
    json_target: str,
    markdown: str,
    html_target: str,
    badge: str,
    endpoint: str,
) -> None:
    """Show how scores moved over many records, and find falls too small for any single gate.

    PLACE is a record (folder or zip), a folder of records, or a history.json written before: records may expire, the
    history stays. Without an option for a file, Markdown goes to standard output.
    """
    from rageval_action.core.history import history as told_by
    from rageval_action.reports import history as reports

    with errors_as_json(json_target):
        points, unread = gather(places)
        told = told_by(_blessed(points, release), tolerance=tolerance)
        for line in unread:
            click.echo(f"rageval: not read: {line}", err=True)
        if json_target:
            write_json(json_target, told)
        if html_target:
            write_text(html_target, reports.html(told))
        if badge:
            write_text(badge, reports.badge(told))
        if endpoint:
            write_json(endpoint, reports.endpoint(told))
        if markdown or not (json_target or html_target or badge or endpoint):
            write_text(markdown or "-", reports.markdown(told))
        sys.stdout.flush()


def gather(places: tuple[str, ...]) -> tuple[list[Any], list[str]]:
    """The points of every record below `places`, and what could not be read, each with its reason.

    Raises:
        RecordError: `history.no-records` when there is none at all.
    """
    from rageval_action.core.history import point
    from rageval_action.errors import RecordError

    points: list[Any] = []
    unread: list[str] = []
    for place in places:
        for path in _records(Path(place)):
            try:
                points += (
                    _kept(path)
                    if path.suffix == ".json" and path.name != "record.json"
                    else [point(_read(path))]
                )
            except RecordError as error:
                unread.append(str(error))
    if not points:
        hint = "Give records that `rageval evaluate --out` wrote, or a folder of them."
        where = ", ".join(places)
        raise RecordError("history.no-records", "there is no record here.", hint=hint, where=where)
    return points, unread


def _records(place: Path) -> Iterator[Path]:
    """`record.json` files, zips and history files at or below `place`."""
    if place.is_file():
        yield place
        return
    if (place / "record.json").is_file():
        yield place / "record.json"
        return
    for path in sorted(place.rglob("*")):
        if path.is_file() and (path.name == "record.json" or path.suffix == ".zip"):
            yield path


def _bytes(path: Path) -> bytes:
    from rageval_action.errors import RecordError

    try:
        if path.suffix != ".zip":
            return path.read_bytes()
        with zipfile.ZipFile(path) as archive, archive.open("record.json") as member:
            data = member.read(MOST_BYTES + 1)
    except (OSError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise RecordError("record.bad-zip", f"not readable: {error}.", where=str(path)) from error
    if len(data) > MOST_BYTES:
        raise RecordError("record.too-large", "record.json is too large.", where=str(path))
    return data


def _read(path: Path) -> Any:
    from rageval_action.core.record import Record

    return _decoded(path, Record, "record")


def _kept(path: Path) -> list[Any]:
    from rageval_action.core.history import History

    return list(_decoded(path, History, "history").points)


def _decoded(path: Path, kind: Any, what: str) -> Any:
    import msgspec

    from rageval_action.errors import RecordError

    try:
        return msgspec.json.decode(_bytes(path), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError("record.bad-json", f"not a valid {what}: {error}.", where=str(path)) from error


def _blessed(points: list[Any], releases: tuple[str, ...]) -> list[Any]:
    """The points with their releases named.

    Raises:
        ConfigError: `history.unknown-release` for a commit that no record measured.
    """
    from msgspec.structs import replace

    from rageval_action.errors import ConfigError

    for given in releases:
        sha, _, name = given.partition("=")
        found = [at for at, one in enumerate(points) if sha and one.sha.startswith(sha)]
        if not found:
            raise ConfigError(
                "history.unknown-release", f'no record is of commit "{sha}".', where="--release"
            )
        for at in found:
            points[at] = replace(points[at], release=name or sha)
    return points
