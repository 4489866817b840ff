"""The run record: what an evaluation leaves behind and a later one compares itself with (design §7).

Three members, all made and read here as bytes: `record.json` (summary and provenance), `rankings.jsonl` (one line a
query), `corpus.npz` (64-bit hashes of every chunk's id, document and text). Nothing in it is a vector or a chunk's
text. Two evaluations of the same inputs give the same bytes but for `EXEMPT_FIELDS`.
"""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.hashing import text_hash
from rageval_action.core.types import Chunk, Hit, Judgments, Notice, Unit
from rageval_action.errors import RecordError

RECORD, RANKINGS, CORPUS = "record.json", "rankings.jsonl", "corpus.npz"
MEMBERS = (RECORD, RANKINGS, CORPUS)

EXEMPT_FIELDS = ("run_id", "created_at", "latency_ms", "hardware", "versions", "git", "region")
"""Fields of `record.json` and `rankings.jsonl` that may differ between two runs over the same inputs."""

QUERY_TEXT_LIMIT = 300
MAX_RESULTS = 100_000
"""Most hits one ranking may hold when a record is read: a record is untrusted input."""

MAX_CORPUS_BYTES = 2 << 30
"""Most bytes the three hash columns may unpack to (89 million chunks)."""

T = TypeVar("T")

Instant: TypeAlias = Annotated[datetime.datetime, msgspec.Meta(tz=True)]
"""A point in time; one without a zone is refused when a record is read."""


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
        sources: `human` / `synthetic` / `log` -> rows.
    """

    path: str
    sha256: str
    format: str
    unit: Unit
    queries: int
    answerable: int
    unanswerable: int
    unreviewed: int = 0
    sources: dict[str, int] = {}


class SnapshotInfo(Struct, frozen=True, kw_only=True):
    """The snapshot that was searched."""

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
    dimension: int = 0
    chunks: int
    documents: int


class RetrieverInfo(Struct, frozen=True, kw_only=True):
    """What ranked, and how deep: `depth` distinct units per query where the corpus has so many."""

    name: str
    parameters: dict[str, str | int | float | bool] = {}
    depth: int
    reranker: str = ""


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
    """`record.json`. Fields are those of design §7.

    Attributes:
        k: the headline cutoff: what the application feeds its generator.
        unit_measures: measures at another unit than the golden set's (`document` beside `chunk`), never mixed in.
        errors: queries for which the retriever failed; they score 0 and stay in every mean.
        policy: the policy as used, as plain values.
    """

    schema_name: Literal["rageval.record/1"] = "rageval.record/1"
    run_id: str
    created_at: Instant
    git: GitInfo = GitInfo()
    golden: GoldenInfo
    snapshot: SnapshotInfo
    retriever: RetrieverInfo
    acl_mode: Literal["enforce", "audit"]
    k: int
    measures: dict[str, Mean]
    unit_measures: dict[str, dict[str, Mean]] = {}
    slices: dict[str, SliceInfo] = {}
    latency_ms: dict[str, Quantiles] = {}
    warm_up: int = 0
    cost: dict[str, float] = {}
    no_answer: NoAnswer
    acl_violations: int = 0
    errors: int = 0
    policy: dict[str, object] = {}
    warnings: tuple[Notice, ...] = ()
    versions: dict[str, str] = {}
    hardware: dict[str, str | int] = {}
    region: str = ""


class Miss(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a relevant item is not in the top k.

    Attributes:
        cause: the primary cause (`core.diagnosis.CAUSES`).
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


class QueryRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `rankings.jsonl`.

    Attributes:
        query: the first 300 characters, or empty when the user switched texts off.
        query_sha256: of the whole text in NFC.
        line: in the golden file.
        scores: unrounded; None where a measure is undefined (`judged@k` of an empty ranking). Empty for queries on
            the no-answer track.
        misses: one entry per relevant item outside the top k, worst first.
        results: hits in order, to the record's depth.
    """

    query_id: str
    query: str = ""
    query_sha256: str
    line: int = 0
    judgments: Judgments
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


class Corpus(Struct, frozen=True, kw_only=True):
    """64-bit hashes of the corpus, one entry a chunk, sorted, so that storage order does not show.

    Each array has shape (chunks,) and dtype uint64; entry i of the three belongs to one chunk.
    """

    ids: NDArray[np.uint64]
    docs: NDArray[np.uint64]
    texts: NDArray[np.uint64]


