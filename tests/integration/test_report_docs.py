"""What the documentation shows is what the code makes."""

from __future__ import annotations

import datetime
import html
import math
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.cli.configuration import configure
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.judging.sentences.cause_words import ADVICE
from rageval_action.core.model.record import GitInfo, RunRecord
from rageval_action.core.series.history import MOST_KEPT, point
from rageval_action.reports.comment_and_summary import comment as rendered
from rageval_action.reports.links import Links
from rageval_action.reports.view import view
from rageval_action.world import real_world

ROOT = Path(__file__).resolve().parents[2]
DAY = datetime.datetime(2031, 5, 4, 12, 0, tzinfo=datetime.UTC)
LINKS = Links(
    server_url="https://github.com",
    repository="acme/handbook",
    sha="c" * 40,
    report_url="https://github.com/acme/handbook/actions/runs/7",
)


def _fixed(run, name: str, sha: str, created: datetime.datetime):
    """Without what differs from machine to machine and from run to run."""
    place = f"{ROOT}/"
    notices = tuple(
        replace(one, where=one.where.replace(place, ""), text=one.text.replace(place, ""))
        for one in run.record.warnings
    )
    record = replace(
        run.record,
        run_id=name,
        created_at=created,
        git=GitInfo(sha=sha * 40),
        latency_ms={},
        hardware={},
        warnings=notices,
        golden=replace(run.record.golden, path="examples/golden.jsonl"),
    )
    return replace(run, record=record)


@pytest.fixture(scope="module")
def runs() -> dict[str, RunRecord]:
    config = str(ROOT / "examples/rageval.yml")
    found = {}
    for side, sha, created in (("baseline", "b", DAY - datetime.timedelta(hours=7)), ("candidate", "c", DAY)):
        settings = configure({"snapshot": str(ROOT / "examples" / side)}, config)
        found[side] = _fixed(pipeline.evaluate(settings, real_world(ROOT)), f"{side}-run", sha, created)
    return found


@pytest.fixture(scope="module")
def told(runs: dict[str, RunRecord]) -> ComparisonDocument:
    policy = configure({}, str(ROOT / "examples/rageval.yml")).policy
    baseline = pipeline.Baseline(record=runs["baseline"], rung="exact")
    return pipeline.conclude(runs["candidate"], baseline, policy, today=DAY.date())


@pytest.fixture(scope="module")
def comment(told: ComparisonDocument, runs: dict[str, RunRecord]) -> str:
    return rendered(view(told, runs["candidate"].record), LINKS)


def test_the_example_comment_is_the_one_that_the_examples_get(comment, request):
    path = ROOT / "docs/example-comment.md"
    if request.config.getoption("--update-expected"):
        path.write_text(comment, encoding="utf-8")
    assert comment == path.read_text(encoding="utf-8")


def _parts(comment: str) -> list[str]:
    """What the peers page repeats of the comment, word for word."""
    plain = html.unescape(comment).replace("\u200b", "")
    patterns = (
        r"`mrr` dropped by [\d.]+ points; [\d.]+ points are allowed",
        r"`recall@5` dropped by [\d.]+ points",
        r"`type:exact-term` lost most \(.*?\); the commonest cause is outranked \(.*?\)",
        r"\d+ queries lost the last relevant result .*? net −\d+ of \d+",
        r"\d+ queries can prove a change of [\d.]+ points or more",
        r"for [\d.]+ points you need about [\d,]+",
        r"\d+ % of ids new",
    )
    return [re.search(pattern, plain)[0] for pattern in patterns]


