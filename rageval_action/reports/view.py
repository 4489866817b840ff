"""What a report may show: final strings and booleans, made once and used by every surface.

Strings from outside (query texts, ids, reasons) are still raw here; each surface escapes them at its border.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rageval_action.core.comparing.loss_clusters import clusters
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.judging.sentences import run_text, summary
from rageval_action.core.measuring.measures import headline_measure
from rageval_action.core.model.record import Record
from rageval_action.reports import notes, table_rows
from rageval_action.reports.view_types import (
    ChangeLine,
    ClusterLine,
    Fact,
    LatencyLine,
    MeasureLine,
    QueryLine,
    SmallSlice,
    UnitLine,
)

MOST_QUERIES = 10
"""Lost and gained queries in a comment: more than a reviewer reads."""

ALL = 10**9
"""For surfaces that show every query."""


class ReportView(Struct, frozen=True, kw_only=True):
    """The public face of a comparison; every surface is made from exactly this.

    Attributes:
        verdict: the word of the contract. alert: GitHub's name for the kind of alert.
        title, sentence: the verdict and its first reason. also: further reasons, worst first.
        hardest: where most of the loss is; empty when nothing was lost.
        overridden: who accepted the result and why; empty when nobody did.
        baseline: where the baseline is from. baseline_sha, candidate_sha: full, empty outside a repository.
        changed: what the pull request changed in the set-up. unchanged: what it did not.
        caveats: what a reader must know before looking at a number.
        measures: over all queries. compared: False when there is no baseline and only scores are shown.
        units: the same run by another unit than the labels', where both can be had; no gate looks at it.
        blast: queries that lost or gained their last relevant result.
        causes: the groups of lost queries in one sentence. clusters: the groups themselves.
        lost, gained: rows shown here; lost_total, gained_total: how many there are.
        missed: queries that find nothing on either side.
        slices: the headline measure by slice, the worst first. small_slices: too few queries for a percentage.
        latency, acl, no_answer, warnings: the folded rest. power: what this set can prove.
        headline: the measure that everything is judged by. k: its cutoff.
        golden_path: of the golden set, for links to its lines. footer: what was measured, in one line.
    """

    verdict: str
    exit_code: int
    alert: str
    title: str
    sentence: str
    also: tuple[str, ...]
    hardest: str
    overridden: str
    baseline: str
    baseline_sha: str
    candidate_sha: str
    changed: tuple[ChangeLine, ...]
    unchanged: tuple[str, ...]
    caveats: tuple[str, ...]
    compared: bool
    measures: tuple[MeasureLine, ...]
    units: tuple[UnitLine, ...]
    blast: str
    causes: str
    clusters: tuple[ClusterLine, ...]
    lost: tuple[QueryLine, ...]
    lost_total: int
    gained: tuple[QueryLine, ...]
    gained_total: int
    missed: tuple[str, ...]
    gates: tuple[Fact, ...]
    slices: tuple[MeasureLine, ...]
    small_slices: tuple[SmallSlice, ...]
    latency: tuple[LatencyLine, ...]
    no_answer: str
    acl: str
    acl_ok: bool
    warnings: tuple[str, ...]
    power: str
    headline: str
    k: int
    golden_path: str
    footer: str


def view(
    document: ComparisonDocument,
    record: Record,
    *,
    before: Record | None = None,
    most: int = MOST_QUERIES,
    snippets: Mapping[str, str] | None = None,
) -> ReportView:
    """Everything a report shows about `document`.

    Args:
        document: the comparison, as it was judged.
        record: the candidate's.
        before: the baseline's, where it is at hand: its latencies are then shown beside the candidate's.
        most: rows of lost and of gained queries to make; the totals are always shown.
        snippets: id of a lost query -> the text that took the place, of which a short piece is shown.
    """
    alert, title = summary.title(document)
    down = [change for change in document.queries if change.change in ("lost", "worse")]
    up = [change for change in document.queries if change.change in ("gained", "better")]
    whole = [row for row in document.measures if row.slice is None]
    override = document.overridden
    groups = clusters(document.queries)
    caveats, rest = notes.notices(document, record)
    texts = snippets or {}
    if summary.void(document):
        down, groups = [], ()
    return ReportView(
        verdict=document.verdict,
        exit_code=document.exit_code,
        alert=alert,
        title=title,
        sentence=summary.first(document),
        also=summary.also(document),
        hardest=summary.hardest(document, groups),
        overridden=f"Accepted by {override.by}: {override.reason}" if override else "",
        baseline=summary.baseline(document),
        baseline_sha=document.baseline.sha if document.baseline else "",
        candidate_sha=record.git.sha,
        changed=notes.changed(document),
        unchanged=notes.unchanged(document, record),
        caveats=caveats,
        compared=bool(document.measures),
        measures=table_rows.measures(whole, document.k, void=summary.void(document))
        if document.measures
        else table_rows.alone(record),
        units=() if summary.void(document) else table_rows.units(record, before),
        blast=summary.blast(document),
        causes=summary.causes(groups),
        clusters=notes.groups(groups),
        lost=tuple(table_rows.query(change, texts.get(change.id, "")) for change in down[:most]),
        lost_total=len(down),
        gained=tuple(table_rows.query(change) for change in up[:most]),
        gained_total=len(up),
        missed=tuple(change.id for change in document.queries if change.change == "missed"),
        gates=notes.gates(document),
        slices=() if summary.void(document) else table_rows.slices(document),
        small_slices=() if summary.void(document) else table_rows.small(document),
        latency=notes.latency(record, before),
        no_answer=run_text.no_answer(record),
        acl=run_text.acl(record),
        acl_ok=record.acl_violations == 0,
        warnings=rest,
        power=summary.power(document),
        headline=headline_measure(document.k),
        k=document.k,
        golden_path=record.golden.path,
        footer=run_text.footer(record),
    )
