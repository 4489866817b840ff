"""The run record: what an evaluation leaves behind and a later one compares itself with.

Three members, all made and read here as bytes: `record.json` (summary and provenance), `rankings.jsonl` (one line a
query), `corpus.npz` (64-bit hashes of every chunk's id, document and text). Nothing in it is a vector or a chunk's
text. Two evaluations of the same inputs give the same bytes but for `EXEMPT_FIELDS`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core.model import lfs_pointer
from rageval_action.core.model.access_names import Asker
from rageval_action.core.model.corpus import Corpus, decode_corpus, encode_corpus
from rageval_action.core.model.ranking import unit_scores
from rageval_action.core.model.types import Hit, Judgments, Notice, Unit
from rageval_action.errors import RecordError

RECORD, RANKINGS, CORPUS = "record.json", "rankings.jsonl", "corpus.npz"
MEMBERS = (RECORD, RANKINGS, CORPUS)

SCHEMA: Final = "rageval.record/1"

EXEMPT_FIELDS = ("run_id", "created_at", "latency_ms", "hardware", "versions", "git", "region")
"""Fields of `record.json` and `rankings.jsonl` that may differ between two runs over the same inputs."""

RECORD_BYTES = 64 << 20
"""A `record.json` of more than this is none."""

FILE_CHECKSUM = "sha256"
"""The parameter that holds the checksum of the file that a retriever read its rankings from."""

TIMED_QUERIES = "latency_queries"
"""The parameter that says how many queries were timed: it goes by the number of queries and chunks."""

MAX_RESULTS = 100_000
"""Most hits one ranking may hold when a record is read: a record is untrusted input."""

T = TypeVar("T")

Instant: TypeAlias = Annotated[datetime.datetime, msgspec.Meta(tz=True)]
"""A point in time; one without a zone is refused when a record is read."""

Cutoff: TypeAlias = Literal["documents", "chunks"]
"""What k counts where judgments name documents."""

Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class GitInfo(Struct, frozen=True, kw_only=True):
    """The commit that was measured; empty strings outside a repository."""

    sha: str = ""
    ref: str = ""
    event: str = ""


class GoldenInfo(Struct, frozen=True, kw_only=True):
    """The golden set that was used, after `review` rules.

    Attributes:
        queries: rows that took part.
        unreviewed: rows left out because nobody had accepted them.
        sources: `human` / `synthetic` / `log` / `unknown` -> rows.
    """

    path: str
    sha256: str
    format: str
    unit: Unit
    queries: Positive
    answerable: Count
    unanswerable: Count
    unreviewed: Count = 0
    sources: dict[str, int] = {}


class Exam(Struct, frozen=True, kw_only=True):
    """What was asked and how it is marked; the rows of `rankings.jsonl` hold the questions themselves.

    Attributes:
        sha: commit of the golden set; empty outside a repository.
        review: which rows take part: `required` leaves out those that nobody accepted.
        texts: whether the record keeps texts and quotes; without them a later run can ask only what it has itself.
    """

    sha: str = ""
    golden_sha256: str
    unit: Unit
    k: Positive
    cutoff: Cutoff = "documents"
    review: Literal["", "required"] = ""
    texts: bool = True


class SnapshotInfo(Struct, frozen=True, kw_only=True):
    """The snapshot that was searched.

    Attributes:
        query_vectors_sha256: of the cached vectors of the golden set's queries; empty where one is not cached.
    """

    path: str
    fingerprint: str
    build_id: str = ""
    source_commit: str = ""
    model: str = ""
    revision: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    chunker: str = ""
    metric: str = ""
    dimension: Count = 0
    chunks: Count
    documents: Count
    query_vectors_sha256: str = ""


class RetrieverInfo(Struct, frozen=True, kw_only=True):
    """What ranked, and how deep: `depth` distinct units per query where the corpus has so many.

    Attributes:
        code: path in the repository -> SHA-256 of the code that ranked; empty where it cannot be seen.
    """

    name: str
    parameters: dict[str, str | int | float | bool] = {}
    depth: Positive
    reranker: str = ""
    code: dict[str, str] = {}

    @property
    def settings(self) -> str:
        """The parameters in one line, without those by which no retriever is another one.

        They are the checksum of a run file, and how many queries were timed, also of a part (`dense.…`).
        """
        options = sorted(
            (name, value)
            for name, value in self.parameters.items()
            if name != FILE_CHECKSUM and name.rpartition(".")[2] != TIMED_QUERIES
        )
        return " ".join(f"{name}={value}" for name, value in options)


class Mean(Struct, frozen=True, kw_only=True):
    """A measure over `n` queries; `mean` is None where it is defined for none of them."""

    mean: float | None
    n: int


class SliceInfo(Struct, frozen=True, kw_only=True):
    """A part of the queries and its measures."""

    n: int
    measures: dict[str, Mean]


class Quantiles(Struct, frozen=True, kw_only=True):
    """Milliseconds per query over `n` timed queries."""

    p50: float
    p95: float
    n: int


class NoAnswer(Struct, frozen=True, kw_only=True):
    """The track of queries that nothing answers.

    Attributes:
        false_retrieval_rate: share of them with a hit at or above `threshold`; None when it was not measured.
        reason: why it was not measured, else empty.
    """

    n: int
    threshold: float | None = None
    false_retrieval_rate: float | None = None
    reason: str = ""


class Record(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """`record.json`: what was measured, with what, and how it came out.

    Attributes:
        k: the headline cutoff: what the application feeds its generator.
        unit_measures: measures at another unit than the golden set's (`document` beside `chunk`), never mixed in.
        acl_judged: queries that say who asks, and whose hits were judged; None in records that did not count them.
        errors: queries for which the retriever failed; they score 0 and stay in every mean.
        policy: the policy as used, as plain values.
        exam: what was asked; None in records of older versions, which later runs can compare only in part.
        base_exam: the exam of the base that was asked as well; None where there was no baseline.
        base_unasked: id of a question of the base that could not be asked -> code of the reason.
    """

    schema_name: Literal["rageval.record/1"] = SCHEMA
    run_id: str
    created_at: Instant
    git: GitInfo = GitInfo()
    golden: GoldenInfo
    snapshot: SnapshotInfo
    retriever: RetrieverInfo
    acl_mode: Literal["enforce", "audit"]
    k: Positive
    measures: dict[str, Mean]
    unit_measures: dict[str, dict[str, Mean]] = {}
    slices: dict[str, SliceInfo] = {}
    latency_ms: dict[str, Quantiles] = {}
    warm_up: Count = 0
    cost: dict[str, float] = {}
    no_answer: NoAnswer
    acl_violations: Count = 0
    acl_judged: Count | None = None
    errors: Count = 0
    policy: dict[str, object] = {}
    exam: Exam | None = None
    base_exam: Exam | None = None
    base_unasked: dict[str, str] = {}
    warnings: tuple[Notice, ...] = ()
    versions: dict[str, str] = {}
    hardware: dict[str, str | int] = {}
    region: str = ""

    @property
    def cutoff(self) -> Cutoff:
        """What k counts; an older version knew documents alone."""
        return self.exam.cutoff if self.exam else "documents"


class Miss(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a relevant item is not in the top k.

    Attributes:
        cause: the primary cause (`core.measuring.miss_causes.CAUSES`).
        item: the judged id (or `doc: quote`) it is about.
        tags: secondary causes and circumstances.
        by: what stands in its place, best first.
        rank: where the item is now; 0 when it is not in the ranking.
    """

    cause: str
    item: str
    tags: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    rank: int = 0


