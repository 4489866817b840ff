"""Which question of the base is which question of the candidate.

By asker and exact text, then by id, then by text folded with equal labels; within each by id, equal labels and file
order. Each question has at most one partner.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from rageval_action.core.labels.label_transfer import asked_for
from rageval_action.core.model.record import QueryRow

How: TypeAlias = Literal["same", "asker", "reworded"]
"""What a pair has in common: text and asker; text alone; neither to the letter."""


class QuestionPair(Struct, frozen=True):
    """A question on both sides; only one that is the `same` was ranked on both sides as each exam asks it."""

    before: QueryRow
    after: QueryRow
    how: How


class QuestionPairs(Struct, frozen=True, kw_only=True):
    """Every question with its partner.

    Attributes:
        pairs: in the base's file order. new, removed: without a partner.
    """

    pairs: tuple[QuestionPair, ...]
    new: tuple[QueryRow, ...]
    removed: tuple[QueryRow, ...]

    @property
    def same(self) -> tuple[QuestionPair, ...]:
        """The pairs of equal text and asker."""
        return tuple(pair for pair in self.pairs if pair.how == "same")


def pair_questions(before: Sequence[QueryRow], after: Sequence[QueryRow], *, by_asker: bool) -> QuestionPairs:
    """Pair the questions of two runs.

    Args:
        before: the base's own questions, in file order.
        after: the candidate's own questions, in file order.
        by_asker: False where the base's record does not say who asks (an older version): texts alone decide then.
    """
    pool = _Pool(before, after)

    def exact(row: QueryRow) -> Hashable:
        return row.query_sha256, row.acl if by_asker else None

    def folded(row: QueryRow) -> Hashable:
        return (row.query_key, _labels(row)) if row.query_key else None

    pool.match(exact)
    pool.match(lambda row: row.query_id)
    pool.match(folded)
    return pool.result(exact)


class _Pool:
    """Questions that have no partner yet."""

    def __init__(self, before: Sequence[QueryRow], after: Sequence[QueryRow]) -> None:
        self._before, self._after = list(before), list(after)
        self._partner: dict[int, int] = {}

    def match(self, key: Callable[[QueryRow], Hashable]) -> None:
        """Pair what has an equal key (None has no partner), the likeliest first."""
        taken = set(self._partner.values())
        free: dict[Hashable, list[int]] = {}
        for at, row in enumerate(self._after):
            if at not in taken and (found := key(row)) is not None:
                free.setdefault(found, []).append(at)
        waiting = [at for at in range(len(self._before)) if at not in self._partner]
        for alike in (_same_id, _same_labels, _anything):
            for at in waiting:
                candidates = free.get(key(self._before[at]), []) if at not in self._partner else []
                chosen = next((one for one in candidates if alike(self._before[at], self._after[one])), None)
                if chosen is not None:
                    self._partner[at] = chosen
                    candidates.remove(chosen)

    def result(self, exact: Callable[[QueryRow], Hashable]) -> QuestionPairs:
        """All pairs, and what stayed alone."""
        taken = set(self._partner.values())
        return QuestionPairs(
            pairs=tuple(
                _pair(self._before[one], self._after[other], exact)
                for one, other in sorted(self._partner.items())
            ),
            new=tuple(row for at, row in enumerate(self._after) if at not in taken),
            removed=tuple(row for at, row in enumerate(self._before) if at not in self._partner),
        )


def _pair(before: QueryRow, after: QueryRow, exact: Callable[[QueryRow], Hashable]) -> QuestionPair:
    if exact(before) == exact(after):
        return QuestionPair(before, after, "same")
    return QuestionPair(before, after, "asker" if before.query_sha256 == after.query_sha256 else "reworded")


def _same_id(before: QueryRow, after: QueryRow) -> bool:
    return before.query_id == after.query_id


def _same_labels(before: QueryRow, after: QueryRow) -> bool:
    return _labels(before) == _labels(after)


def _anything(_before: QueryRow, _after: QueryRow) -> bool:
    return True


def _labels(row: QueryRow) -> str:
    return repr(asked_for(row.judgments))
