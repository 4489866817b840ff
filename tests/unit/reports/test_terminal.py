"""The report on a terminal and in a log: the same view, nothing that a terminal or a runner would obey."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace

from rageval_action.core.document import BaselineInfo, document
from rageval_action.core.gates import NoBaseline
from rageval_action.core.policy import DropGate, Policy
from rageval_action.core.record import NoAnswer, Quantiles, RunRecord
from rageval_action.core.types import Notice
from rageval_action.core.verdict import Override, judge
from rageval_action.reports.terminal import plain, show
from rageval_action.reports.view import ReportView, view
from tests.builders import TODAY, amended, compared, ranked

BASELINE = BaselineInfo(run_id="r0", sha="", rung="file", age_s=0.0)
TAGS = {number: ["big"] if number < 30 else ["little"] for number in range(40)}
BEFORE = ranked([1] * 36 + [0, 0, 7, 1], tags=TAGS)
AFTER = amended(
    ranked([9, 0, 0, 0, *[1] * 32, 0, 1, 1, 1], tags=TAGS),
    latency_ms={"total": Quantiles(p50=3.0, p95=9.0, n=40)},
    no_answer=NoAnswer(n=2, reason="no score threshold was given"),
    warnings=(Notice(code="x", text="something odd"), Notice(code="corpus.small", text="a small corpus")),
    chunker="split 200",
)


class Screen(io.StringIO):
    """A stream that somebody watches."""

    def isatty(self) -> bool:
        return True


def told(before: RunRecord, after: RunRecord, override: Override | None = None) -> ReportView:
    comparison = compared(before, after)
    policy = Policy(gates=(DropGate(measure="recall@5", max_drop=0.02),))
    verdict = judge(policy, after.record, comparison, today=TODAY, override=override)
    return view(document(verdict, 5, comparison, BASELINE), after.record)


def alone(record: RunRecord) -> ReportView:
    verdict = judge(Policy(gates=()), record.record, NoBaseline("none was given"), today=TODAY)
    return view(document(verdict, 5, None, None), record.record)


def shown(what: ReportView, out: io.StringIO | None = None) -> str:
    stream = out or io.StringIO()
    show(what, stream)
    return stream.getvalue()


def test_plain_lines_in_order() -> None:
    lines = shown(told(BEFORE, AFTER, Override(by="bob", reason="known"))).splitlines()
    marks = [
        "Retrieval got worse (accepted). recall@5 dropped by 5.0 points (2.0 points allowed, observed): more than allowed.",
        "accepted by bob: known",
        "Baseline: the record that was given (run r0).",
        "Note: a small corpus",
        "",
        "measure   n   base   PR     Δ       95 % interval     reading",
        "Lost or worse",
        "query  text           rank            cause        by",
        "q000   question q000  1 → 9           outranked    f1, f2",
        "q001   question q001  1 → not ranked  below-depth  f1, f2",
        "Gained or better",
        "Gates",
        "fail    recall@5 dropped by 5.0 points (2.0 points allowed, observed): more than allowed",
        "Slices",
        "tag:big recall@5  30  1.000  0.867  −0.133  [−0.267, −0.033]  worse",
        "4 queries lost the last relevant result in the top 5, 2 recovered: net −2 of 40.",
        "1 query finds nothing relevant on either side: q036.",
        "tag:little: 10 queries: 2 better, 0 worse, 8 same (fewer than 20: no percentage, no verdict)",
        "Changed: chunker: split 400 → split 200",
        "Latency, total: p50 3.0 ms, p95 9.0 ms (40 queries timed)",
        "No hit that a query may not see (enforce mode).",
        "2 unanswerable queries: not measured, no score threshold was given.",
        "Note: something odd",
    ]
    at = 0
    for mark in marks:
        assert mark in lines[at:], mark
        at = lines.index(mark, at) + 1
    assert lines[-2].startswith("40 queries of this spread can prove a change of")
    assert lines[-1].startswith("40 queries, unit document")


def test_nothing_to_tell_is_not_told() -> None:
    text = shown(told(ranked([1] * 3), ranked([1] * 3)))
    for absent in (
        "Lost",
        "Gained",
        "Slices",
        "accepted",
        "Note",
        "Latency",
        "Changed",
        "unanswerable",
        "nothing relevant",
    ):
        assert absent not in text


def test_without_a_baseline_there_is_one_column_of_scores() -> None:
    text = shown(alone(ranked([1, 0])))
    assert text.startswith("No baseline to compare with. none was given.\nNo baseline: none was given.\n")
    assert "\nmeasure   n  score\nrecall@1  2  0.500\n" in text
    assert "Gates" not in text


def test_a_record_without_measures() -> None:
    text = shown(alone(amended(ranked([1]), measures={})))
    assert "score" not in text
    assert text.endswith("run run-1.\n")


def test_columns_are_aligned_for_wide_characters() -> None:
    before = ranked([1, 1], fields={0: {"query": "如何輪換憑證"}, 1: {"query": "cafe\u0301"}})
    after = ranked([9, 9], fields={0: {"query": "如何輪換憑證"}, 1: {"query": "cafe\u0301"}})
    lines = shown(told(before, after)).splitlines()
    head = next(line for line in lines if line.startswith("query  text"))
    wide = next(line for line in lines if line.startswith("q000"))
    combined = next(line for line in lines if line.startswith("q001"))
    assert head.index("rank") == wide.index("1 → 9") + 6 == combined.index("1 → 9") - 1


HOSTILE = "::error::gotcha\r\n::set-output name=x::y\x1b[31m ##[add-mask]z \u202e| "


def test_nothing_hostile_reaches_a_log() -> None:
    fields = {0: {"query": HOSTILE, "tags": (HOSTILE,)}}
    after = amended(
        ranked([9] + [1] * 30, fields=fields),
        warnings=(Notice(code="x", text=HOSTILE), Notice(code="corpus.small", text=HOSTILE)),
        run_id=HOSTILE,
        model=HOSTILE,
    )
    what = told(ranked([1] * 31, fields=fields), after, Override(by=HOSTILE, reason=HOSTILE))
    what = replace(what, missed=HOSTILE, blast=HOSTILE, sentence=HOSTILE, baseline=HOSTILE)
    text = shown(what)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "##[" not in text
    assert "\r" not in text
    for line in text.splitlines():
        assert not line.lstrip().startswith("::"), line


@pytest.mark.parametrize(
    "what", [told(BEFORE, AFTER, Override(by="bob", reason="known")), alone(AFTER), told(BEFORE, BEFORE)]
)
def test_a_screen_shows_the_same(what: ReportView) -> None:
    text = shown(what, Screen())
    squeezed = "".join(text.split())
    for line in (
        what.title,
        what.sentence,
        what.baseline,
        what.overridden,
        what.blast,
        what.footer,
        *what.caveats,
    ):
        assert "".join(line.split()) in squeezed
    for measure in what.measures:
        assert measure.measure in text


def test_markup_of_rich_is_not_obeyed() -> None:
    before, after = ranked([1]), ranked([9])
    what = told(before, after)
    what = replace(what, sentence="[bold red]x[/] [link=http://evil]y[/link]", caveats=("[red]note[/red]",))
    what = replace(what, lost=(replace(what.lost[0], id="[blink]q[/blink]"),))
    text = shown(what, Screen())
    assert "[bold red]x[/]" in text
    assert "[red]note[/red]" in text
    assert "[blink]q[/blink]" in text


def test_plain_is_what_show_prints_without_a_screen() -> None:
    what = told(BEFORE, AFTER)
    assert shown(what) == "".join(f"{line}\n" for line in plain(what))
