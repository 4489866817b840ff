"""`rageval history`: the records of one branch over time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from rageval_action.cli.configuration import world
from rageval_action.cli.options import html_option, json_option, markdown_option, text_option
from rageval_action.cli.output import errors_as_json, write_json, write_text
from rageval_action.cli.safe_echo import say
from rageval_action.cli.value_types import number

KEPT = "history.json"
"""What a history is called where the Action keeps one."""


@click.command()
@click.argument("places", nargs=-1, metavar="[PLACE]...")
@text_option(
    "--repository",
    "OWNER/NAME",
    "Read the artifacts that GitHub holds, by the token in GITHUB_TOKEN (actions: read).",
)
@text_option("--branch", "NAME", "Branch whose runs count. Default: the repository's default branch.")
@click.option(
    "--workflow", default="rageval.yml", help="File of the workflow that records. Default: rageval.yml."
)
@click.option("--id", "evaluation", default="default", help="Name of the evaluation. Default: default.")
@text_option("--artifact-name", "NAME", "Name of the records' artifacts. Default: rageval-ID.")
@text_option(
    "--history-branch", "NAME", "Read the history that the Action keeps on this branch, instead of artifacts."
)
@text_option(
    "--cache", "DIR", "Keep fetched records here: the next run fetches only new ones, and expired ones stay."
)
@click.option(
    "--release", multiple=True, metavar="SHA[=NAME]", help="A release: creep is counted from the last."
)
@click.option(
    "--tolerance",
    type=number(),
    default=0.02,
    help="A fall up to this is no alarm. Default: 0.02.",
)
@json_option("the history")
@markdown_option("the history")
@html_option("the history")
@text_option("--badge", "FILE", "Write an SVG badge with the last headline score.")
@text_option("--endpoint", "FILE", "Write the JSON that shields.io's endpoint badge reads.")
def history(
    places: tuple[str, ...],
    *,
    release: tuple[str, ...],
    tolerance: float,
    json_target: str,
    markdown: str,
    html_target: str,
    badge: str,
    endpoint: str,
    **github: str,
) -> None:
    """Show how scores moved over many records, and find falls too small for any single gate.

    PLACE is a record (folder or zip), a folder of records, or a history.json written before: records may expire, the
    history stays. Without an option for a file, Markdown goes to standard output.
    """
    from rageval_action.core.series.history import history as over_time
    from rageval_action.reports import history as reports

    with errors_as_json(json_target):
        with _fetched(**github) as folders:
            points, unread = gather({place: Path(place) for place in places} | dict(folders))
        trend = over_time(_blessed(points, release), tolerance=tolerance)
        for line in unread:
            say(f"rageval: not read: {line}", err=True)
        if json_target:
            write_json(json_target, trend)
        if html_target:
            write_text(html_target, reports.html(trend))
        if badge:
            write_text(badge, reports.badge(trend))
        if endpoint:
            write_json(endpoint, reports.endpoint(trend))
        if markdown or not (json_target or html_target or badge or endpoint):
            write_text(markdown or "-", reports.markdown(trend))
        sys.stdout.flush()


def _fetched(**github: str) -> contextlib.AbstractContextManager[Mapping[str, Path]]:
    """Folders with what GitHub holds; without any of its options nothing that speaks to it is imported."""
    if not (github["repository"] or github["history_branch"] or github["cache"]):
        _refuse_idle(github)
        return contextlib.nullcontext({})
    from rageval_action.cli.history_fetch import HistoryOptions, fetched

    return fetched(HistoryOptions(**github), world())


def _refuse_idle(github: Mapping[str, str]) -> None:
    """An option that picks among GitHub's records picks nothing in a folder.

    Raises:
        ConfigError: `history.idle-option`.
    """
    from rageval_action.errors import ConfigError

    usual = {"branch": "", "workflow": "rageval.yml", "evaluation": "default", "artifact_name": ""}
    idle = [name for name, value in usual.items() if github[name] != value]
    if idle:
        name = "--id" if idle[0] == "evaluation" else f"--{idle[0].replace('_', '-')}"
        text = f"{name} picks among what GitHub holds, and nothing is read from there."
        raise ConfigError("history.idle-option", text, hint="Give --repository, or leave it out.")


def gather(places: Mapping[str, Path]) -> tuple[list[Any], list[str]]:
    """The points of every record below `places` (by what they are called), and what could not be read, with reasons.

    Raises:
        ConfigError: `history.no-place`, `history.several`.
        RecordError: `history.no-records` when there is none at all.
    """
    from rageval_action.errors import ConfigError, RecordError

    if not places:
        hint = "Give records or folders of them, or --repository OWNER/NAME."
        raise ConfigError("history.no-place", "no place to read records from is given.", hint=hint)
    points: list[Any] = []
    unread: list[str] = []
    for place in places.values():
        for path in _records(place):
            try:
                points += _points(path)
            except RecordError as error:
                unread.append(str(error))
    if not points:
        hint = "Give records that `rageval evaluate --out` wrote, or a folder of them."
        where = ", ".join(places)
        raise RecordError("history.no-records", "there is no record here.", hint=hint, where=where)
    return points, unread


def _records(place: Path) -> Iterator[Path]:
    """`record.json` files, zips and history files at or below `place`.

    Raises:
        ConfigError: `history.several` for a data branch that keeps the histories of several evaluations.
    """
    from rageval_action.errors import ConfigError

    if place.is_file():
        yield place
        return
    if (place / "record.json").is_file():
        yield place / "record.json"
        return
    kept = sorted(path.parent.name for path in place.glob(f"*/{KEPT}"))
    if len(kept) > 1:
        text = f"these are histories of several evaluations: {', '.join(kept)}."
        raise ConfigError("history.several", text, hint="Give the folder of one.", where=str(place))
    for path in sorted(place.rglob("*")):
        if path.is_file() and (path.name in ("record.json", KEPT) or path.suffix == ".zip"):
            yield path


def _bytes(path: Path) -> bytes:
    from rageval_action.core.model.record import RECORD_BYTES
    from rageval_action.errors import RecordError
    from rageval_action.records import summary_of_zip

    try:
        data = summary_of_zip(path) if path.suffix == ".zip" else path.read_bytes()
    except OSError as error:
        raise RecordError("record.not-readable", f"{error.strerror or error}.", where=str(path)) from error
    if len(data) > RECORD_BYTES:
        raise RecordError("record.too-large", "record.json is too large.", where=str(path))
    return data


def _points(path: Path) -> list[Any]:
    """Those of a record, or of a history that was written before."""
    from rageval_action.core.model.record import decode_record
    from rageval_action.core.series import history

    data, place = _bytes(path), str(path)
    if path.suffix == ".json" and path.name != "record.json":
        return list(history.decode(data, place=place).points)
    return [history.point(decode_record(data, place=place))]


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
