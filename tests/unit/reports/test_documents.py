"""Whole documents, one folder a situation: read them when they change (`pytest --update-expected`)."""

from __future__ import annotations

import io

import msgspec

from rageval_action.reports.check_run import check
from rageval_action.reports.comment_and_summary import comment, summary
from rageval_action.reports.links import Links
from rageval_action.reports.terminal import show
from rageval_action.reports.view import ALL, view
from tests.unit.reports.situations import HEAD, Situation

LINKS = Links(
    server_url="https://github.com",
    repository="acme/handbook",
    sha=HEAD,
    report_url="https://github.com/acme/handbook/actions/runs/7",
)


def _view(situation: Situation, most: int = 10):
    before = situation.before.record if situation.before else None
    return view(situation.document, situation.after.record, before=before, most=most)


def test_the_comment_is_as_it_was_read(named, expected):
    name, situation = named
    expected(f"{name}/comment.md", comment(_view(situation), LINKS))


def test_the_summary_is_as_it_was_read(named, expected):
    name, situation = named
    expected(f"{name}/summary.md", summary(_view(situation, ALL), LINKS))


def test_the_terminal_is_as_it_was_read(named, expected):
    name, situation = named
    out = io.StringIO()
    show(_view(situation), out)
    expected(f"{name}/terminal.txt", out.getvalue())


def test_the_check_run_is_as_it_was_read(named, expected):
    name, situation = named
    made = check(_view(situation, ALL), LINKS)
    plain = msgspec.to_builtins(made)
    del plain["summary"]
    plain["remarks"] = plain["remarks"][:4]
    expected(f"{name}/check.json", msgspec.json.format(msgspec.json.encode(plain), indent=1).decode() + "\n")
