"""An override: a person with write access, not the author, approves the head commit and says why.

Asked of the API and never of the event, whose payload may be older than a dismissal or a push. A label
would not do: people without write access can set one, and it stays when the head moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import quote

from msgspec import Struct

from rageval_action.core.wording import escape
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import PullRequest
from rageval_action.github.repository import commit
from rageval_action.github.rest_types import Permission, Review
from rageval_action.github.runner import ID_PATTERN

REASON_CHARACTERS = 500
_NAMING = re.compile(r"id\s*=", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_QUOTE = re.compile(r" {0,3}>")
_COMMENT = re.compile(r"<!--.*?-->")
_DECISIONS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")
_WRITERS = ("admin", "write")


class Command(Struct, frozen=True):
    """`/rageval accept [id=NAME] REASON`; an empty id means every evaluation."""

    id: str
    reason: str


class Refused(Struct, frozen=True):
    """Why a line, or every approval of this commit, does not count."""

    note: str


class Accepted(Struct, frozen=True, kw_only=True):
    """Somebody who may has accepted this result."""

    by: str
    reason: str
    sha: str
    at: str
    url: str = ""


class NotAccepted(Struct, frozen=True, kw_only=True):
    """Nobody has; `notes` say why reviews that asked for it did not count."""

    notes: tuple[str, ...] = ()


class OverrideUnknown(Struct, frozen=True, kw_only=True):
    """It could not be looked up: counts as not accepted."""

    reason: str


Override: TypeAlias = Accepted | NotAccepted | OverrideUnknown


def find_override(api: Api, request: PullRequest, evaluation: str) -> Override:
    """The newest valid `/rageval accept <reason>` on the pull request's head commit.

    Args:
        api: GitHub.
        request: the pull request.
        evaluation: our id; `/rageval accept id=NAME <reason>` accepts that evaluation only.
    """
    try:
        return _find(api, request, evaluation)
    except ApiError as error:
        return OverrideUnknown(reason=error.message)


def _find(api: Api, request: PullRequest, evaluation: str) -> Override:
    notes: list[str] = []
    asking: list[tuple[Review, str]] = []
    for review in _standing_reviews(api, request.number):
        found = _reason(review, evaluation)
        if isinstance(found, Refused):
            notes.append(found.note)
        elif found:
            asking.append((review, found))
    if not asking:
        return NotAccepted(notes=tuple(notes))
    authors = _authors(api, request)
    if isinstance(authors, Refused):
        return NotAccepted(notes=(*notes, authors.note))
    for review, reason in reversed(asking):
        objection = _objection(api, review, request, authors)
        if not objection:
            user = review.user
            return Accepted(
                by=user.login if user else "",
                reason=reason,
                sha=request.head_sha,
                at=review.submitted_at,
                url=review.html_url,
            )
        notes.append(objection)
    return NotAccepted(notes=tuple(notes))


def _standing_reviews(api: Api, number: int) -> list[Review]:
    """Each person's newest decision, in the order they were made; a mere comment decides nothing."""
    newest: dict[int, Review] = {}
    for page in api.pages(api.repo(f"pulls/{number}/reviews"), tuple[Review, ...]):
        for review in page:
            if review.user and review.state.upper() in _DECISIONS:
                newest.pop(review.user.id, None)
                newest[review.user.id] = review
    return list(newest.values())


def _reason(review: Review, evaluation: str) -> str | Refused:
    """The reason given for accepting `evaluation`; empty when the review does not ask for that."""
    if review.state.upper() != "APPROVED":
        return ""
    refused: Refused | str = ""
    for line in spoken_lines(review.body or ""):
        found = _command(line)
        if isinstance(found, Refused):
            refused = refused or found
        elif found is not None and found.id in ("", evaluation):
            return escape.cap(escape.visible(found.reason), REASON_CHARACTERS)
    return refused


def _command(line: str) -> Command | Refused | None:
    """What a line asks for; None for a line that is no command of ours."""
    words = line.split(None, 2)
    if not words or words[0] != "/rageval" or line[0] != "/":
        return None
    shown = escape.cap(escape.visible(line.strip()), 60)
    if len(words) < 2 or words[1] != "accept":
        return Refused(f'"{shown}" is not understood: write /rageval accept REASON.')
    said = words[2].strip() if len(words) == 3 else ""
    name = ""
    if _NAMING.match(said):
        first, _, said = said.partition(" ")
        name, said = first.removeprefix("id="), said.strip()
        if not first.startswith("id=") or not ID_PATTERN.fullmatch(name):
            return Refused(f'"{shown}" names no evaluation: write id=NAME without blanks.')
    return Command(name, said) if said else Refused(f'"{shown}" gives no reason.')


def spoken_lines(body: str) -> Iterator[str]:
    """Lines that somebody says: no code block, no quotation with the lines that continue it, no HTML comment."""
    fence, hidden, quoted = "", False, False
    for line in body.replace("\r\n", "\n").split("\n"):
        opened = _FENCE.match(line)
        if hidden:
            hidden = "-->" not in line
        elif fence:
            fence = "" if _closes(line, fence) else fence
        elif opened:
            fence = opened[1]
        elif not line.strip():
            quoted = False
        elif quoted or _QUOTE.match(line):
            quoted = True
        else:
            said = _COMMENT.sub("", line)
            shown, hides, _ = said.partition("<!--")
            hidden = bool(hides)
            if not line.startswith("<!--"):
                yield shown


def _closes(line: str, fence: str) -> bool:
    found = _FENCE.match(line)
    return (
        bool(found) and line.strip() == line.strip()[0] * len(line.strip()) and line.strip().startswith(fence)
    )


def _authors(api: Api, request: PullRequest) -> frozenset[int] | Refused:
    """Ids of who opened the pull request and who wrote or committed its head.

    An address without an account could be the approver's own, so that nobody can accept such a commit. GitHub's own
    committer (`web-flow`) has an account.
    """
    head = commit(api, request.head_sha)
    for user, role in ((head.author, "author"), (head.committer, "committer")):
        if user is None or not user.id:
            return Refused(
                f"the head commit's {role} has no GitHub account, so that nobody can accept it: add the commit's"
                " address to an account, or commit again with an address that has one."
            )
    people = {request.author_id}
    people |= {user.id for user in (head.author, head.committer) if user and user.type == "User"}
    return frozenset(people)


def _objection(api: Api, review: Review, request: PullRequest, authors: frozenset[int]) -> str:
    """Why this review does not count; empty when it does."""
    user = review.user
    if user is None or user.type != "User":
        return "an approval by an app does not count."
    if review.commit_id != request.head_sha:
        return f"the approval of {user.login} is of an older commit."
    if user.id in authors:
        return f"{user.login} wrote this change and cannot accept it."
    held = api.get(api.repo(f"collaborators/{quote(user.login, safe='')}/permission"), Permission)
    if held.permission not in _WRITERS:
        return f"{user.login} has no write access."
    return ""
