"""The nouns that every package shares. All of them are frozen; none of them knows where it came from on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

Unit: TypeAlias = Literal["document", "chunk", "evidence"]
"""What a judgment names and a rank counts."""

UnitChoice: TypeAlias = Literal["auto", "document", "chunk", "evidence"]
"""What a user may ask for; `auto` is resolved by looking where the judged ids are found."""

Grade: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""How relevant, as large as trec_eval's 32 bits hold: 0 = judged not relevant, negative = not judged."""

Source: TypeAlias = Literal["human", "synthetic", "log", "unknown"]
"""Where a question comes from; `unknown` where nobody said."""

Review: TypeAlias = Literal["accepted", "rejected", "pending"]


class Notice(Struct, frozen=True, kw_only=True):
    """Something a reader of the result must know, with a stable code for machines."""

    code: str
    text: str
    where: str = ""


class QueryAcl(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Who asks. An empty string names nobody; a misspelt field is refused, or access would go unchecked."""

    tenant: str = ""
    principal: str = ""
    groups: tuple[str, ...] = ()


class ChunkAcl(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Who may read a chunk. Empty fields do not restrict; a misspelt one is refused, or it would open the chunk."""

    tenant: str = ""
    principals: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def admits(self, who: QueryAcl) -> bool:
        """True when `who` may see the chunk (the rule of the snapshot format)."""
        if self.tenant and self.tenant != who.tenant:
            return False
        if not self.principals and not self.groups:
            return True
        if who.principal and who.principal in self.principals:
            return True
        return any(group in self.groups for group in who.groups)


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A quote inside a document; `start` is its character offset there, -1 when it was not given."""

    doc: str
    quote: str
    start: int = -1


class Query(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of a golden set.

    Attributes:
        id: unique in the set, NFC.
        text: what is asked.
        relevant: judged id -> grade; 0 and negatives are judged not relevant / unjudged as trec_eval reads them.
        any_of: groups of ids; a group is satisfied by any of its members.
        evidence: quotes to be found.
        answerable: False puts the query on the no-answer track.
        line: 1-based line (or row) in the golden file, 0 when the format has none.
        file: the file that `line` counts in, where the set has several; else empty.
    """

    id: str
    text: str
    relevant: dict[str, int] = {}
    any_of: tuple[tuple[str, ...], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    answerable: bool = True
    tags: tuple[str, ...] = ()
    type: str = ""
    lang: str = ""
    acl: QueryAcl | None = None
    source: Source = "unknown"
    review: Review = "accepted"
    group: str = ""
    line: int = 0
    file: str = ""


class GoldenSet(Struct, frozen=True, kw_only=True):
    """Queries with their judgments, in file order.

    Attributes:
        format: the name in `FORMATS` that read it.
        path: as the user gave it (for messages and links).
        sha256: of the file's bytes (several files: of their concatenation in a fixed order).
        notices: what the reader of the file should know (integer ids, replaced forms, detected fields).
    """

    queries: tuple[Query, ...]
    format: str
    path: str
    sha256: str
    notices: tuple[Notice, ...] = ()


class Chunk(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is indexed. `start`/`end` are character offsets in the document, -1 when unknown.

    `metadata` is unset where there is none: an empty table for each of a million chunks would outweigh their ids.
    """

    id: str
    doc: str
    text: str
    start: int = -1
    end: int = -1
    acl: ChunkAcl | None = None
    metadata: dict[str, object] | UnsetType = UNSET


class Hit(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One retrieved chunk. `rank` starts at 1; `acl_allowed` is None when access was not judged for this query.

    `stages` holds the score that each stage before the last gave it, and is unset where there was only one: an empty
    table for each of a hundred thousand hits would cost more than all the rest of them. Nothing in a hit leads back
    to it, so the garbage collector need not look at any.
    """

    id: str
    doc: str
    rank: int
    score: float
    acl_allowed: bool | None = None
    start: int = -1
    end: int = -1
    text_hash: str = ""
    stages: dict[str, float] | UnsetType = UNSET


class Ranking(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One query's answer. `error` is empty unless the retriever failed for this query; a failed query has no hits.

    Attributes:
        hits: score descending, then id descending (bytewise).
        latency_ms: stage (`embed`, `retrieve`, `rerank`, `total`) -> milliseconds.
    """

    query_id: str
    hits: tuple[Hit, ...] = ()
    latency_ms: dict[str, float] = {}
    error: str = ""


class Run(Struct, frozen=True, kw_only=True):
    """All rankings of one retriever, in the order of the golden set.

    Attributes:
        retriever: name in `RETRIEVERS`.
        parameters: what it was built with, without secrets; JSON values.
        depth: how many distinct units each ranking holds at least, where the corpus has so many.
        warm_up: queries run before the clock started.
        cost: calls and tokens by stage, money where a price is known.
        code: path in the repository -> SHA-256 of the code that ranked; empty where it cannot be seen.
    """

    rankings: tuple[Ranking, ...]
    retriever: str
    parameters: dict[str, str | int | float | bool] = {}
    depth: int
    warm_up: int = 0
    cost: dict[str, float] = {}
    notices: tuple[Notice, ...] = ()
    code: dict[str, str] = {}


class Grades(Struct, frozen=True, tag="grades"):
    """Graded judgments as used: id -> grade."""

    grades: dict[str, Grade]


class Groups(Struct, frozen=True, tag="any_of"):
    """Groups as used: each counts once, when its first member is retrieved."""

    groups: tuple[tuple[str, ...], ...]


class EvidenceItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An evidence item resolved against a corpus: `chunks` are the ids that contain it or overlap its span.

    `documents` are those of which any will do, where these are several; `doc` then names them all.
    """

    doc: str
    quote: str
    start: int = -1
    chunks: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    @classmethod
    def whole(cls, documents: Sequence[str], chunks: Sequence[str] = ()) -> EvidenceItem:
        """A whole document, or any of several, as an item."""
        several = tuple(documents) if len(documents) > 1 else ()
        return cls(doc=" | ".join(documents), quote="", chunks=tuple(chunks), documents=several)


class EvidenceItems(Struct, frozen=True, tag="evidence"):
    """Evidence as used: an item counts once, when the first of its chunks is retrieved."""

    items: tuple[EvidenceItem, ...]


class Unanswerable(Struct, frozen=True, tag="unanswerable"):
    """Nothing should be found."""


Judgments: TypeAlias = Grades | Groups | EvidenceItems | Unanswerable
"""What a query was judged by; a record keeps it so that it can be scored again."""
