"""What one run of the Action holds, and where its results go: record, report, outputs, summary, log."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from rageval_action.action.inputs import ActionInputs
from rageval_action.core.judging.document import ComparisonDocument, encode_document
from rageval_action.core.measuring.measures import headline_measure
from rageval_action.core.model.record import RunRecord, encode
from rageval_action.core.wording import escape
from rageval_action.errors import RagevalError, RecordError, refused
from rageval_action.github.api import Api
from rageval_action.github.runner import Runner, Token
from rageval_action.github.workflow_commands import Log, Place, write_outputs, write_summary
from rageval_action.records import write_files
from rageval_action.reports.check_run import CheckText, check
from rageval_action.reports.comment_and_summary import comment, summary
from rageval_action.reports.html_report import html, page
from rageval_action.reports.links import Links
from rageval_action.reports.view import ALL, view
from rageval_action.world import World

OUT = "rageval-out"
"""Folder for results in the workspace. It has no leading dot, since `upload-artifact` leaves hidden files out."""


class Session(Struct, frozen=True, kw_only=True):
    """Everything a run of the Action works with.

    Attributes:
        runtime_token: of the artifact service; empty outside a runner.
        reading: for look-ups before the evaluation. writing: for publishing after it; each with its own budget.
    """

    runner: Runner
    inputs: ActionInputs
    token: Token
    runtime_token: Token
    log: Log
    reading: Api
    writing: Api
    world: World


class Result(Struct, frozen=True, kw_only=True):
    """What was found out, and where it lies.

    Attributes:
        folder: of the record, relative to the workspace; empty in publish mode, which measures nothing itself.
        comment: Markdown of the comment, without marker. summary: Markdown of the job summary. page: HTML report.
        check: what the check run shows.
        unwritten: what the machine refused to write.
    """

    record: RunRecord
    document: ComparisonDocument
    baseline_sha: str
    comment: str
    summary: str
    page: str
    check: CheckText
    files: dict[str, bytes]
    folder: str = ""
    unwritten: tuple[str, ...] = ()


class Rendered(Struct, frozen=True, kw_only=True):
    """One comparison on every surface: comment and summary are Markdown, the page is HTML."""

    comment: str
    summary: str
    page: str
    check: CheckText


def render(
    session: Session,
    record: RunRecord,
    document: ComparisonDocument,
    *,
    before: RunRecord | None,
    sha: str,
    remarks: str,
) -> Rendered:
    """The same view on every surface, in the comment with what only the Action knows below it.

    Args:
        session: for addresses.
        record: the candidate.
        document: the comparison.
        before: the baseline, where there is one.
        sha: commit whose golden set the queries link to.
        remarks: Markdown of our own making.
    """
    runner = session.runner
    links = Links(
        server_url=runner.server_url,
        repository=runner.repository,
        sha=sha,
        report_url=runner.run_url,
        report_name="the job summary",
    )
    old = before.record if before else None
    body = comment(view(document, record.record, before=old), links)
    whole = view(document, record.record, before=old, most=ALL)
    golden = escape.blob_url(runner.server_url, runner.repository, sha, record.record.golden.path, 1)
    return Rendered(
        comment=f"{body.rstrip()}\n\n{remarks}\n",
        summary=summary(whole, links),
        page=html(page(document, record, before, source=golden.removesuffix("1"))),
        check=check(whole, links),
    )


def save(session: Session, result: Result, *, keep_record: bool) -> Result:
    """Write the record, the reports, then outputs and summary: before anything is published, and each on its own.

    What could not be written is said, and named in `unwritten`; the result stands all the same.
    """
    unwritten: list[str] = []
    base = Path(OUT) / session.inputs.id

    def attempt(what: str, write: Callable[[], object]) -> bool:
        done = tried(session, what, write)
        unwritten.extend([] if done else [what])
        return done

    def folder() -> None:
        nonlocal base
        base = _free_folder(base)

    found = attempt("the folder for results", folder)
    reports = {
        "comment.md": result.comment.encode(),
        "summary.md": result.summary.encode(),
        "report.html": result.page.encode(),
    }
    kept = found and keep_record and attempt("the record", lambda: write_files(base / "record", result.files))
    shown = found and attempt("the report", lambda: write_files(base / "report", reports))
    if found:
        tried(session, "the owner of the results", lambda: _hand_over(Path(OUT)))
    saved = msgspec.structs.replace(result, folder=str(base / "record") if kept else "")
    values = outputs(session, saved, str(base / "report") if shown else "")
    missing = write_results(session, values, result.summary)
    return msgspec.structs.replace(saved, unwritten=(*unwritten, *missing))


def tried(session: Session, what: str, write: Callable[[], object]) -> bool:
    """Do it; where the machine refuses, say what could not be written. True when it was done."""
    try:
        write()
    except (RagevalError, OSError, MemoryError) as error:
        reason = error if isinstance(error, RagevalError) else refused(error)
        session.log.annotate("warning", f"{what} could not be written: {reason}", title="rageval")
        return False
    return True


def outputs(session: Session, result: Result, report: str) -> dict[str, str]:
    """The outputs of `action.yml` that are known before publishing."""
    document = result.document
    headline = headline_measure(document.k)
    row = next((row for row in document.measures if row.measure == headline and row.slice is None), None)
    alone = result.record.record.measures.get(headline)
    score = row.candidate if row else (alone.mean if alone else None)
    return {
        "verdict": "overridden" if document.overridden else document.verdict,
        "exit-code": str(document.exit_code),
        "record-path": result.folder,
        "artifact-name": session.inputs.artifact_name,
        "report-path": report and f"{report}/report.html",
        "comment-path": report and f"{report}/comment.md",
        "baseline-sha": result.baseline_sha,
        "baseline-rung": document.baseline.rung if document.baseline else "",
        "baseline-distance": _number(document.baseline.distance if document.baseline else None),
        "primary-measure": headline,
        "primary-score": _number(score),
        "primary-delta": _number(row.delta if row else None),
    }


def write_results(session: Session, values: Mapping[str, str], summary: str) -> tuple[str, ...]:
    """Write outputs and summary where the runner wants them; elsewhere say nothing.

    Returns:
        What could not be written.
    """
    runner = session.runner

    def summarise() -> None:
        if not write_summary(Path(runner.summary_path), summary):
            session.log.line("The job summary was cut to fit its limit; the report holds all of it.")

    steps: list[tuple[str, Callable[[], object]]] = []
    if runner.output_path:
        steps.append(("the outputs", lambda: write_outputs(Path(runner.output_path), values)))
    if summary and runner.summary_path:
        steps.append(("the job summary", summarise))
    return tuple(what for what, write in steps if not tried(session, what, write))


def record_files(record: RunRecord, document: ComparisonDocument) -> dict[str, bytes]:
    """The record's members and the comparison it led to."""
    return {**encode(record), "comparison.json": encode_document(document)}


