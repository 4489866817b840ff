"""Many records of one branch: trends, what changed between them, and drops too small for any single gate.

Creep is a fall that no single step shows. It is looked for on the part of the history that can be compared: since the
golden set last changed (or the last blessed release, where one is named), and since the scores last rose for good.
There the order of the scores is tested against chance: if nothing changed, every order of the same values is equally
likely, whatever their noise, so a permutation test holds its level without a model of that noise (Fisher 1935; for
change points: Antoch & Hušková 2001). Two statistics are looked at: the largest drop in mean between the records up
to one point and those after it (CUSUM, finds late or sudden falls), and the correlation with time (finds slow ones).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rageval_action.core.comparing.factors import UNSTATED
from rageval_action.core.measuring.measures import headline_measure, in_order, more_is_better
from rageval_action.core.model.record import Instant, Mean, Record
from rageval_action.core.statistics.paired_comparison import holm
from rageval_action.errors import RecordError

ALPHA = 0.02
"""Level of each of the two families of tests (the headline measure; all other series), so that a history without any
change raises an alarm in at most 4 % of cases."""

TOLERANCE = 0.02
"""A fall of no more than this is nobody's business: it is what a single pull request may cost by default."""

PERMUTATIONS = 999
SEED = 20_077
SHORTEST = 6
"""Records below which no order is surprising enough."""

MOST_KEPT = 4 << 20
"""Bytes of JSON that the points of a kept history may take: about 1,000 records with forty slices."""

Floats = NDArray[np.float64]


class Point(Struct, frozen=True, kw_only=True):
    """What a history keeps of one record."""

    run_id: str
    created_at: Instant
    sha: str = ""
    k: int = 5
    golden: str = ""
    model: str = ""
    chunker: str = ""
    snapshot: str = ""
    retriever: str = ""
    policy: str = ""
    queries: int = 0
    errors: int = 0
    acl_violations: int = 0
    measures: dict[str, Mean] = {}
    slices: dict[str, dict[str, Mean]] = {}
    latency_p50: float | None = None
    release: str = ""


class Mark(Struct, frozen=True, kw_only=True):
    """Something that changed with a record, or a release that it was blessed as."""

    run_id: str
    kind: Literal["golden set", "model", "chunker", "corpus", "retriever", "policy", "release"]
    text: str


class Series(Struct, frozen=True, kw_only=True):
    """One measure over time; None where a record does not have it. `slice` is empty for all queries."""

    measure: str
    slice: str
    values: tuple[float | None, ...]


class Creep(Struct, frozen=True, kw_only=True):
    """A fall that no single step shows.

    Attributes:
        since, now: run ids of the reference and of the last record. before, after: their scores.
        drop: how far the score fell. largest_step: the largest fall between two records of that stretch.
        steps: records between the two that were lower than the one before.
        p: of the order of the scores, if nothing had changed.
        reference: whether the reference is the best record since the last change, or the last blessed release.
    """

    measure: str
    slice: str
    since: str
    now: str
    before: float
    after: float
    drop: float
    largest_step: float
    steps: int
    p: float
    reference: Literal["best", "release"]