class QueryRow(Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """One line of `rankings.jsonl`.

    Attributes:
        query: the whole text, or empty when the user switched texts off.
        query_sha256: of the whole text in NFC.
        query_key: `core.model.hashing.question_key`: finds the question again when only its spelling changed.
        acl: who asks; None when the question is not judged for access.
        asked_for: which exam asks it. Rows asked for the base alone enter no summary of this run.
        base_judgments: what the base's exam judges it by, resolved against this corpus.
        vector_sha256: of the cached query vector that was searched with; empty without one.
        line: in the golden file.
        scores: unrounded; None where a measure is undefined (`judged@k` of an empty ranking). Empty for queries on
            the no-answer track.
        misses: one entry per relevant item outside the top k, worst first.
        results: hits in order, to the record's depth.
    """

    query_id: str
    query: str = ""
    query_sha256: str
    query_key: str = ""
    acl: Asker | None = None
    asked_for: Literal["head", "base", "both"] = "head"
    line: int = 0
    judgments: Judgments
    base_judgments: Judgments | None = None
    vector_sha256: str = ""
    tags: tuple[str, ...] = ()
    type: str = ""
    lang: str = ""
    source: str = "human"
    principal: str = ""
    latency_ms: dict[str, float] = {}
    error: str = ""
    scores: dict[str, float | None] = {}
    misses: tuple[Miss, ...] = ()
    results: tuple[Hit, ...] = ()

    def ranking(self, unit: Unit) -> tuple[list[str], list[float]]:
        """The judged ids with their scores, best first (`core.model.ranking.unit_scores`), worked out once."""
        return self._by_document if unit == "document" else self._by_chunk

    def revised(self, **values: Any) -> QueryRow:
        """A copy with other values than the results, which keeps the rankings that were worked out from them."""
        copy = replace(self, **values)
        copy.__dict__.update(self.__dict__)
        return copy

    @cached_property
    def _by_document(self) -> tuple[list[str], list[float]]:
        return unit_scores(self.results, "document")

    @cached_property
    def _by_chunk(self) -> tuple[list[str], list[float]]:
        return unit_scores(self.results, "chunk")


class RunRecord(Struct, frozen=True, kw_only=True):
    """A whole record in memory.

    Attributes:
        queries: the run's own questions, in the order of its golden set.
        asked_for_base: rows that only the base's exam asked; no summary of this run counts them.
    """

    record: Record
    queries: tuple[QueryRow, ...]
    corpus: Corpus
    asked_for_base: tuple[QueryRow, ...] = ()


def encode(run: RunRecord) -> dict[str, bytes]:
    """The members of a record by name."""
    encoder = msgspec.json.Encoder(order="deterministic")
    lines = b"".join(encoder.encode(row) + b"\n" for row in (*run.queries, *run.asked_for_base))
    summary = msgspec.json.format(encoder.encode(run.record), indent=2) + b"\n"
    return {RECORD: summary, RANKINGS: lines, CORPUS: encode_corpus(run.corpus)}


def decode(members: Mapping[str, bytes], *, where: str) -> RunRecord:
    """Read a record from its members; `where` names it in messages.

    Raises:
        RecordError: `record.missing-member`, `record.bad-json`, `record.newer-schema`, `record.bad-corpus`,
            `record.duplicate-query`, `record.row-count`, `record.too-large`; nothing in a record is ever executed or
            unpickled.
    """
    for name in MEMBERS:
        if name not in members:
            hint = f"A record is {', '.join(MEMBERS)}, side by side."
            raise RecordError("record.missing-member", f"{name} is not there.", hint=hint, where=where)
    record = decode_record(members[RECORD], place=f"{where}/{RECORD}")
    rows = _decode_rows(members[RANKINGS], where)
    queries = tuple(row for row in rows if row.asked_for != "base")
    if len(queries) != record.golden.queries:
        text = f"{len(queries)} rows, but {RECORD} counts {record.golden.queries} queries."
        raise RecordError("record.row-count", text, where=f"{where}/{RANKINGS}")
    corpus = decode_corpus(members[CORPUS], where=f"{where}/{CORPUS}")
    asked = tuple(row for row in rows if row.asked_for == "base")
    return RunRecord(record=record, queries=queries, corpus=corpus, asked_for_base=asked)


class _Head(Struct):
    """What tells whether the rest can be read."""

    schema: str = ""


def decode_record(data: bytes, *, place: str) -> Record:
    """Read a `record.json` alone; `place` names it in messages.

    Raises:
        RecordError: `record.lfs-pointer`, `record.bad-json`, `record.newer-schema`.
    """
    if text := lfs_pointer.pointer_problem(data, "a record"):
        raise RecordError("record.lfs-pointer", text, hint=lfs_pointer.HINT, where=place)
    schema = _json(data, _Head, "record", place).schema
    if schema != SCHEMA:
        raise RecordError(
            "record.newer-schema",
            f'schema "{schema}" is not one this version reads ({SCHEMA}).',
            hint="Use the version of rageval that wrote it, or record the baseline again.",
            where=place,
        )
    return _json(data, Record, "record", place)


def _json(data: bytes | memoryview, kind: type[T], name: str, place: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError("record.bad-json", f"not a valid {name}: {error}.", where=place) from error


def _decode_rows(data: bytes, where: str) -> tuple[QueryRow, ...]:
    rows: list[QueryRow] = []
    seen: set[tuple[str, bool]] = set()
    for number, line in enumerate(_lines(data), start=1):
        place = f"{where}/{RANKINGS}:{number}"
        row = _json(line, QueryRow, "row", place)
        if (row.query_id, row.asked_for == "base") in seen:
            raise RecordError("record.duplicate-query", f'query "{row.query_id}" occurs twice.', where=place)
        if len(row.results) > MAX_RESULTS:
            raise RecordError("record.too-large", f"more than {MAX_RESULTS} results.", where=place)
        seen.add((row.query_id, row.asked_for == "base"))
        rows.append(row)
    return tuple(rows)


def _lines(data: bytes) -> Iterator[memoryview]:
    """The lines of a file of JSON lines, without a copy of any."""
    whole, start = memoryview(data), 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = end if end >= 0 else len(data)
        yield whole[start:end]
        start = end + 1
