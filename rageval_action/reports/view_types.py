"""The rows that a view is made of: strings ready to be shown, raw where they come from outside."""

from __future__ import annotations

from msgspec import Struct


class MeasureLine(Struct, frozen=True, kw_only=True):
    """One row of a measure table.

    Attributes:
        headline: the measure that everything else is judged by.
        before, delta, interval, reading, counts: empty when there is no baseline.
        tone: `worse`, `better`, `same`, `unclear` or `changed` (for better or worse): what `reading` says, for surfaces
            that colour.
        note: what a reader must know about this row alone.
        after_value, before_value, low, high: the same numbers for charts, rounded alike.
    """

    measure: str
    slice: str = ""
    headline: bool
    n: str
    before: str = ""
    after: str
    delta: str = ""
    interval: str = ""
    reading: str = ""
    tone: str = ""
    counts: str = ""
    note: str = ""
    before_value: float | None = None
    after_value: float | None = None
    low: float = 0.0
    high: float = 0.0


class UnitLine(Struct, frozen=True, kw_only=True):
    """One measure by another unit than the labels' (documents beside chunks); `before` is empty where none compares."""

    unit: str
    measure: str
    before: str
    after: str


class QueryLine(Struct, frozen=True, kw_only=True):
    """One changed query.

    Attributes:
        line: in the golden file; 0 when it has none.
        change: `lost`, `worse`, `changed`, `gained` or `better`.
        item: what should be found. move: its rank, `2 → 14`.
        cause: primary cause. explanation: what the cause means.
        link: how `by` is to be read (`by`, `now`, `same text as`). by: what stands in its place.
        tags: secondary circumstances, in words.
        snippet: a piece of the first rival's text; empty when no texts are at hand.
    """

    id: str
    query: str
    line: int
    change: str
    item: str
    move: str
    cause: str
    explanation: str
    link: str
    by: tuple[str, ...]
    tags: tuple[str, ...]
    snippet: str


class Fact(Struct, frozen=True):
    """A name and what to say about it."""

    name: str
    text: str


class ChangeLine(Struct, frozen=True, kw_only=True):
    """One thing that is not as it was: a model, a chunker, a corpus, the golden set, the policy."""

    name: str
    before: str
    after: str


class ClusterLine(Struct, frozen=True, kw_only=True):
    """A group of lost queries and what the pattern suggests."""

    kind: str
    name: str
    count: int
    queries: tuple[str, ...]
    advice: str
    source: str


class SmallSlice(Struct, frozen=True, kw_only=True):
    """A slice too small for a percentage: how many of its queries changed."""

    name: str
    n: int
    worse: int
    better: int


class LatencyLine(Struct, frozen=True, kw_only=True):
    """One stage; `before_*` are empty when the baseline's times are not at hand."""

    stage: str
    p50: str
    p95: str
    before_p50: str
    before_p95: str
    n: str
