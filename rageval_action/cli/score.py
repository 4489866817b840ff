"""`rageval score`: a run file against qrels, as trec_eval would score it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_action.cli.golden_common import parse_grades
from rageval_action.cli.options import json_option, text_option
from rageval_action.cli.output import STANDARD_OUTPUT, errors_as_json, write_json
from rageval_action.cli.safe_echo import say
from rageval_action.cli.value_types import integer
from rageval_action.core.measuring.measures import DEFAULT_LADDER, Measure, parse_measures
from rageval_action.core.measuring.scoring import MeasureScores, ScoreReport, batch, mean
from rageval_action.core.measuring.scoring import score as score_batch
from rageval_action.core.measuring.trec_files import TrecRanking, TrecRun, parse_qrels, parse_run
from rageval_action.core.model.types import Grades, Notice
from rageval_action.core.wording import lists
from rageval_action.core.wording.columns import in_line
from rageval_action.core.wording.escape import log_line
from rageval_action.errors import GoldenError, RagevalError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MEASURES = (*DEFAULT_LADDER, "map")
NAMED_QUERIES = 5
NOTHING = TrecRanking((), ())


@click.command()
@click.option("--qrels", required=True, metavar="FILE", help="Judgments: query 0 document grade.")
@click.option(
    "--run", "run_file", required=True, metavar="FILE", help="Ranking: query Q0 document rank score tag."
)
@click.option(
    "--measures",
    multiple=True,
    metavar="LIST",
    help=f"Repeats or takes commas; recall@1,3,5 is three. Default: {','.join(DEFAULT_MEASURES)}.",
)
@click.option("--per-query", is_flag=True, help="Show every query, not the means alone.")
@click.option(
    "--relevance-level",
    type=integer(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Lowest grade that counts as relevant; nDCG takes every grade above 0.",
)
@text_option("--grade-map", "OLD=NEW,…", "Grades that are fractions or words: 0.75=3,high=2.")
@json_option("the scores")
def score(
    *,
    qrels: str,
    run_file: str,
    measures: tuple[str, ...],
    per_query: bool,
    relevance_level: int,
    grade_map: str,
    json_target: str,
) -> None:
    """Score a TREC run against TREC qrels, with trec_eval's definitions and order.

    Every query of the qrels counts; one that the run lacks scores 0.
    """
    with errors_as_json(json_target):
        chosen = parse_measures(measures or DEFAULT_MEASURES)
        judgments = parse_qrels(_read(qrels, GoldenError), where=qrels, scale=parse_grades(grade_map))
        run = parse_run(_read(run_file, RecordError), where=run_file)
        if not judgments.keys() & run.rankings.keys():
            raise RecordError(
                "trec.no-overlap",
                f"no query of the run has judgments in {qrels}.",
                hint="Check that both files use the same query ids.",
                where=run_file,
            )
        report = _report(judgments, run, chosen, level=relevance_level, per_query=per_query)
        if json_target:
            write_json(json_target, report)
    if json_target != STANDARD_OUTPUT:
        _print(report)


def _report(
    judgments: Mapping[str, dict[str, int]],
    run: TrecRun,
    measures: Sequence[Measure],
    *,
    level: int,
    per_query: bool,
) -> ScoreReport:
    """Score every query of the judgments, and say what a reader of the means must know."""
    queries = list(judgments)
    rankings = [run.rankings.get(query, NOTHING) for query in queries]
    seen = batch([one.ids for one in rankings], [Grades(judgments[query]) for query in queries], level=level)
    values = score_batch(seen, measures)
    return ScoreReport(
        queries=len(queries),
        measures={str(one): _scores(values[one], queries if per_query else []) for one in measures},
        warnings=(
            *_mismatches(judgments, run),
            *_ranks(judgments, run),
            *_unmeasured(queries, seen.relevant.tolist(), level),
            *_ties(rankings, measures),
            *_undefined(values),
        ),
    )


def _read(path: str, error: type[RagevalError]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as fault:
        raise error("trec.unreadable", f"the file cannot be read: {fault.strerror}.", where=path) from fault


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _scores(values: NDArray[np.float64], queries: Sequence[str]) -> MeasureScores:
    """The mean, and a value for each of `queries` (all of them, or none)."""
    by_query = {query: _defined(value) for query, value in zip(queries, values.tolist(), strict=False)}
    return MeasureScores(mean=_defined(mean(values.tolist())), per_query=by_query)


def _named(ids: Sequence[str]) -> str:
    """A count with the first few ids."""
    return f"{lists.queries(len(ids))} ({lists.listed(ids, NAMED_QUERIES)})"


def _mismatches(judgments: Mapping[str, object], run: TrecRun) -> Iterator[Notice]:
    unanswered = [query for query in judgments if query not in run.rankings]
    if unanswered:
        text = f"{_named(unanswered)} of the qrels not in the run: scored 0 and counted."
        yield Notice(code="trec.unanswered", text=text)
    unjudged = [query for query in run.rankings if query not in judgments]
    if unjudged:
        text = f"{_named(unjudged)} of the run not in the qrels: left out."
        yield Notice(code="trec.without-judgments", text=text)


def _ranks(judgments: Mapping[str, object], run: TrecRun) -> Iterator[Notice]:
    """trec_eval ignores the rank column; where it contradicts the scores, they may be distances."""
    found = [run.trends[query] for query in judgments if query in run.trends]
    ranked = [one for one, basis in found if basis == "rank" and one != "level"]
    against = sum(one != "falling" for one in ranked)
    if against:
        text = (
            f"the rank column contradicts the scores in {against} of {lists.queries(len(ranked))}: "
            "the scores decide, as in trec_eval. Distances must be negated before they are scored."
        )
        yield Notice(code="trec.rank-contradicts", text=text)


def _unmeasured(queries: Sequence[str], relevant: Sequence[int], level: int) -> Iterator[Notice]:
    empty = [query for query, count in zip(queries, relevant, strict=True) if not count]
    if empty:
        text = f"{_named(empty)} with no judgment of grade {level} or more: scored 0 and counted."
        yield Notice(code="trec.nothing-relevant", text=text)


def _ties(rankings: Sequence[TrecRanking], measures: Sequence[Measure]) -> Iterator[Notice]:
    cutoffs = sorted({one.cutoff for one in measures if one.cutoff})
    tied = sum(
        any(one.scores[k - 1] == one.scores[k] for k in cutoffs if k < len(one.scores)) for one in rankings
    )
    if tied:
        where = ", ".join(map(str, cutoffs))
        text = (
            f"{tied} of {len(rankings)} queries have equal scores on both sides of a cutoff ({where}): "
            "the document id decides there, descending, as in trec_eval."
        )
        yield Notice(code="trec.ties", text=text)


def _undefined(values: Mapping[Measure, NDArray[np.float64]]) -> Iterator[Notice]:
    for measure, column in values.items():
        missing = sum(map(math.isnan, column.tolist()))
        if missing:
            text = (
                f"{measure} is not defined for {missing} of {len(column)} queries, for which nothing was "
                "returned: they are left out of its mean."
            )
            yield Notice(code="score.undefined", text=text)


def _print(report: ScoreReport) -> None:
    """Print measure, query and value, the queries first as trec_eval does; warnings go to standard error."""
    rows = [
        [name, log_line(query), _shown(value)]
        for name, scores in report.measures.items()
        for query, value in scores.per_query.items()
    ]
    rows += [[name, "all", _shown(scores.mean)] for name, scores in report.measures.items()]
    for line in in_line(rows):
        click.echo(line)
    for warning in report.warnings:
        say(f"warning: {warning.text}", err=True)


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
