"""Two exams: the candidate is marked by what the base asks and by what the head asks.

A pull request may change what is asked, so that the head's exam alone would let it choose its own questions. The
base's exam is held whole by the baseline record: its exact texts, askers, judgments and tags. What cannot be marked
is unknown, with a code that says why, and never counts as found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core.comparing.pairing import QuestionPairs
from rageval_action.core.labels.label_transfer import (
    Applied,
    Kept,
    Side,
    asked_for,
    evidence_key,
    onto_baseline,
    own,
)
from rageval_action.core.labels.successors import (
    Followed,
    Gone,
    Held,
    Moved,
    Successors,
    follow,
    names_of,
    successor_documents,
)
from rageval_action.core.model.access_names import Asker
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import EvidenceItem, EvidenceItems, Grades, Groups, Judgments

ExamName: TypeAlias = Literal["base", "head"]

NOT_ASKED = ("not-asked", "no-text", "no-vector", "no-asker", "no-row")
"""Codes of questions that were not put to the candidate: more than a tenth of them, and nothing was measured."""


class ExamQuestion(Struct, frozen=True, kw_only=True):
    """One question of an exam, as each side answered it.

    Attributes:
        before: the baseline's answer; None where the baseline was not asked this.
        after: the candidate's answer; None where it was not asked this.
        labels_before, labels_after: what each answer is marked by.
        unknown: code of the reason why the candidate's answer cannot be marked; empty where it can.
        moved: old id -> new id of labels that followed their text.
    """

    before: QueryRow | None
    after: QueryRow | None
    labels_before: Applied
    labels_after: Applied
    unknown: str = ""
    moved: dict[str, str] = {}

    @property
    def row(self) -> QueryRow:
        """The answer that names the question: the candidate's where it was asked."""
        found = self.after or self.before
        if found is None:  # pragma: no cover - neither exam makes such a question
            raise AssertionError("a question that nobody answered")
        return found


class Corpora(Struct, frozen=True):
    """Both runs' corpora and units, and how to get from the ids of the one to those of the other."""

    old: Side
    new: Side
    successors: Successors
    names: Mapping[int, str]
    rechunked: bool


def corpora(candidate: RunRecord, old: Side, new: Side, *, rechunked: bool) -> Corpora:
    """What the exams need to know of the two corpora."""
    rows = (*candidate.queries, *candidate.asked_for_base)
    retrieved = frozenset(name for row in rows for hit in row.results for name in (hit.id, hit.doc))
    successors = Successors(old.lookup, new.lookup, rechunked=rechunked)
    return Corpora(old, new, successors, names_of(retrieved), rechunked)


def followed(row: QueryRow, pair: Corpora) -> Followed:
    """The labels of one of the baseline's rows as they apply to the candidate's corpus."""
    return follow(row.judgments, own(row, pair.old).unit, pair.successors, pair.names)


def left_alone(before: QueryRow, after: QueryRow, pair: Corpora) -> bool:
    """True when the head judges the question as the base does, or by the same texts under their new ids."""
    if (pair.old.unit == "document") != (pair.new.unit == "document"):
        return False
    asks = asked_for(after.judgments)
    return asks in (asked_for(before.judgments), asked_for(followed(before, pair).judgments)) or _same_quotes(
        before.judgments, after.judgments, pair
    )


def _same_quotes(before: Judgments, after: Judgments, pair: Corpora) -> bool:
    """True when both name the same quotes, some of them in documents that have another name now."""
    if not (isinstance(before, EvidenceItems) and isinstance(after, EvidenceItems)):
        return False
    left = sorted((_doc_now(item.doc, pair), item.quote) for item in before.items)
    return left == sorted((item.doc, item.quote) for item in after.items)


def _doc_now(doc: str, pair: Corpora) -> str:
    """The name that a quote's document has in the candidate's corpus; its own where no other is known."""
    return successor_documents((EvidenceItem(doc=doc, quote=""),), pair.successors, pair.names).get(doc, doc)