class RunRecord(Struct, frozen=True, kw_only=True):
    """A whole record in memory."""

    record: Record
    queries: tuple[QueryRow, ...]
    corpus: Corpus


def hash64(text: str) -> int:
    """The 64-bit hash that `corpus.npz` holds: the same bits as `text_hash`."""
    return int(text_hash(text), 16)


def corpus_of(chunks: Iterable[Chunk]) -> Corpus:
    """Hash every chunk; rows are sorted by (id, document, text) hash."""
    known: dict[str, int] = {}

    def once(text: str) -> int:
        if text not in known:
            known[text] = hash64(text)
        return known[text]

    rows = np.array(
        [(hash64(chunk.id), once(chunk.doc), hash64(chunk.text)) for chunk in chunks], dtype=np.uint64
    ).reshape(-1, 3)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    return Corpus(ids=rows[:, 0].copy(), docs=rows[:, 1].copy(), texts=rows[:, 2].copy())


def encode(run: RunRecord) -> dict[str, bytes]:
    """The members of a record by name."""
    encoder = msgspec.json.Encoder(order="deterministic")
    lines = b"".join(encoder.encode(row) + b"\n" for row in run.queries)
    columns = io.BytesIO()
    np.savez(columns, ids=run.corpus.ids, docs=run.corpus.docs, texts=run.corpus.texts)
    summary = msgspec.json.format(encoder.encode(run.record), indent=2) + b"\n"
    return {RECORD: summary, RANKINGS: lines, CORPUS: columns.getvalue()}


def decode(members: Mapping[str, bytes], *, where: str) -> RunRecord:
    """Read a record from its members; `where` names it in messages.

    Raises:
        RecordError: `record.missing-member`, `record.bad-json`, `record.newer-schema`, `record.bad-corpus`,
            `record.duplicate-query`, `record.too-large`; nothing in a record is ever executed or unpickled.
    """
    for name in MEMBERS:
        if name not in members:
            raise RecordError("record.missing-member", f"{name} is not there.", where=where)
    record = _decode_summary(members[RECORD], where)
    queries = _decode_rows(members[RANKINGS], where)
    corpus = _decode_corpus(members[CORPUS], where)
    return RunRecord(record=record, queries=queries, corpus=corpus)


def _json(data: bytes, kind: type[T], place: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError("record.bad-json", f"not a valid {kind.__name__}: {error}.", where=place) from error


def _decode_summary(data: bytes, where: str) -> Record:
    place = f"{where}/{RECORD}"

    class Head(Struct):
        schema: str = ""

    schema = _json(data, Head, place).schema
    if schema != "rageval.record/1":
        raise RecordError(
            "record.newer-schema",
            f'schema "{schema}" is not one this version reads (rageval.record/1).',
            hint="Use the version of rageval that wrote it, or record the baseline again.",
            where=place,
        )
    return _json(data, Record, place)


def _decode_rows(data: bytes, where: str) -> tuple[QueryRow, ...]:
    decoder = msgspec.json.Decoder(QueryRow)
    rows: list[QueryRow] = []
    seen: set[str] = set()
    for number, line in enumerate(data.splitlines(), start=1):
        place = f"{where}/{RANKINGS}:{number}"
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError("record.bad-json", f"not a valid row: {error}.", where=place) from error
        if row.query_id in seen:
            raise RecordError("record.duplicate-query", f'query "{row.query_id}" occurs twice.', where=place)
        if len(row.results) > MAX_RESULTS:
            raise RecordError("record.too-large", f"more than {MAX_RESULTS} results.", where=place)
        seen.add(row.query_id)
        rows.append(row)
    return tuple(rows)


def _decode_corpus(data: bytes, where: str) -> Corpus:
    place = f"{where}/{CORPUS}"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > MAX_CORPUS_BYTES:
            raise RecordError("record.too-large", f"unpacks to {unpacked} bytes.", where=place)
        with np.load(io.BytesIO(data), allow_pickle=False) as columns:
            ids, docs, texts = (columns[name] for name in ("ids", "docs", "texts"))
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        raise RecordError("record.bad-corpus", f"not readable: {error}.", where=place) from error
    shapes = {column.shape for column in (ids, docs, texts)}
    if any(column.dtype != np.uint64 for column in (ids, docs, texts)) or len(shapes) != 1 or ids.ndim != 1:
        raise RecordError(
            "record.bad-corpus", "the columns are not three equally long uint64 rows.", where=place
        )
    return Corpus(ids=ids, docs=docs, texts=texts)