def _as_peers_print(told: ComparisonDocument) -> list[str]:
    """The same regression in the forms of the others, and in our sentences about them."""
    row, mrr = (
        next(row for row in told.measures if row.measure == name and row.slice is None)
        for name in ("recall@5", "mrr")
    )
    before, after, change = row.baseline, row.candidate, _signed(f"{row.delta:.3f}")
    interval, exact = (_signed(form.format(*row.ci)) for form in ("[{:.3f}, {:.3f}]", "[{:.4f}, {:.4f}]"))
    percent = [f"{math.floor(10_000 * score) / 100} %" for score in (before, after)]  # their `pct` cuts off
    return [
        f"recall@5 over {row.n} queries from {before:.3f} to {after:.3f}, a change of {change} {interval}",
        f"one sentence with the change ({change})",
        f"baseline {before:.3f}, candidate {after:.3f}, delta",
        f'"went from {percent[0]} to {percent[1]}" with an arrow',
        f"recall@5 changed by {change} (interval {interval}, p = {row.p:.2f}) over {row.n} pairs",
        f"| recall@5 (primary) | {after:.3f} |",
        f"| mrr | {mrr.candidate:.3f} |",
        f"| {before:.4f}, {after:.4f}, {_signed(f'{row.delta:.4f}')} |",
        f"| {exact}, {row.n} |",
        f"from {percent[0]} to {percent[1]} ↓",
        f"| {after:.3f} ({_signed(f'{100 * row.delta / before:.1f}')} %) |",
        f"| {before:.3f} → **{after:.3f}** | {change} {interval} |",
        f"cannot tell · {row.worse} worse, {row.better} better |",
    ]


def _of_the_losses(told: ComparisonDocument) -> list[str]:
    """How many queries broke, which, and why."""
    lost = {change.id: change for change in told.queries if change.change in ("lost", "worse")}
    causes = Counter(change.cause for change in lost.values())
    lines = sorted(int(name[1:]) for name in lost)
    shown = (lost["q106"], lost["q090"])
    return [
        *(f"| {one.baseline:.2f} | {one.candidate:.2f} | {one.item} |" for one in shown),
        *(f"`{one.item}` {one.baseline_rank} → {one.candidate_rank or 'not ranked'} |" for one in shown),
        f"lines {', '.join(map(str, lines[:6]))} …",
        f"| {len(lost)}, the first ten with text",
        f"{causes['outranked']} outranked (by what), {causes['duplicate']} duplicate, ",
        f"{causes['acl-filtered']} access",
    ]


def _signed(text: str) -> str:
    return text.replace("-", "−")


SETTLED = (
    r"`[^`]*`|\b[0-9a-f]{7}\b",  # code, and the commits that were read
    r"recall@5|\bq\d{3}\b|top 5|tolerance \| 0\.0200",
    r"by `policy-file`, `gate-rules` and 3 more|500 → 1200 characters",
    r"95 % interval|the first 15|\b15 rows|60,000 bytes|\b1 alert",
)
"""Numbers of the peers page that are rules or names, or that other tests hold."""


def test_the_peers_page_tells_the_same_numbers_and_no_others(comment, told):
    page = " ".join((ROOT / "docs/comparison-with-peers.md").read_text(encoding="utf-8").split())
    page = page.replace("> ", "")
    assert "2 removed" in html.unescape(comment)
    assert "two documents gone" in page
    parts = [*_parts(comment), *_as_peers_print(told), *_of_the_losses(told)]
    assert [part for part in parts if part not in page] == []
    for part in parts:
        page = page.replace(part, "")
    for pattern in reversed(SETTLED):
        page = re.sub(pattern, "", page)
    assert re.findall(r".{20}\d.{20}", page) == []


def test_a_kept_history_has_room_for_as_many_records_as_told(runs):
    size = len(msgspec.json.encode(point(runs["candidate"].record)))
    page = (ROOT / "docs/action.md").read_text(encoding="utf-8")
    most, records = re.search(
        r"newest (\d+) MiB of records .*?, about ([\d,]+) of the size of the example", page
    ).groups()
    assert int(most) << 20 == MOST_KEPT
    assert MOST_KEPT / size == pytest.approx(int(records.replace(",", "")), rel=0.1)


def test_every_advice_is_documented_with_its_source():
    page = (ROOT / "docs/reports.md").read_text(encoding="utf-8")
    for name, advice in ADVICE.items():
        assert f"| {name} | {advice.text} | {advice.source} |" in page
