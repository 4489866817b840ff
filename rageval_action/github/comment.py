"""The sticky comment: one per evaluation, on its pull request, found again by its first line.

Anyone can write our marker into a comment, so a comment counts as ours only when our own account wrote it
*and* the marker is its first line. A newer run's comment is never overwritten; extra copies of ours are
removed.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from rageval_action.core.wording.limits import SENT_COMMENT_BYTES
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.rest_types import Comment
from rageval_action.github.runner import Token
from rageval_action.github.webhook_types import User
from rageval_action.github.workflow_commands import fit_lines

ACTIONS_BOT = "github-actions[bot]"
"""Who `GITHUB_TOKEN` writes as, on github.com and on Enterprise servers."""

_MARKER = re.compile(
    r"<!-- rageval id=(?P<id>[A-Za-z0-9._-]{1,64}) run=(?P<run>\d{1,19}) attempt=(?P<attempt>\d{1,9})"
    r" sha=(?P<sha>[0-9a-f]{40,64}) -->"
)
_CUT = "\n\n*Cut here to fit a comment; the job summary holds the rest.*\n"


class Marker(Struct, frozen=True, order=True):
    """First line of our comment. Order: which one is newer."""

    run: int
    attempt: int
    id: str
    sha: str

    def line(self) -> str:
        """The line as written."""
        return f"<!-- rageval id={self.id} run={self.run} attempt={self.attempt} sha={self.sha} -->"


class Posted(Struct, frozen=True, kw_only=True):
    """What became of the comment.

    Attributes:
        outcome: `kept` means that a newer run's comment was there and stays.
        url: of the comment that stands now.
        removed: extra copies of ours that were deleted.
        shared: another step of the same run has used this evaluation id.
    """

    outcome: Literal["created", "updated", "kept"]
    url: str
    removed: int = 0
    shared: bool = False


def parse_marker(body: str) -> Marker | None:
    """The marker on the first line of `body`; None when there is none."""
    found = _MARKER.fullmatch(body.split("\n", 1)[0].rstrip("\r"))
    if not found:
        return None
    return Marker(run=int(found["run"]), attempt=int(found["attempt"]), id=found["id"], sha=found["sha"])


def own_login(api: Api, token: Token, configured: str) -> str:
    """Who we write as: as configured, else asked of GitHub, else the account behind `GITHUB_TOKEN`.

    Raises:
        ApiError: a personal token's owner could not be asked for.
    """
    if configured:
        return configured
    if token.acts_as_app:  # an installation has no /user
        return ACTIONS_BOT
    try:
        return api.get("/user", User).login
    except ApiError as error:
        if error.failure == "forbidden":
            return ACTIONS_BOT
        raise


def post_comment(api: Api, number: int, marker: Marker, markdown: str, login: str) -> Posted:
    """Create or update the comment of `marker.id` on pull request `number`.

    Args:
        api: GitHub, with a token that may write.
        number: of the pull request.
        marker: who we are and which run this is.
        markdown: the comment without its marker; cut on a line when it is too long.
        login: our own account; see `own_login`.

    Raises:
        ApiError: it could not be posted.
    """
    body = _body(marker, markdown)
    ours = _ours(api, number, marker.id, login)
    if ours:
        newest_marker, newest = max(ours, key=lambda pair: (pair[0], pair[1].id))
        if newest_marker > marker:
            return Posted(outcome="kept", url=newest.html_url, removed=_remove(api, ours, newest.id))
        shared = (newest_marker.run, newest_marker.attempt) == (marker.run, marker.attempt)
        try:
            made = _patch(api, newest.id, body)
        except ApiError as error:
            if error.failure not in ("not-found", "gone"):
                raise
            return _create(api, number, marker, body, login)  # somebody has deleted it meanwhile
        return Posted(
            outcome="updated", url=made.html_url, removed=_remove(api, ours, newest.id), shared=shared
        )
    return _create(api, number, marker, body, login)


def _create(api: Api, number: int, marker: Marker, body: str, login: str) -> Posted:
    """POST once; when it is unclear whether it arrived, look before trying again."""
    try:
        made = api.send("POST", api.repo(f"issues/{number}/comments"), Comment, {"body": body})
        login = made.user.login if made.user else login
    except ApiError as error:
        if not error.delivered:
            raise
        arrived = [pair for pair in _ours(api, number, marker.id, login) if pair[0] == marker]
        if arrived:
            made = arrived[-1][1]
        else:
            made = api.send("POST", api.repo(f"issues/{number}/comments"), Comment, {"body": body})
    # Two jobs may have created one each in the same second: both look again and keep the same one.
    try:
        ours = [*_ours(api, number, marker.id, login), (marker, made)]
    except ApiError:
        return Posted(outcome="created", url=made.html_url)
    stays = max(ours, key=lambda pair: (pair[0], pair[1].id))[1]
    return Posted(outcome="created", url=stays.html_url, removed=_remove(api, ours, stays.id))


def _patch(api: Api, comment_id: int, body: str) -> Comment:
    return api.send("PATCH", api.repo(f"issues/comments/{comment_id}"), Comment, {"body": body})


def _ours(api: Api, number: int, evaluation: str, login: str) -> list[tuple[Marker, Comment]]:
    """Our comments for this evaluation, on all pages, oldest first."""
    found = []
    for page in api.pages(api.repo(f"issues/{number}/comments"), tuple[Comment, ...]):
        for comment in page:
            marker = parse_marker(comment.body or "")
            if marker and marker.id == evaluation and comment.user and comment.user.login == login:
                found.append((marker, comment))
    return found


def _remove(api: Api, ours: list[tuple[Marker, Comment]], keep: int) -> int:
    """Delete every comment of ours but `keep`; one that cannot be deleted is no reason to fail."""
    removed = 0
    for comment_id in sorted({comment.id for _, comment in ours} - {keep}):
        try:
            api.delete(api.repo(f"issues/comments/{comment_id}"))
        except ApiError:
            continue
        removed += 1
    return removed


def _body(marker: Marker, markdown: str) -> str:
    whole = f"{marker.line()}\n{markdown}"
    if len(whole.encode("utf-8", "replace")) <= SENT_COMMENT_BYTES:
        return whole
    return fit_lines(whole, SENT_COMMENT_BYTES - len(_CUT)) + _CUT