def error_markdown(error: RagevalError) -> str:
    """An error for comment and summary; file names and values in it come from the pull request."""
    lines = [
        "> [!WARNING]",
        f"> **Retrieval was not measured.** {escape.markdown(error.message, 600)}",
    ]
    if error.where:
        lines.append(f"> At {escape.markdown_code(error.where)}.")
    if error.hint:
        lines.append(f"> {escape.markdown(error.hint, 600)}")
    return "\n".join(lines) + "\n"


def place_of(error: RagevalError) -> Place | None:
    """`golden.jsonl:17` as a place for an annotation."""
    path, _, line = error.where.rpartition(":")
    if path and line.isascii() and line.isdigit() and len(line) < 9 and not path.startswith("/"):
        return Place(path, int(line))
    return None


def _number(value: float | None) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _free_folder(wanted: Path) -> Path:
    """`wanted`, or the next free name: results of an earlier step are never overwritten.

    Raises:
        RecordError: `record.linked-out` when the folder for results is a link that the checkout brought along.
    """
    if wanted.parent.is_symlink():
        text = "it is a symbolic link; results are not written through one."
        raise RecordError("record.linked-out", text, where=str(wanted.parent))
    number = 1
    folder = wanted
    while folder.exists() or folder.is_symlink():
        number += 1
        folder = wanted.with_name(f"{wanted.name}-{number}")
    return folder


def _hand_over(folder: Path) -> None:
    """Give what we wrote as root to the workspace's owner, whose runner must be able to remove it."""
    if os.geteuid() != 0:
        return
    owner = folder.parent.stat()
    if owner.st_uid == 0:
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