class History(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """A history, oldest record first."""

    schema_name: Literal["rageval.history/1"] = "rageval.history/1"
    headline: str
    points: tuple[Point, ...]
    marks: tuple[Mark, ...] = ()
    series: tuple[Series, ...] = ()
    creep: tuple[Creep, ...] = ()


def point(record: Record, release: str = "") -> Point:
    """What a history keeps of `record`."""
    total = record.latency_ms.get("total")
    return Point(
        run_id=record.run_id,
        created_at=record.created_at,
        sha=record.git.sha,
        k=record.k,
        golden=record.golden.sha256,
        model=f"{record.snapshot.model} {record.snapshot.revision}".strip(),
        chunker=record.snapshot.chunker,
        snapshot=record.snapshot.fingerprint,
        retriever=f"{record.retriever.name} {record.retriever.settings} {record.retriever.reranker}".strip(),
        policy=str(sorted(record.policy.items(), key=lambda item: item[0])),
        queries=record.golden.queries,
        errors=record.errors,
        acl_violations=record.acl_violations,
        measures=record.measures,
        slices={
            name: _only(part.measures, headline_measure(record.k)) for name, part in record.slices.items()
        },
        latency_p50=total.p50 if total else None,
        release=release,
    )


def _only(measures: Mapping[str, Mean], name: str) -> dict[str, Mean]:
    """Of a slice only the headline is kept: a history must stay small."""
    return {name: measures[name]} if name in measures else {}


def decode(data: bytes, *, place: str) -> History:
    """Read a history that was written before; `place` names it in messages.

    Raises:
        RecordError: `history.bad-json`.
    """
    try:
        return msgspec.json.decode(data, type=History)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError("history.bad-json", f"not a valid history: {error}.", where=place) from error


def grown(points: Sequence[Point], new: Point, *, limit: int = MOST_KEPT) -> tuple[Point, ...]:
    """`points` with `new` among them, oldest first, without the oldest that `limit` has no room for.

    A commit has one place: measured again, its newer scores stand where the first ones stood, since running an old
    commit once more is no news from the branch.

    Args:
        points: one a record, in any order.
        new: the record to add.
        limit: bytes of JSON; the newest point is kept whatever its size.
    """
    first = next((old for old in points if new.sha and old.sha == new.sha), new)
    placed = msgspec.structs.replace(new, created_at=first.created_at, release=new.release or first.release)
    others = [old for old in points if old.run_id != new.run_id and (not new.sha or old.sha != new.sha)]
    kept: list[Point] = []
    for one in sorted((*others, placed), key=_time, reverse=True):
        limit -= len(msgspec.json.encode(one))
        if kept and limit < 0:
            break
        kept.append(one)
    return tuple(reversed(kept))


def _time(one: Point) -> tuple[Instant, str]:
    return one.created_at, one.run_id


def history(points: Sequence[Point], *, tolerance: float = TOLERANCE) -> History:
    """Put records in order of time, name what changed between them, and look for creep.

    Args:
        points: one a record, in any order; of two with one run id the last is kept.
        tolerance: a fall up to this is never an alarm, and a larger step is not creep but a drop.
    """
    known = {one.run_id: one for one in points}
    ordered = tuple(sorted(known.values(), key=_time))
    if not ordered:
        return History(headline="", points=())
    headline = headline_measure(ordered[-1].k)
    series = _series(ordered, headline)
    return History(
        headline=headline,
        points=ordered,
        marks=tuple(
            mark for at, one in enumerate(ordered) for mark in _marks(ordered[at - 1] if at else None, one)
        ),
        series=series,
        creep=_creeping(ordered, series, tolerance),
    )


def _marks(before: Point | None, after: Point) -> list[Mark]:
    found = [Mark(run_id=after.run_id, kind="release", text=after.release)] if after.release else []
    if before is None:
        return found

    def differs(
        kind: Literal["golden set", "model", "chunker", "corpus", "retriever", "policy"], text: str
    ) -> None:
        found.append(Mark(run_id=after.run_id, kind=kind, text=text))

    if before.golden != after.golden:
        differs("golden set", f"{before.queries} → {after.queries} queries")
    if before.model != after.model:
        differs("model", f"{before.model or UNSTATED} → {after.model or UNSTATED}")
    if before.chunker != after.chunker:
        differs("chunker", f"{before.chunker or UNSTATED} → {after.chunker or UNSTATED}")
    if before.retriever != after.retriever:
        differs("retriever", f"{before.retriever} → {after.retriever}")
    if before.snapshot != after.snapshot and (before.model, before.chunker) == (after.model, after.chunker):
        differs("corpus", f"{before.snapshot[:12]} → {after.snapshot[:12]}")
    if before.policy != after.policy:
        differs("policy", "the gates are not the same")
    return found


def _series(points: Sequence[Point], headline: str) -> tuple[Series, ...]:
    """Every measure of the last record in the order of tables, then every slice of the headline measure."""
    last = points[-1]
    found = [
        Series(measure=name, slice="", values=tuple(_value(one.measures, name) for one in points))
        for name in in_order(last.measures, headline)
    ]
    for part in sorted(last.slices):
        values = tuple(_value(one.slices.get(part, {}), headline) for one in points)
        found.append(Series(measure=headline, slice=part, values=values))
    return tuple(found)


def _value(measures: Mapping[str, Mean], name: str) -> float | None:
    return measures[name].mean if name in measures else None


# --- creep ----------------------------------------------------------------------------------------------------------


class _Stretch(Struct, frozen=True):
    """The part of a series that can be compared: values without gaps, and where each stands in the history."""

    values: Floats
    places: list[int]
    released: bool


def _creeping(points: Sequence[Point], series: Sequence[Series], tolerance: float) -> tuple[Creep, ...]:
    if not series:
        return ()
    first = _since_rise(_stretch(points, series[0]))
    found: list[Creep] = []
    if _testable(first, tolerance):
        p = order_p(first.values)
        found += _told(points, series[0], first, p, tolerance) if p <= ALPHA else []
    start = first.places[0] if first.places else 0
    judged = [one for one in series[1:] if more_is_better(one.measure)]
    others = [(one, _from(_stretch(points, one), start)) for one in judged]
    ps = holm([trend_p(part.values) if _testable(part, tolerance) else 1.0 for _, part in others])
    for (one, part), p in zip(others, ps, strict=True):
        found += _told(points, one, part, p, tolerance) if p <= ALPHA else []
    return tuple(found)


def comparable(history: History) -> int:
    """Records that the headline is looked at over: since the golden set or k last changed, or the last release."""
    return int(_stretch(history.points, history.series[0]).values.size) if history.series else 0


def _testable(stretch: _Stretch, tolerance: float) -> bool:
    return stretch.values.size >= SHORTEST and _fall(stretch)[1] > tolerance + 1e-9


def _from(stretch: _Stretch, start: int) -> _Stretch:
    """The part of a stretch from one record on: all series are looked at since the headline's last rise."""
    kept = [at for at, place in enumerate(stretch.places) if place >= start]
    return _Stretch(stretch.values[kept], [stretch.places[at] for at in kept], stretch.released)


def _stretch(points: Sequence[Point], series: Series) -> _Stretch:
    """Since the golden set or k last changed, or since the last blessed release if that is later."""
    last, start, released = points[-1], 0, False
    for at, one in enumerate(points):
        if at and (one.golden, one.k) != (points[at - 1].golden, points[at - 1].k):
            start, released = at, False
        if one.release and (one.golden, one.k) == (last.golden, last.k):
            start, released = at, True
    places = [at for at in range(start, len(points)) if series.values[at] is not None]
    return _Stretch(np.array([series.values[at] for at in places], dtype=np.float64), places, released)


def _fall(stretch: _Stretch) -> tuple[int, float]:
    """Where the reference stands (the release, or the last of the best), and how far the last value is below it."""
    values = stretch.values
    best = 0 if stretch.released else int(values.size - 1 - np.argmax(values[::-1]))
    return best, float(values[best] - values[-1])


def _since_rise(stretch: _Stretch) -> _Stretch:
    """Without what came before the last lasting rise: an old low level would hide a fall from the new one.

    A release stays the reference whatever came after it.
    """
    values, places = stretch.values, stretch.places
    while not stretch.released and values.size >= 2 * SHORTEST:
        rises = _drops(-values[None, :])[0]
        at = int(np.argmax(rises)) + 1
        if values.size - at < SHORTEST or order_p(-values) > ALPHA / 4:
            break
        values, places = values[at:], places[at:]
    return _Stretch(values, places, stretch.released)


def _drops(rows: Floats) -> Floats:
    """For each row and each cut, the fall in mean across the cut in units of its standard error, up to a factor."""
    n = rows.shape[1]
    sums = np.cumsum(rows, axis=1)
    left = np.arange(1, n)
    before = sums[:, :-1] / left
    after = (sums[:, -1:] - sums[:, :-1]) / (n - left)
    return np.asarray((before - after) * np.sqrt(left * (n - left) / n))


def order_p(values: Floats, *, permutations: int = PERMUTATIONS, seed: int = SEED) -> float:
    """One-sided p that the values fall over time no more than in a random order; the smaller of two tests, doubled.

    Args:
        values: shape (n,), oldest first.
        permutations: random orders drawn; seeded, so that a history always tells the same.
        seed: of the generator.
    """
    if values.size < 3 or float(np.ptp(values)) <= 1e-12:
        return 1.0
    centred = values - values.mean()
    generator = np.random.default_rng((seed, values.size))
    beyond = np.zeros(2, dtype=np.int64)
    observed = _statistics(centred[None, :])[:, 0]
    done = 0
    while done < permutations:
        rows = min(permutations - done, max(1, 2_000_000 // values.size))
        drawn = generator.permuted(np.broadcast_to(centred, (rows, values.size)), axis=1)
        beyond += np.count_nonzero(_statistics(drawn) >= observed[:, None] - 1e-12, axis=1)
        done += rows
    return min(2.0 * (int(beyond.min()) + 1) / (permutations + 1), 1.0)


def _statistics(rows: Floats) -> Floats:
    """Largest standardised drop, and correlation with time turned round; shape (2, rows)."""
    time = np.arange(rows.shape[1]) - (rows.shape[1] - 1) / 2
    return np.stack([_drops(rows).max(axis=1), -(rows @ time)])


def trend_p(values: Floats) -> float:
    """One-sided p of a fall with time by the normal limit of the permutation test (Wald & Wolfowitz 1944)."""
    n = values.size
    if n < 3 or float(np.ptp(values)) <= 1e-12:
        return 1.0
    correlation = float(np.corrcoef(np.arange(n), values)[0, 1])
    return 0.5 * math.erfc(-correlation * math.sqrt((n - 1) / 2))


def _told(
    points: Sequence[Point], series: Series, stretch: _Stretch, p: float, tolerance: float
) -> list[Creep]:
    """The alarm, unless one step alone is the fall: that was a drop, and the gate spoke then.

    A step is allowed three times the usual difference between two records, so that noise does not pass for a drop.
    """
    best, drop = _fall(stretch)
    steps = -np.diff(stretch.values[best:])
    noise = 1.4826 * float(np.median(np.abs(np.diff(stretch.values))))
    if float(steps.max()) > max(tolerance, drop / 2) + 3 * noise + 1e-9:
        return []
    first = points[stretch.places[best]]
    return [
        Creep(
            measure=series.measure,
            slice=series.slice,
            since=first.run_id,
            now=points[stretch.places[-1]].run_id,
            before=float(stretch.values[best]),
            after=float(stretch.values[-1]),
            drop=drop,
            largest_step=float(steps.max()),
            steps=int(np.count_nonzero(steps > 1e-9)),
            p=p,
            reference="release" if stretch.released else "best",
        )
    ]
