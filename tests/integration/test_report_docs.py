"""What the documentation shows is what the code makes."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.cli.common import configure
from rageval_action.core.clusters import ADVICE
from rageval_action.core.record import GitInfo
from rageval_action.reports.links import Links
from rageval_action.reports.render import markdown
from rageval_action.reports.view import view

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
def comment() -> str:
    config = str(ROOT / "examples/rageval.yml")
    runs = {}
    for side, sha, created in (("baseline", "b", DAY - datetime.timedelta(hours=7)), ("candidate", "c", DAY)):
        settings = configure({"snapshot": str(ROOT / "examples" / side)}, config)
        from rageval_action.cli.common import world

        runs[side] = _fixed(pipeline.evaluate(settings, world(ROOT)), f"{side}-run", sha, created)
    told = pipeline.conclude(
        runs["candidate"],
        pipeline.Baseline(record=runs["baseline"], rung="exact"),
        settings.policy,
        today=DAY.date(),
    )
    return markdown(view(told, runs["candidate"].record), LINKS)


def test_the_example_comment_is_the_one_that_the_examples_get(comment, request):
    path = ROOT / "docs/example-comment.md"
    if request.config.getoption("--update-expected"):
        path.write_text(comment, encoding="utf-8")
    assert comment == path.read_text(encoding="utf-8")


def test_the_peers_page_tells_the_same_numbers(comment):
    page = (ROOT / "docs/comparison-with-peers.md").read_text(encoding="utf-8")
    row = next(line for line in comment.splitlines() if line.startswith("| **`recall@5`**"))
    before, after = (word.strip("*") for word in row.split("|")[2].strip().split(" → "))
    for number in (before, after, "−" + row.split("−", 1)[1].split(" ")[0]):
        assert number in page
    lost = next(
        line for line in comment.splitlines() if line.startswith("**") and "lost the last relevant" in line
    )
    assert lost.split("**")[1] in page


def test_every_advice_is_documented_with_its_source():
    page = (ROOT / "docs/reports.md").read_text(encoding="utf-8")
    for name, advice in ADVICE.items():
        assert f"| {name} | {advice.text} | {advice.source} |" in page


def test_every_block_of_the_template_is_documented():
    import re

    template = (ROOT / "rageval_action/reports/templates/comment.md.j2").read_text(encoding="utf-8")
    page = (ROOT / "docs/reports.md").read_text(encoding="utf-8")
    for block in re.findall(r"{% block (\w+) %}", template):
        assert f"`{block}`" in page
