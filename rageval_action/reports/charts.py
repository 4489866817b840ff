"""Charts in the Mermaid language, which GitHub draws in job summaries and comments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from rageval_action.core import escape
from rageval_action.reports.parts import MeasureLine
from rageval_action.reports.view import ReportView

MOST_BARS = 12

_RECALL = re.compile(r"recall@(\d+)")
_UNSAFE = re.compile(r"[^\w:./ -]+")
_THEME = '%%{init: {"themeVariables": {"xyChart": {"plotColorPalette": "#8b949e,#0969da"}}}}%%'


class Charts(Struct, frozen=True):
    """Sources of the charts; empty where there is nothing to draw."""

    ladder: str = ""
    slices: str = ""


def mermaid(view: ReportView) -> Charts:
    """Recall by k (grey: base, blue: this pull request), and the change of each slice."""
    return Charts(ladder=_ladder(view.measures), slices=_slices(view.slices))


def _ladder(rows: Sequence[MeasureLine]) -> str:
    found = sorted(
        (int(match[1]), row)
        for row in rows
        if (match := _RECALL.fullmatch(row.measure)) and row.after_value is not None
    )
    if len(found) < 2:
        return ""
    ks = ", ".join(f'"{k}"' for k, _ in found)
    lines = [_THEME, "xychart-beta", '  title "Recall at k"', f"  x-axis [{ks}]", '  y-axis "recall" 0 --> 1']
    if all(row.before_value is not None for _, row in found):
        lines.append(f"  line [{', '.join(f'{row.before_value:g}' for _, row in found)}]")
    else:
        lines[0] = _THEME.replace("#8b949e,", "")
    lines.append(f"  line [{', '.join(f'{row.after_value:g}' for _, row in found)}]")
    return "\n".join(lines)


def _slices(rows: Sequence[MeasureLine]) -> str:
    """The change of the slices that moved most, in points."""
    moved = [
        (row.slice, 100 * (row.after_value - row.before_value))
        for row in rows
        if row.after_value is not None and row.before_value is not None
    ]
    shown = sorted(sorted(moved, key=lambda item: -abs(item[1]))[:MOST_BARS], key=lambda item: item[1])
    if len(shown) < 2:
        return ""
    names = ", ".join(f'"{label(name)}"' for name, _ in shown)
    values = ", ".join(f"{value:.1f}" for _, value in shown)
    return "\n".join(
        [
            _THEME.replace("#8b949e,", ""),
            "xychart-beta horizontal",
            '  title "Change by slice, in points"',
            f"  x-axis [{names}]",
            f"  bar [{values}]",
        ]
    )


def label(name: str) -> str:
    """A slice's name as the inside of a quoted Mermaid string: everything that could end it is gone."""
    return escape.cap(_UNSAFE.sub("_", escape.visible(name)), 40)
