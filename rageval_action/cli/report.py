"""`rageval report`: a record, and what it is compared with, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rageval_action.cli.configuration import config_option, configure, world
from rageval_action.cli.options import text_option
from rageval_action.cli.output import write_text
from rageval_action.cli.safe_echo import say


@click.command()
@click.argument("record")
@text_option("--baseline", "RECORD", "Record to compare with: both rankings are shown.")
@text_option("--comparison", "FILE", "comparison.json to show instead of comparing again.")
@text_option("--snapshot", "DIR", "Snapshot of the record, for the texts of what was found.")
@config_option
@click.option("--out", required=True, metavar="FILE", help="The HTML file to write; - is standard output.")
def report(record: str, baseline: str, comparison: str, snapshot: str, config: str, out: str) -> None:
    """Write the HTML report of RECORD (a folder or zip made by `rageval evaluate --out`).

    The file holds everything it needs and asks for nothing from anywhere, so it can be kept with the record.
    """
    from rageval_action.records import read_record
    from rageval_action.reports.html_report import html, page

    candidate = read_record(record)
    before = read_record(baseline) if baseline else None
    beside = Path(record) / "comparison.json"
    if not comparison and not baseline and beside.is_file():
        comparison = str(beside)
    document = read_comparison(comparison) if comparison else _judged(candidate, before, config)
    texts, note = chunk_texts(snapshot, candidate)
    if note:
        say(f"note: {note}", err=True)
    made = page(document, candidate, before, texts=texts, texts_note=note, source=_source(candidate))
    write_text(out, html(made))


def _judged(candidate: Any, before: Any, config: str) -> Any:
    from rageval_action import pipeline
    from rageval_action.core.judging.outcomes import NoBaseline

    against = pipeline.Baseline(record=before) if before else NoBaseline("no baseline was given")
    today = world().today()
    return pipeline.conclude(candidate, against, configure({}, config).policy, today=today)


def read_comparison(path: str) -> Any:
    """A comparison document from a file, checked.

    Raises:
        ConfigError: `report.comparison` when there is none, or it is not one.
    """
    import msgspec

    from rageval_action.core.judging.document import ComparisonDocument
    from rageval_action.errors import ConfigError

    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=ComparisonDocument)
    except OSError as error:
        raise ConfigError("report.comparison", f"cannot be read: {error.strerror}.", where=path) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = (
            "Give the comparison.json that `rageval evaluate --baseline` or `rageval compare --json` wrote."
        )
        raise ConfigError(
            "report.comparison", f"not a comparison: {error}.", hint=hint, where=path
        ) from error


def chunk_texts(snapshot: str, run: Any) -> tuple[dict[str, str], str]:
    """`text_hash` of a chunk -> its text, and a note where the snapshot is not the one that `run` was made with.

    A record holds the hash of every chunk that came back, so a text is shown for that chunk and for no other, whichever
    snapshot it is read from. Empty without a snapshot.
    """
    if not snapshot:
        return {}, ""
    from rageval_action.core.model.hashing import text_hash
    from rageval_action.snapshots.interface import open_snapshot

    opened = open_snapshot(snapshot)
    recorded, given = run.record.snapshot.fingerprint, opened.manifest.fingerprint
    texts = {text_hash(chunk.text): chunk.text for chunk in opened.chunks}
    if given == recorded:
        return texts, ""
    return texts, (
        f"{snapshot} is not the snapshot of this record (fingerprint {given[:12]}, recorded {recorded[:12]}): "
        "a text is shown only where it is the very one that was searched."
    )


def _source(run: Any) -> str:
    """Address of the golden set's lines on the code host; empty outside a workflow."""
    from rageval_action.core.wording.escape import blob_url

    environ = world().environ
    server, repository = environ.get("GITHUB_SERVER_URL", ""), environ.get("GITHUB_REPOSITORY", "")
    return blob_url(server, repository, run.record.git.sha, run.record.golden.path, 1).removesuffix("1")
