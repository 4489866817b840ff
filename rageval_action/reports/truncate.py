"""Fewer rows where a surface has a limit: always whole rows, and always with how many are left out."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.reports.view import ReportView


class Cut(Struct, frozen=True, kw_only=True):
    """How many rows of each kind are shown. `scales`: whether fewer queries may be tried before the next rung."""

    queries: int
    missed: int
    slices: int
    small: int
    measures: int
    changes: int
    gates: int
    warnings: int
    reasons: int
    scales: bool = False

    def scaled(self, view: ReportView, share: float) -> Cut:
        """The same with about `share` of the query rows that are there."""
        there = min(max(len(view.lost), len(view.gained), 1), self.queries)
        return replace(self, queries=int(there * share * 0.85), missed=int(self.missed * share * 0.85))


class Left(Struct, frozen=True, kw_only=True):
    """How many rows of each kind are left out; lost and gained queries have their totals in the view."""

    missed: int
    slices: int
    measures: int
    changes: int
    gates: int
    warnings: int


COMMENT_LADDER = (
    Cut(
        queries=10, missed=30, slices=20, small=30, measures=20, changes=20, gates=20, warnings=20, reasons=5
    ),
    Cut(queries=10, missed=10, slices=10, small=10, measures=15, changes=12, gates=10, warnings=5, reasons=4),
    Cut(queries=5, missed=5, slices=5, small=5, measures=10, changes=8, gates=5, warnings=3, reasons=3),
    Cut(queries=2, missed=0, slices=2, small=0, measures=5, changes=4, gates=2, warnings=0, reasons=1),
    Cut(queries=0, missed=0, slices=0, small=0, measures=1, changes=0, gates=0, warnings=0, reasons=0),
)
"""Rich to poor. The last rung is a few sentences whose texts are capped: it fits into any limit of ours."""

SUMMARY_LADDER = (
    Cut(
        queries=5000, missed=5000, slices=1000, small=1000, measures=200, changes=100, gates=200, warnings=500,
        reasons=5, scales=True,
    ),
    Cut(
        queries=1000, missed=1000, slices=300, small=300, measures=100, changes=50, gates=100, warnings=100,
        reasons=5, scales=True,
    ),
    Cut(queries=100, missed=100, slices=100, small=100, measures=50, changes=20, gates=50, warnings=50, reasons=5),
    *COMMENT_LADDER[1:],
)  # fmt: skip


def cut(view: ReportView, rung: Cut) -> tuple[ReportView, Left]:
    """The view with at most the rung's rows, and what is left out."""
    rows = len(view.changed) + len(view.caveats)
    caveats = max(rung.changes - len(view.changed), min(len(view.caveats), rung.changes // 2))
    shown = replace(
        view,
        also=view.also[: rung.reasons],
        lost=view.lost[: rung.queries],
        gained=view.gained[: rung.queries],
        missed=view.missed[: rung.missed],
        slices=view.slices[: rung.slices],
        small_slices=view.small_slices[: rung.small],
        measures=view.measures[: rung.measures],
        units=view.units[: rung.measures],
        caveats=view.caveats[:caveats],
        changed=view.changed[: rung.changes - min(caveats, len(view.caveats))],
        gates=view.gates[: rung.gates],
        warnings=view.warnings[: rung.warnings],
        clusters=view.clusters[: 2 * rung.queries],
    )
    left = Left(
        missed=len(view.missed) - len(shown.missed),
        slices=len(view.slices) + len(view.small_slices) - len(shown.slices) - len(shown.small_slices),
        measures=len(view.measures) + len(view.units) - len(shown.measures) - len(shown.units),
        changes=rows - len(shown.changed) - len(shown.caveats),
        gates=len(view.gates) - len(shown.gates),
        warnings=len(view.warnings) - len(shown.warnings),
    )
    return shown, left