# --- the base's exam --------------------------------------------------------------------------------------------------


def base_exam(
    baseline: RunRecord, candidate: RunRecord, pairs: QuestionPairs, pair: Corpora, *, by_asker: bool
) -> tuple[ExamQuestion, ...]:
    """Every question of the base, in its file order, with the candidate's answer to exactly this text and asker.

    Args:
        baseline: the run that holds the exam.
        candidate: the run that is marked.
        pairs: which of their questions belong together.
        pair: their corpora.
        by_asker: False where the baseline's record does not say who asks.
    """
    answers = _answers(candidate, by_asker=by_asker)
    partner = {one.before.query_id: one.after for one in pairs.pairs}
    found = []
    for row in baseline.queries:
        after = answers.get((row.query_sha256, row.acl if by_asker else None))
        head = partner.get(row.query_id)
        touched = head is None or not left_alone(row, head, pair)
        found.append(_base_question(row, after, pair, touched=touched, why=candidate.record.base_unasked))
    return tuple(found)


def _answers(candidate: RunRecord, *, by_asker: bool) -> dict[tuple[str, Asker | None], QueryRow]:
    found: dict[tuple[str, Asker | None], QueryRow] = {}
    for row in (*candidate.asked_for_base, *candidate.queries):
        found.setdefault((row.query_sha256, row.acl if by_asker else None), row)
    return found


def _base_question(
    row: QueryRow, after: QueryRow | None, pair: Corpora, *, touched: bool, why: Mapping[str, str]
) -> ExamQuestion:
    mine = own(row, pair.old)
    if after is None:
        code = why.get(row.query_id, "not-asked")
        return ExamQuestion(before=row, after=None, labels_before=mine, labels_after=mine, unknown=code)
    if isinstance(row.judgments, EvidenceItems):
        return _quoted(row, after, row.judgments, pair, touched=touched)
    labels, unknown, moved = _by_texts(row, pair, touched=touched)
    return ExamQuestion(
        before=row, after=after, labels_before=mine, labels_after=labels, unknown=unknown, moved=moved
    )


def _by_texts(row: QueryRow, pair: Corpora, *, touched: bool) -> tuple[Applied, str, dict[str, str]]:
    """Labels that follow their texts, the code where that is unclear, and the ids that changed."""
    became = followed(row, pair)
    code = _unclear(row.judgments, became)
    if not code and (touched or pair.rechunked) and _matters(row.judgments, became.gone):
        code = "label-gone"
    return Applied(became.judgments, own(row, pair.old).unit), code, became.moved


def _members(judgments: Judgments) -> list[tuple[str, ...]]:
    """What is to be found: each by any of its ids."""
    match judgments:
        case Groups(groups=groups):
            return list(groups)
        case Grades(grades=grades):
            return [(name,) for name, grade in grades.items() if grade >= 1]
        case _:
            return []


def _unclear(judgments: Judgments, became: Followed) -> str:
    """Code of the first thing to be found of which nothing is left but ids whose fate is unclear."""
    for members in _members(judgments):
        codes = [became.unclear[name] for name in members if name in became.unclear]
        if codes and all(name in became.unclear or name in became.gone for name in members):
            return codes[0]
    return ""


def _matters(judgments: Judgments, gone: Sequence[str]) -> bool:
    """True when something to be found is gone with all of its ids."""
    return any(all(name in gone for name in members) for members in _members(judgments))


def _quoted(
    row: QueryRow, after: QueryRow, asked: EvidenceItems, pair: Corpora, *, touched: bool
) -> ExamQuestion:
    """Quotes, as the evaluation resolved them in the candidate's corpus; without it, as far as hashes can tell."""
    mine = own(row, pair.old)
    known = _resolved(after)
    found = [_known(item, known, pair) or _by_hashes(item, pair) for item in asked.items]
    items = tuple(item for item in found if item is not None)
    if len(items) < len(found):
        return ExamQuestion(
            before=row, after=after, labels_before=mine, labels_after=mine, unknown="texts-gone"
        )
    return ExamQuestion(
        before=row,
        after=after,
        labels_before=mine,
        labels_after=Applied(EvidenceItems(items), "evidence"),
        unknown="label-gone" if touched and any(not item.chunks for item in items) else "",
    )


