"""Charts in the Mermaid language, which GitHub draws in job summaries and comments."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from msgspec import Struct

from rageval_action.core.wording import escape, numbers
from rageval_action.reports.view import ReportView
from rageval_action.reports.view_types import MeasureLine

MOST_BARS = 12

_RECALL = re.compile(r"recall@(\d+)")
_UNSAFE = re.compile(r"[^\w:./ -]+")
THEME = '%%{init: {"themeVariables": {"xyChart": {"plotColorPalette": "#0969da"}}}}%%'
"""Blue, which can be seen on white and on black. Two lines: grey for the base, then blue."""

_TWO_LINES = THEME.replace("#0969da", "#8b949e,#0969da")


class Charts(Struct, frozen=True):
    """Sources of the charts; empty where there is nothing to draw."""

    ladder: str = ""
    slices: str = ""


def mermaid(view: ReportView) -> Charts:
    """Recall by k (grey: base, blue: this pull request), and the slices that lost most."""
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
    lines = [
        _TWO_LINES,
        "xychart-beta",
        '  title "Recall at k"',
        f"  x-axis [{ks}]",
        '  y-axis "recall" 0 --> 1',
    ]
    if all(row.before_value is not None for _, row in found):
        lines.append(f"  line [{', '.join(f'{row.before_value:g}' for _, row in found)}]")
    else:
        lines[0] = THEME
    lines.append(f"  line [{', '.join(f'{row.after_value:g}' for _, row in found)}]")
    return "\n".join(lines)


def _slices(rows: Sequence[MeasureLine]) -> str:
    """The slices that lost most: Mermaid draws bars from the end of the axis, so they are points lost, from zero."""
    moved = [
        (row.slice, 100 * (row.before_value - row.after_value))
        for row in rows
        if row.after_value is not None and row.before_value is not None and row.after_value < row.before_value
    ]
    shown = sorted(moved, key=lambda item: -item[1])[:MOST_BARS]
    if len(shown) < 2:
        return ""
    names = ", ".join(f'"{label(name)}"' for name, _ in shown)
    values = ", ".join(numbers.fixed(value, 1) for _, value in shown)
    return "\n".join(
        [
            THEME,
            "xychart-beta horizontal",
            '  title "Points lost, by slice"',
            f"  x-axis [{names}]",
            f'  y-axis "points" 0 --> {math.ceil(shown[0][1])}',
            f"  bar [{values}]",
        ]
    )


def label(name: str) -> str:
    """A slice's name as the inside of a quoted Mermaid string: everything that could end it is gone."""
    return escape.cap(_UNSAFE.sub("_", escape.visible(name)), 40)
