"""How the head's golden set differs from the base's, and which of it this pull request did."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core.comparing.exams import Corpora, followed, left_alone
from rageval_action.core.comparing.pairing import QuestionPair, QuestionPairs
from rageval_action.core.labels.label_transfer import asked_for
from rageval_action.core.measuring import slices
from rageval_action.core.model.access_names import Asker


class Pairing(Struct, frozen=True, kw_only=True):
    """Query ids by what became of them: the base's for `removed`, the candidate's elsewhere.

    Attributes:
        paired: how many questions both sides ask to the letter and by the same asker.
        new, removed: asked on one side only. renamed: the same question under another id.
        reworded: another text. access_changed: the same text by another asker.
        relabelled: judged by something else than the same texts. retagged: in other slices.
        since_baseline: those of all these that the base branch had changed already.
    """

    paired: int
    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    relabelled: tuple[str, ...] = ()
    retagged: tuple[str, ...] = ()
    access_changed: tuple[str, ...] = ()
    since_baseline: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """True when the golden sets differ in anything."""
        return any(getattr(self, name) for name in self.__struct_fields__[1:])


class BaseCommit(Struct, frozen=True, kw_only=True):
    """The golden set at the base commit, where the baseline is older than that.

    Attributes:
        asks: SHA-256 of each text, and who asks it.
        unchanged: the candidate's query ids whose rows stand there as they stand in the candidate's.
    """

    asks: frozenset[tuple[str, Asker | None]]
    unchanged: frozenset[str]


class GoldenChanges(Struct, frozen=True, kw_only=True):
    """The pairing, and the base's query ids that this pull request took away from its own exam.

    Attributes:
        withdrawn: removed, reworded, relabelled or given to another asker by this pull request, in the base's file
            order.
        untagged: of the others, the base's id -> the tags that this pull request took off.
        stale: questions that the pull request left alone although their labels name ids that it replaced. They are
            marked by the new ids here, but once merged nothing could mark them.
    """

    pairing: Pairing
    withdrawn: tuple[str, ...]
    untagged: dict[str, frozenset[str]] = {}
    stale: tuple[str, ...] = ()


def golden_changes(pairs: QuestionPairs, pair: Corpora, base: BaseCommit | None) -> GoldenChanges:
    """Sort every question by what became of it; without `base` all changes are this pull request's."""

    def where(holds: Callable[[QuestionPair], bool]) -> tuple[str, ...]:
        return tuple(one.after.query_id for one in pairs.pairs if holds(one))

    relabelled = where(lambda one: not left_alone(one.before, one.after, pair))
    reworded = where(lambda one: one.how == "reworded")
    other_asker = where(lambda one: one.how == "asker")
    pairing = Pairing(
        paired=len(pairs.same),
        new=tuple(row.query_id for row in pairs.new),
        removed=tuple(row.query_id for row in pairs.removed),
        renamed=where(lambda one: one.before.query_id != one.after.query_id),
        reworded=reworded,
        relabelled=relabelled,
        retagged=where(lambda one: set(slices.names(one.before)) != set(slices.names(one.after))),
        access_changed=other_asker,
    )
    if base is not None:
        pairing = replace(pairing, since_baseline=_since(pairs, pairing, base))
    mine = [one for one in pairs.pairs if base is None or one.after.query_id not in base.unchanged]
    changed = frozenset((*relabelled, *reworded, *other_asker))
    withdrawn = {row.query_id for row in pairs.removed if _still_asked(row.query_sha256, row.acl, base)}
    withdrawn |= {one.before.query_id for one in mine if one.after.query_id in changed}
    untagged = {one.before.query_id: frozenset(one.before.tags) - set(one.after.tags) for one in mine}
    order = sorted((row.line, row.query_id) for row in (*pairs.removed, *(one.before for one in pairs.pairs)))
    return GoldenChanges(
        pairing=pairing,
        withdrawn=tuple(name for _, name in order if name in withdrawn),
        untagged={name: tags for name, tags in untagged.items() if tags and name not in withdrawn},
        stale=tuple(one.before.query_id for one in mine if _is_stale(one, pair)),
    )


def _is_stale(one: QuestionPair, pair: Corpora) -> bool:
    if asked_for(one.before.judgments) != asked_for(one.after.judgments):
        return False
    return bool(followed(one.before, pair).moved)


def _still_asked(text: str, who: Asker | None, base: BaseCommit | None) -> bool:
    return base is None or (text, who) in base.asks


def _since(pairs: QuestionPairs, pairing: Pairing, base: BaseCommit) -> tuple[str, ...]:
    """The ids of `pairing` whose change stands at the base commit already."""
    gone = {row.query_id for row in pairs.removed if (row.query_sha256, row.acl) not in base.asks}
    changed = {name for field in pairing.__struct_fields__[2:] for name in getattr(pairing, field)}
    return tuple(sorted(gone | (base.unchanged & (changed | set(pairing.new)) - set(pairing.removed))))
