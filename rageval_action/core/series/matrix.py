"""Several configurations over one golden set: what each scores, what it costs, and how it differs from the first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from rageval_action.core.model.record import Quantiles, RunRecord
from rageval_action.core.model.types import Notice
from rageval_action.core.statistics.paired_comparison import Paired, bootstrap_interval, holm, paired

MOST_ERRORS = 0.1
"""A configuration that failed for more than this share of the queries was not measured."""


class Measured(Struct, frozen=True, kw_only=True, tag="measured"):
    """One measure of one configuration; `n` queries, `ci` the 95 % percentile bootstrap interval of the mean."""

    mean: float
    n: int
    ci: tuple[float, float]


class NotRun(Struct, frozen=True, kw_only=True, tag="not_run"):
    """There is no number, and why."""

    reason: str


class Against(Struct, frozen=True, kw_only=True, tag="against"):
    """A measure compared with the first configuration, query by query; fields as in `statistics.Paired`.

    `p_adjusted` is p adjusted by Holm over the configurations.
    """

    n: int
    delta: float
    ci: tuple[float, float]
    p: float
    p_adjusted: float
    better: int
    worse: int
    same: int


Score: TypeAlias = Measured | NotRun


class Configuration(Struct, frozen=True, kw_only=True):
    """One row of the matrix.

    Attributes:
        retriever: what ranked; empty when nothing did.
        scores: measure -> value, in the order of the matrix.
        against: measure -> comparison with the first configuration; empty for the first one itself.
        latency: stage -> quantiles in ms; a stage that a configuration has not is absent.
        cost: what was used, by name.
        errors, queries: how many failed, of how many.
        acl_violations: hits that the query may not see.
    """

    name: str
    retriever: str
    scores: dict[str, Score]
    against: dict[str, Against] = {}
    latency: dict[str, Quantiles] = {}
    cost: dict[str, float] = {}
    errors: int = 0
    queries: int = 0
    acl_violations: int = 0


class Matrix(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """The whole table; the first configuration is what the others are compared with."""

    schema_name: str = "rageval.matrix/1"
    golden: str
    queries: int
    unit: str
    measures: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    warnings: tuple[Notice, ...] = ()


Outcome: TypeAlias = tuple[str, RunRecord | NotRun]


def tabulate(outcomes: Sequence[Outcome], measures: Sequence[str], golden: str) -> Matrix:
    """Put the outcomes side by side.

    Args:
        outcomes: configuration name with its record, or why there is none, in the order of the table.
        measures: names of the measures to show.
        golden: the golden set's path, for the head.
    """
    measured = [record for _, record in outcomes if isinstance(record, RunRecord)]
    first = next(iter(outcomes), ("", NotRun(reason="")))[1]
    rows = [_row(name, record, measures) for name, record in outcomes]
    if isinstance(first, RunRecord):
        rows = _compared(rows, first, outcomes, measures)
    return Matrix(
        golden=golden,
        queries=measured[0].record.golden.answerable if measured else 0,
        unit=measured[0].record.golden.unit if measured else "",
        measures=tuple(measures),
        configurations=tuple(rows),
        warnings=_warnings(outcomes),
    )


def _row(name: str, record: RunRecord | NotRun, measures: Sequence[str]) -> Configuration:
    if isinstance(record, NotRun):
        return Configuration(name=name, retriever="", scores=dict.fromkeys(measures, record))
    about = record.record
    return Configuration(
        name=name,
        retriever=about.retriever.name,
        scores={measure: _score(record, measure) for measure in measures},
        latency=about.latency_ms,
        cost=about.cost,
        errors=about.errors,
        queries=len(record.queries),
        acl_violations=about.acl_violations,
    )


def _score(record: RunRecord, measure: str) -> Score:
    if record.record.errors > MOST_ERRORS * len(record.queries):
        return NotRun(reason=f"{record.record.errors} of {len(record.queries)} queries failed")
    values = np.array([value for value in _values(record, measure).values() if value is not None])
    if not values.size:
        return NotRun(reason="no query is judged for it")
    interval = bootstrap_interval(values)
    return Measured(
        mean=math.fsum(values) / values.size, n=int(values.size), ci=(interval.low, interval.high)
    )


def _values(record: RunRecord, measure: str) -> dict[str, float | None]:
    return {row.query_id: row.scores.get(measure) for row in record.queries if row.scores}


def _compared(
    rows: Sequence[Configuration], first: RunRecord, outcomes: Sequence[Outcome], measures: Sequence[str]
) -> list[Configuration]:
    """The rows with their comparisons; p is adjusted over the configurations, measure by measure."""
    against: list[dict[str, Against]] = [{} for _ in rows]
    for measure in measures:
        found: dict[int, Paired] = {}
        for at, (_, record) in enumerate(outcomes):
            if at and isinstance(record, RunRecord) and _both(rows[0], rows[at], measure):
                found[at] = _paired(first, record, measure)
        adjusted = holm([pair.p for pair in found.values()])
        for (at, pair), p in zip(found.items(), adjusted, strict=True):
            against[at][measure] = Against(
                n=pair.n,
                delta=pair.delta,
                ci=(pair.ci.low, pair.ci.high),
                p=pair.p,
                p_adjusted=p,
                better=pair.better,
                worse=pair.worse,
                same=pair.same,
            )
    return [msgspec.structs.replace(row, against=own) for row, own in zip(rows, against, strict=True)]


def _both(one: Configuration, other: Configuration, measure: str) -> bool:
    return isinstance(one.scores[measure], Measured) and isinstance(other.scores[measure], Measured)


def _paired(first: RunRecord, other: RunRecord, measure: str) -> Paired:
    before, after = _values(first, measure), _values(other, measure)
    names = sorted(name for name in before if before[name] is not None and after.get(name) is not None)
    return paired(
        np.array([before[name] for name in names], dtype=np.float64),
        np.array([after[name] for name in names], dtype=np.float64),
    )


def _warnings(outcomes: Sequence[Outcome]) -> tuple[Notice, ...]:
    """Each configuration's own warnings, once, and what makes the rows hard to compare.

    One that not every configuration gave names those that did.
    """
    measured = {name: record.record for name, record in outcomes if isinstance(record, RunRecord)}
    given: dict[Notice, list[str]] = {}
    for name, record in measured.items():
        for notice in record.warnings:
            given.setdefault(notice, []).append(name)
    found = [
        notice
        if len(names) == len(measured)
        else msgspec.structs.replace(notice, text=f"{', '.join(names)}: {notice.text}")
        for notice, names in given.items()
    ]
    for name, record in measured.items():
        if record.acl_violations:
            text = f"{name} returned {record.acl_violations} hits that the query may not see"
            found.append(Notice(code="matrix.acl", text=text))
    depths = {record.retriever.depth for record in measured.values()}
    if len(depths) > 1:
        text = f"rankings are of different depths ({', '.join(map(str, sorted(depths)))}): mrr and map depend on it"
        found.append(Notice(code="matrix.depth", text=text))
    return tuple(found)
