"""The default branch's history on a data branch: what outlives the artifacts."""

from __future__ import annotations

import msgspec

from rageval_action.action.session import Result, Session
from rageval_action.core.series.history import History, decode, grown, history, point
from rageval_action.github import data_branch
from rageval_action.reports import history as reports


def keep_history(session: Session, result: Result) -> dict[str, str]:
    """Add the record to the history on the data branch, and draw the badge anew.

    One folder for each evaluation; a history holds scores by measure and slice and what was measured, no query.

    Raises:
        ApiError: GitHub refused.
        ConfigError: `config.history-branch`. RecordError: `history.bad-json` when the branch holds something else.
    """
    name, folder = session.inputs.history_branch, session.inputs.id
    record = result.record.record
    if result.document.verdict == "cannot_measure":
        session.log.line(f"Not added to the history on {name}: this run could not measure.")
        return {}
    kept = history(())

    def renew(old: bytes) -> dict[str, str]:
        nonlocal kept
        before = decode(old, place=f"{folder}/history.json on {name}") if old else history(())
        kept = history(grown(before.points, point(record)))
        return files(folder, kept)

    message = f"Record {record.git.sha[:10]} ({folder}) [skip ci]"
    made = data_branch.update(session.writing, name, f"{folder}/history.json", renew, message)
    session.log.line(f"History of {len(kept.points)} record(s) kept on {name} at {made[:10]}")
    return {}


def files(folder: str, kept: History) -> dict[str, str]:
    """A history as `rageval history --json` writes it, its badge, and what shields.io reads."""
    return {
        f"{folder}/history.json": _json(kept),
        f"{folder}/badge.svg": reports.badge(kept),
        f"{folder}/badge.json": _json(reports.endpoint(kept)),
    }


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode() + "\n"