def _resolved(row: QueryRow) -> dict[tuple[str, str, int], EvidenceItem]:
    """What the evaluation found of each quote, by the base's labels first."""
    found: dict[tuple[str, str, int], EvidenceItem] = {}
    for judgments in (row.judgments, row.base_judgments):
        if isinstance(judgments, EvidenceItems):
            found.update((evidence_key(item), item) for item in judgments.items)
    return found


def _known(
    item: EvidenceItem, known: Mapping[tuple[str, str, int], EvidenceItem], pair: Corpora
) -> EvidenceItem | None:
    """The quote where the candidate's run resolved it, also under the name that its document has now."""
    here = known.get(evidence_key(item))
    return here or known.get((_doc_now(item.doc, pair), item.quote, item.start))


def _by_hashes(item: EvidenceItem, pair: Corpora) -> EvidenceItem | None:
    """The chunks that held a quote under their present ids; without its document it is lost, else None.

    Only a document of the same texts can tell: in another one the quote may stand in other chunks as well.
    """
    old, new, now = pair.old.lookup, pair.new.lookup, _doc_now(item.doc, pair)
    if not new.holds(now, "document"):
        gone = isinstance(pair.successors.of(item.doc, "document"), Gone) and not pair.rechunked
        return replace(item, chunks=()) if gone and old.holds(item.doc, "document") else None
    if not item.chunks or old.texts(item.doc, "document") != new.texts(now, "document"):
        return None
    chunks = [_chunk_now(name, pair) for name in item.chunks]
    return replace(item, chunks=tuple(chunks)) if all(chunks) else None


def _chunk_now(name: str, pair: Corpora) -> str:
    """The id under which a chunk of the same text is there; empty where that is unclear."""
    match pair.successors.of(name, "chunk"):
        case Held() if pair.old.lookup.texts(name, "chunk") == pair.new.lookup.texts(name, "chunk"):
            return name
        case Moved(to=to):
            return pair.names.get(to, name)
        case _:
            return ""


# --- the head's exam --------------------------------------------------------------------------------------------------


def head_exam(candidate: RunRecord, pairs: QuestionPairs, pair: Corpora) -> tuple[ExamQuestion, ...]:
    """Every question of the head, in its file order, with the baseline's answer where it was asked exactly this.

    Where the head's labels cannot be applied to the old run, `before` is None: the base's exam decides for it.
    """
    partner = {one.after.query_id: one.before for one in pairs.same}
    return tuple(_head_question(row, partner.get(row.query_id), pair) for row in candidate.queries)


def _head_question(row: QueryRow, before: QueryRow | None, pair: Corpora) -> ExamQuestion:
    mine = own(row, pair.new)
    if before is None:
        return ExamQuestion(before=None, after=row, labels_before=mine, labels_after=mine)
    had = own(before, pair.old)
    if left_alone(before, row, pair):
        if isinstance(row.judgments, EvidenceItems):
            return ExamQuestion(before=before, after=row, labels_before=had, labels_after=mine)
        labels, unknown, moved = _by_texts(before, pair, touched=False)
        return ExamQuestion(
            before=before, after=row, labels_before=had, labels_after=labels, unknown=unknown, moved=moved
        )
    fitted = onto_baseline(row, before, pair.old, pair.new, rechunked=pair.rechunked)
    if isinstance(fitted, Kept):
        return ExamQuestion(before=None, after=row, labels_before=mine, labels_after=mine)
    return ExamQuestion(before=before, after=row, labels_before=fitted, labels_after=mine)
