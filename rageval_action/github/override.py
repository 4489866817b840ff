"""An override: a person with write access, not the author, approves the head commit and says why.

Asked of the API and never of the event, whose payload may be older than a dismissal or a push. A label
would not do: people without write access can set one, and it stays when the head moves.
"""

from __future__ import annotations

import re
from typing import TypeAlias
from urllib.parse import quote

from msgspec import Struct

from rageval_action.core.wording import escape
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import PullRequest
from rageval_action.github.repository import commit
from rageval_action.github.rest_types import Permission, Review

REASON_CHARACTERS = 500
_COMMAND = re.compile(
    r"^/rageval[ \t]+accept(?:[ \t]+id=(?P<id>[A-Za-z0-9._-]{1,64}))?[ \t]+(?P<reason>\S.*)$", re.MULTILINE
)
_DECISIONS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")
_WRITERS = ("admin", "write")


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
    asking = [
        (review, reason)
        for review in _standing_reviews(api, request.number)
        if (reason := _reason(review, evaluation))
    ]
    if not asking:
        return NotAccepted()
    authors = _authors(api, request)
    notes = []
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


def _reason(review: Review, evaluation: str) -> str:
    """The reason given for accepting `evaluation`; empty when the review does not ask for that."""
    if review.state.upper() != "APPROVED":
        return ""
    for found in _COMMAND.finditer((review.body or "").replace("\r\n", "\n")):
        if found["id"] in (None, evaluation):
            return escape.cap(escape.visible(found["reason"]), REASON_CHARACTERS)
    return ""


def _authors(api: Api, request: PullRequest) -> frozenset[int]:
    """Ids of who opened the pull request and who wrote or committed its head."""
    head = commit(api, request.head_sha)
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
