"""Field names seen in the wild, and what they mean here: one table, so that a new name is one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

TARGETS: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id", "qid", "query_id", "question_id", "case_id", "test_id", "example_id", "uid", "uuid"),
    "query": (
        "query", "question", "q", "query_text", "question_text", "user_input", "user_query", "search_query", "input",
        "prompt", "text",
    ),
    "relevant": (
        "relevant", "relevant_docs", "relevant_documents", "relevant_chunks", "relevant_sources", "expected_documents",
        "expected_docs", "expected_chunks", "expected_sources", "expected_citations", "correct_chunks", "correct_docs",
        "correct_documents", "gold_docs", "gold_documents", "gold_chunks", "gold_sources", "ground_truth_docs",
        "qrels", "judgments", "judgements", "relevance", "relevance_judgments", "relevance_judgements",
    ),
    "grade": (),
    "any_of": ("any_of", "must_cite", "retrieval_gt"),
    "relevant_row": (),
    "relevant_prefix": (),
    "evidence": ("evidence", "required_passages", "evidence_spans", "gold_spans", "supporting_spans"),
    "texts": (
        "contexts", "context", "retrieval_context", "reference_contexts", "ground_truth_contexts", "gold_contexts",
        "golden_contexts", "gold_passages", "relevant_passages", "positive_passages", "correct_passages",
        "supporting_texts", "evidence_texts",
    ),
    "doc": (),
    "quote": (),
    "start": (),
    "page": ("gold_pages", "relevant_pages", "expected_pages", "source_pages"),
    "answerable": ("answerable", "is_answerable"),
    "unanswerable": (
        "unanswerable", "is_unanswerable", "is_impossible", "expect_refusal", "should_refuse", "no_answer",
    ),
    "tags": ("tags", "labels", "category", "categories"),
    "type": ("type", "question_type", "query_type", "evolution_type"),
    "lang": ("lang", "language", "locale"),
    "acl": ("acl", "acl_context"),
    "tenant": ("tenant", "tenant_id"),
    "principal": ("principal", "principal_id"),
    "source": ("source",),
    "review": ("review",),
    "group": ("group",),
}  # fmt: skip
"""Our field -> names that files use for it, best first. A field without names is read only when `--map` names it.

`grade` belongs to rows that hold one judgment each (`golden.judgment_rows`); `tenant` and `principal` belong to `acl`.
`relevant_row` is a row number of the corpus (from 0), `relevant_prefix` the beginning of chunk ids, `texts` passages to
be found in the corpus, `doc` + `quote` (+ `start`) one evidence item, `doc` + `page` the pages of a document.
"""

JUDGING = ("relevant", "any_of", "relevant_row", "relevant_prefix", "evidence", "texts", "quote", "page")
"""Fields that say what should be found, in the order in which the first one present is taken."""

ACL_FIELDS: dict[str, tuple[str, ...]] = {name: TARGETS[name] for name in ("acl", "tenant", "principal")}
"""Fields that say who asks -> names that files use for them."""

DOC_NAMES = (
    "doc_id", "document_id", "docid", "chunk_id", "passage_id", "node_id", "corpus_id", "pid", "doc", "document",
)  # fmt: skip
"""Names of what is judged in rows that hold one judgment each, best first."""

_JUDGED_ID = re.compile(
    r"(expected|relevant|gold|golden|correct|positive|target|ground_truth|gt|supporting)_(\w+_)?(id|ids|uuid|uuids)"
)
"""Names such as `expected_work_id` or `gold_chunk_ids`, which list judged ids."""

NO_WAY: dict[str, str] = {
    "expect_path_contains": "holds a part of a path: how many documents match is open, so recall has no denominator",
    "expect": "holds a nested matcher, not ids",
}
"""Fields that look like relevance but cannot be measured by id -> why."""

FILE_NAMES = (
    "source_file",
    "source",
    "file",
    "filename",
    "file_name",
    "doc",
    "document",
    "doc_id",
    "essay",
    "url",
)
"""Names that often hold a document's id, but are taken for it only when `--map` says so."""


def normalise(name: str) -> str:
    """`expectedCitations`, `Expected-Citations` and `expected citations` are one name."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-.]+", "_", words).lower()


def is_judging(name: str) -> bool:
    """True for a name that says what should be found, though not one of ours."""
    normal = normalise(name)
    return any(normal in TARGETS[field] for field in JUDGING) or _JUDGED_ID.fullmatch(normal) is not None


def parse_map(text: str) -> dict[str, str]:
    """Read `query=soru,relevant=kaynak`; a dot reaches into an object (`relevant=expect.ids`).

    Raises:
        ConfigError: `config.bad-map` for a name that is not ours, or a piece without `=`.
    """
    fields: dict[str, str] = {}
    for piece in filter(None, (part.strip() for part in text.split(","))):
        ours, mark, theirs = (word.strip() for word in piece.partition("="))
        if not mark or not theirs or ours not in TARGETS or ours in fields:
            raise ConfigError(
                "config.bad-map",
                f'"{piece}" does not map one of our fields to one of the file\'s.',
                hint=f"Write OURS=THEIRS, for example query=soru. Ours are: {', '.join(TARGETS)}.",
                where="--map",
            )
        fields[ours] = theirs
    return fields


def root(theirs: str, names: Container[str]) -> str:
    """The field of the file that `theirs` names or reaches into; a name may have dots itself."""
    if theirs in names:
        return theirs
    pieces = theirs.split(".")
    starts = (".".join(pieces[:size]) for size in range(len(pieces) - 1, 0, -1))
    return next((start for start in starts if start in names), pieces[0])


def choose(names: Iterable[str], mapped: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Which of the file's fields is which of ours.

    Args:
        names: every field name in the file.
        mapped: what the user declared; it overrides the table.

    Returns:
        ours -> theirs, and the file's names that could each be `relevant` where the table cannot decide
        between them (empty when it can).
    """
    by_normal: dict[str, str] = {}
    names = list(names)
    for name in names:
        by_normal.setdefault(normalise(name), name)
    found = dict(mapped)
    taken = {root(name, names) for name in mapped.values()}
    judged_by_map = any(field in mapped for field in JUDGING)
    for ours, synonyms in TARGETS.items():
        hits = [by_normal[name] for name in synonyms if name in by_normal and by_normal[name] not in taken]
        if ours != "relevant" and ours not in found and hits and not (ours in JUDGING and judged_by_map):
            found[ours] = hits[0]
    if judged_by_map:
        return found, []
    return _with_relevant(found, by_normal)


def _with_relevant(found: dict[str, str], by_normal: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Add `relevant`: under that very name, else the one field that lists judged ids.

    Of a field of chunks and one of documents the chunks win, being finer; any other two are rivals.
    """
    if "relevant" in by_normal:
        return {**found, "relevant": by_normal["relevant"]}, []
    taken = set(found.values())
    hits = [
        name
        for normal, name in by_normal.items()
        if name not in taken and (normal in TARGETS["relevant"] or _JUDGED_ID.fullmatch(normal))
    ]
    best = [name for name in hits if re.search("chunk|passage|node", normalise(name))] or hits
    if len(best) > 1:
        return found, best
    return (found | {"relevant": best[0]} if best else found), []
