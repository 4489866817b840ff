"""Access under both exams: who may see a hit by the head's lists, and by the base's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from rageval_action.core.comparing.exams import ExamQuestion
from rageval_action.core.model.access_names import Asker
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.record import QueryRow, RunRecord


class ForbiddenHit(Struct, frozen=True, kw_only=True):
    """A hit that its asker may not see."""

    query_id: str
    id: str
    rank: int


class AccessAudit(Struct, frozen=True, kw_only=True):
    """The hits that somebody may not see.

    Attributes:
        head: by the head's lists, for those who ask in the head's golden set.
        base_only: by the base's lists or for the base's askers alone: the pull request widened a list or changed who
            asks.
    """

    head: tuple[ForbiddenHit, ...] = ()
    base_only: tuple[ForbiddenHit, ...] = ()


def audit_access(candidate: RunRecord, base_exam: Sequence[ExamQuestion], old: Lookup) -> AccessAudit:
    """Audit the candidate's hits under both exams.

    Args:
        candidate: audited by its own lists (`acl_allowed` of each hit).
        base_exam: the base's questions with the candidate's answers.
        old: the base's corpus; in a record without access lists nothing was forbidden.
    """
    head = tuple(_forbidden(candidate.queries))
    seen = {(hit.query_id, hit.id) for hit in head}
    found: dict[tuple[str, str], ForbiddenHit] = {}
    asked = [(row, row.acl) for row in candidate.queries]
    asked += [
        (one.after, one.before.acl) for one in base_exam if one.before is not None and one.after is not None
    ]
    for row, who in asked:
        for hit in _by_base(row, who, old):
            if (hit.query_id, hit.id) not in seen:
                found.setdefault((hit.query_id, hit.id), hit)
    return AccessAudit(head=head, base_only=tuple(found.values()))


def _forbidden(rows: Sequence[QueryRow]) -> Iterator[ForbiddenHit]:
    for row in rows:
        for hit in row.results:
            if hit.acl_allowed is False:
                yield ForbiddenHit(query_id=row.query_id, id=hit.id, rank=hit.rank)


def _by_base(row: QueryRow, who: Asker | None, old: Lookup) -> Iterator[ForbiddenHit]:
    """The hits that the base forbids `who`, and those that the head's lists forbid where only the base asks."""
    if who is None:
        return
    for hit in row.results:
        widened = old.keeps_access and not old.admits(who, text=hit.text_hash, chunk=hit.id, doc=hit.doc)
        if widened or (row.asked_for == "base" and hit.acl_allowed is False):
            yield ForbiddenHit(query_id=row.query_id, id=hit.id, rank=hit.rank)
