"""Labels that lead nowhere: how many, what damaged them, and ids that lead to two places."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from rageval_action.core.model.types import Notice
from rageval_action.core.wording import numbers
from rageval_action.core.wording.id_suggestions import Near, Slip, near_misses
from rageval_action.core.wording.lists import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rageval_action.core.labels.linking_notes import IdKind, JudgedQuery, Missing
    from rageval_action.core.model.types import Chunk, GoldenSet

MANY = 0.10
"""From more than this share of labels on, what is missing lowers every score too much to be read without a word."""

SYSTEMATIC = 2
"""From so many labels on, one kind of difference is no slip of the pen but damage."""

DIFFERENCES: dict[Slip, str] = {
    "blanks": "blanks or Unicode form",
    "invisible": "invisible characters",
    "decimal": "a `.0` behind the number",
    "case": "upper and lower case",
    "zeros": "leading zeros",
    "folders": "the folders in front",
    "fragment": "the part behind `#`",
}

MOST_EXAMPLES = 3


def dangling_notices(
    golden: GoldenSet, asked: Sequence[JudgedQuery], missing: Mapping[str, Missing]
) -> tuple[Notice, ...]:
    """`labels.dangling` where more than a tenth of the labels are not in the snapshot."""
    total = sum(len(row.query.evidence) if row.by_evidence else len(row.wanted) for row in asked)
    gone = sum(len(one.names) for one in missing.values())
    if gone <= MANY * total:
        return ()
    text = (
        f"{numbers.share(gone / total)} of the labels ({gone:,} of {total:,}) are not in the index; "
        "their questions score lower for it"
    )
    return (Notice(code="labels.dangling", text=text, where=golden.path),)


def damage_notices(
    golden: GoldenSet, missing: Mapping[str, Missing], kind: IdKind, chunks: Sequence[Chunk]
) -> tuple[Notice, ...]:
    """`labels.damaged` for each kind of difference that keeps several labels from the one id they can mean."""
    ids = [name for gone in missing.values() for name in gone.ids]
    documents = [item.doc for gone in missing.values() for item in gone.quotes]
    if not ids and not documents:
        return ()
    held_documents = {chunk.doc for chunk in chunks}
    held = held_documents if kind == "document" else {chunk.id for chunk in chunks}
    gone_documents = [name for name in documents if name not in held_documents]
    found = [*_nearest(ids, held), *_nearest(gone_documents, held_documents)]
    counts = Counter(near.slip for _, near in found)
    return tuple(
        Notice(
            code="labels.damaged",
            text=_damage(slip, counts[slip], len(ids) + len(gone_documents), found),
            where=golden.path,
        )
        for slip in DIFFERENCES
        if counts[slip] >= SYSTEMATIC
    )


def _nearest(names: Sequence[str], held: set[str]) -> Iterable[tuple[str, Near]]:
    """Each label with the one id that it can mean."""
    near = near_misses(list(dict.fromkeys(names)), held) if names else {}
    return [(name, near[name]) for name in names if name in near and near[name].alone]


def _damage(slip: Slip, count: int, total: int, found: Sequence[tuple[str, Near]]) -> str:
    example, near = next(pair for pair in found if pair[1].slip == slip)
    return (
        f"{count:,} of {plural(total, 'missing label')} differ from an id of the index only in {DIFFERENCES[slip]} "
        f"(`{_visible(example)}`, in the index `{_visible(near.id)}`): {count:,} are found when written as there"
    )


def _visible(name: str) -> str:
    """The id with what cannot be seen spelt out."""
    return "".join(f"\\u{ord(one):04x}" if _is_unseen(one) else one for one in name)


def _is_unseen(one: str) -> bool:
    return one != " " and (unicodedata.category(one) in {"Cf", "Cc"} or one.isspace())


def ambiguity_notices(
    golden: GoldenSet, asked: Sequence[JudgedQuery], chunks: Sequence[Chunk], kind: IdKind
) -> tuple[Notice, ...]:
    """`golden.ambiguous-id`: judged ids that name a document and, besides, a chunk of another document."""
    wanted = {name for row in asked if not row.by_evidence for name in row.wanted}
    owner = {chunk.id: chunk.doc for chunk in chunks if chunk.id in wanted and chunk.id != chunk.doc}
    both = sorted(owner.keys() & {chunk.doc for chunk in chunks if chunk.doc in owner})
    if not both:
        return ()
    shown = ", ".join(f"`{name}` (a chunk of `{owner[name]}`)" for name in both[:MOST_EXAMPLES])
    text = (
        f"{plural(len(both), 'judged id')} could be a document or a chunk of another document: {shown}"
        f"{', …' if len(both) > MOST_EXAMPLES else ''}; read as {kind} ids. `unit: document` or `unit: chunk` decides"
    )
    return (Notice(code="golden.ambiguous-id", text=text, where=golden.path),)
