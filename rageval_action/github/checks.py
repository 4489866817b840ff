"""The optional check run on the tested head, and the commit status that stands in where it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from rageval_action.core.wording import escape
from rageval_action.core.wording.limits import SENT_COMMENT_BYTES, TITLE_CHARACTERS
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.rest_types import CreatedObject
from rageval_action.github.workflow_commands import fit_lines

Conclusion: TypeAlias = Literal["success", "neutral", "failure"]
"""`neutral` satisfies a required check as `success` does: it says "no objection", not "unknown"."""

BATCH = 50
MAX_ANNOTATIONS = 500
MESSAGE_BYTES = 8_000
STATUS_CHARACTERS = 140
_CUT = "\n\n*Cut here to fit a check run; the job summary holds the rest.*\n"


class Annotation(Struct, frozen=True, kw_only=True):
    """A remark on a line of the golden set. `line` starts at 1."""

    path: str
    line: int
    message: str
    title: str = ""
    level: Literal["notice", "warning", "failure"] = "warning"


class CheckRun(Struct, frozen=True, kw_only=True):
    """What a check run shows.

    Attributes:
        name: of the check; holds the evaluation id so that several do not overwrite each other.
        title: one line. summary: Markdown.
    """

    name: str
    head_sha: str
    conclusion: Conclusion
    title: str
    summary: str
    details_url: str
    annotations: Sequence[Annotation] = ()


class WrittenCheck(Struct, frozen=True, kw_only=True):
    """Where the result can be seen now."""

    surface: Literal["check", "status"]
    url: str = ""
    annotations: int = 0


def publish_check(api: Api, report: CheckRun) -> WrittenCheck:
    """Create the check run, append its annotations, complete it; a commit status where that is refused.

    Raises:
        ApiError: neither could be written.
    """
    try:
        made = api.send("POST", api.repo("check-runs"), CreatedObject, _opening(report))
    except ApiError as error:
        if error.failure not in ("forbidden", "not-found"):
            raise
        return _status(api, report)
    path = api.repo(f"check-runs/{made.id}")
    batches = _batches(report)
    sent = 0
    try:
        for batch in batches[:-1]:
            api.send("PATCH", path, CreatedObject, {"output": _output(report, batch)})
            sent += len(batch)
    except ApiError:
        batches = [[]]  # complete it all the same: an open check would block the merge for good
    closing = {"status": "completed", "conclusion": report.conclusion, "output": _output(report, batches[-1])}
    api.send("PATCH", path, CreatedObject, closing)
    return WrittenCheck(surface="check", url=made.html_url or "", annotations=sent + len(batches[-1]))


def _opening(report: CheckRun) -> dict[str, Any]:
    return {
        "name": report.name,
        "head_sha": report.head_sha,
        "status": "in_progress",
        "details_url": report.details_url,
    }


def _output(report: CheckRun, annotations: Sequence[Annotation]) -> dict[str, Any]:
    summary = report.summary
    if len(summary.encode("utf-8", "replace")) > SENT_COMMENT_BYTES:
        summary = fit_lines(summary, SENT_COMMENT_BYTES - len(_CUT)) + _CUT
    return {
        "title": escape.cap(escape.visible(report.title), TITLE_CHARACTERS),
        "summary": summary,
        "annotations": [_annotation(item) for item in annotations],
    }


def _batches(report: CheckRun) -> list[Sequence[Annotation]]:
    """Annotations in requests of 50; always one batch, be it empty, since completing needs a request."""
    usable = [item for item in report.annotations if item.path and item.line > 0][:MAX_ANNOTATIONS]
    return [usable[start : start + BATCH] for start in range(0, len(usable), BATCH)] or [[]]


def _annotation(item: Annotation) -> dict[str, Any]:
    made: dict[str, Any] = {
        "path": item.path,
        "start_line": item.line,
        "end_line": item.line,
        "annotation_level": item.level,
        "message": escape.cap_bytes(_basic(escape.visible(item.message)), MESSAGE_BYTES) or "-",
    }
    if item.title:
        made["title"] = escape.cap(_basic(escape.visible(item.title)), TITLE_CHARACTERS)
    return made


def _basic(text: str) -> str:
    """Characters above U+FFFF spelt out: annotations have been seen to lose the text that holds them."""
    return "".join(char if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}" for char in text)


def _status(api: Api, report: CheckRun) -> WrittenCheck:
    """`neutral` has no counterpart among statuses; it does not object, so it is a success."""
    body = {
        "state": "failure" if report.conclusion == "failure" else "success",
        "context": report.name,
        "description": escape.cap(escape.visible(report.title), STATUS_CHARACTERS),
        "target_url": report.details_url,
    }
    api.send("POST", api.repo(f"statuses/{report.head_sha}"), CreatedObject, body)
    return WrittenCheck(surface="status", url=report.details_url)
