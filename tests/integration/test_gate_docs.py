"""docs/gates.md states what `bench/simulation.py` wrote to docs/data/gate-rules.json, and that can be computed again."""

from __future__ import annotations

import json
import math
import re
from typing import Any, get_args

import pytest

from bench import simulation
from rageval_action.core.statistics.drop_rules import CLEAR, CLEAR_ON_SLICE, DEFAULT_RULE, Rule
from rageval_action.core.statistics.paired_comparison import SIGNIFICANT, TOLERANCE
from tests.small_project import ROOT

PAGE = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
TEXT = (ROOT / "docs" / "data" / "gate-rules.json").read_text(encoding="utf-8")
FOUND: dict[str, Any] = json.loads(TEXT)
RULES = FOUND["rules"]
RED, YELLOW, GREEN = range(3)


def red(rule: str, n: int, churn: float, change: float = 0.0) -> float:
    return RULES[rule][str(n)][str(churn)][str(change)][RED]


def enough(churn: float, fall: float) -> str:
    """The first size at which `clear` catches four in five."""
    return f"{next(n for n in simulation.SIZES if red('clear', n, churn, fall) >= 0.8):,}"


def test_every_rule_size_churn_and_change_is_there() -> None:
    assert set(RULES) == set(get_args(Rule))
    cells = {
        (n, churn, change)
        for n, churns in RULES["clear"].items()
        for churn, row in churns.items()
        for change in row
    }
    assert cells == {tuple(map(str, cell)) for cell in simulation.cells()}
    for rule in RULES.values():
        for shares in (cell for churns in rule.values() for row in churns.values() for cell in row.values()):
            assert math.isclose(sum(shares), 1, abs_tol=2e-4)
    assert FOUND["data_sets"] == simulation.DATA_SETS
    assert simulation.as_json(FOUND) == TEXT


@pytest.mark.parametrize("name", simulation.page_tables(FOUND))
def test_the_page_has_each_table(name: str) -> None:
    assert "\n".join(["", *simulation.page_tables(FOUND)[name], ""]) in PAGE


def test_no_other_table_has_figures() -> None:
    """What else looks like a row of numbers on the page is the list of sizes that are enough."""
    known = {line for lines in simulation.page_tables(FOUND).values() for line in lines}
    others = [line for line in PAGE.splitlines() if re.match(r"\| [\d,]+ ", line) and line not in known]
    assert others == [
        f"| {fall} points | {enough(0.02, -fall / 100)} | {enough(0.1, -fall / 100)} | {enough(0.27, -fall / 100)} |"
        for fall in (10, 5, 3)
    ]


def test_figures_in_sentences() -> None:
    slices = FOUND["slices"]
    most = max(red("clear", n, churn) for n in simulation.SIZES for churn in simulation.CHURNS)
    caught = [f"{100 * slices['clear_red_at_15_points'][n]:.0f} %" for n in ("20", "40", "60")]
    unlucky = [f"{100 * share:.1f}" for share in slices["clear_any_red"].values()]
    unsure = [f"{100 * share:.0f} %" for share in slices["non_inferior_any_yellow"].values()]
    wrong = [f"{100 * red('observed', 100, churn):.0f}" for churn in (0.1, 0.27)]
    for phrase in (
        f"`clear` is red on at most {math.ceil(100 * most)} % of harmless changes",
        f"red on {wrong[0]} to {wrong[1]} % of them with 100 questions",
        f"in {caught[0]} of cases with 20 questions, {caught[1]} with 40 and {caught[2]} with 60",
        f"at least one in {unlucky[0]}, {unlucky[1]} and {unlucky[2]} % of harmless changes",
        f"twelve slices in {unsure[0]} of harmless changes that touch one question in 200, and in {unsure[1]}",
        f"With `max_drop: {slices['max_drop']}`",
        f"with `max_drop: {FOUND['max_drop']}`",
        f"{len(slices['sizes'])} slices of {min(slices['sizes'])} to {max(slices['sizes'])}".replace(
            "12", "twelve"
        ),
        f"{FOUND['data_sets']['clear']:,} draws each",
        f"{FOUND['data_sets']['significant']:,} draws and",
        f"`{DEFAULT_RULE}` (default)",
        f"p < {SIGNIFICANT}",
        f"asks for {CLEAR_ON_SLICE:.0f} times instead of {CLEAR:.0f}",
        f"within {TOLERANCE:.9f} of each other",
    ):
        assert phrase in PROSE, phrase
    green = slices["non_inferior_green"]
    for n, churn in ((80, 0.02), (150, 0.05), (250, 0.1), (600, 0.27)):
        assert green[str(n)][str(churn)] == pytest.approx(0.82, abs=0.04)
    at_limit = [
        red(rule, n, churn, -0.02) for rule in RULES for n in simulation.SIZES for churn in (0.02, 0.1, 0.27)
    ]
    assert max(at_limit) <= 0.5


@pytest.mark.parametrize("cell", [(6, 0.27, -0.1), (50, 0.1, -0.05), (100, 0.05, 0.0)])
def test_the_figures_can_be_computed_again(cell: tuple[int, float, float]) -> None:
    n, churn, change = cell
    for rule in get_args(Rule):
        stated = RULES[rule][str(n)][str(churn)][str(change)]
        assert simulation.one_cell(rule, n, churn, change) == pytest.approx(stated, abs=1e-9)


def test_the_product_judges_as_the_simulation_does() -> None:
    for cell in ((6, 0.27, -0.1), (20, 0.1, -0.05), (50, 0.27, -0.03), (100, 0.05, -0.02)):
        counts = simulation.draw(*cell, 12)
        for rule in get_args(Rule):
            is_red, is_green = simulation.judge(rule, counts)
            for at, row in enumerate(counts):
                word = "fail" if is_red[at] else "pass" if is_green[at] else "inconclusive"
                assert simulation.product_states(row)[rule] == word, (rule, row)
