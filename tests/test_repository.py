"""What is written twice says the same twice."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval_action import __version__
from rageval_action.cli.main import COMMANDS, root
from rageval_action.config import OPTIONS
from rageval_action.core.measuring.measures import parse_measures
from rageval_action.core.series import history
from rageval_action.core.statistics import paired_comparison as statistics
from rageval_action.core.wording import limits
from rageval_action.github import baseline_lookup
from rageval_action.golden import near_duplicates, parroting
from rageval_action.golden.generate import filters
from rageval_action.retrievers import child, dense, hybrid, search
from rageval_action.snapshots import embedding_api
from tests.action.defences import MUTATIONS
from tests.defence_removal import Defence
from tests.small_project import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "bench").glob("*.py")))
def test_a_bench_can_be_started(name: str) -> None:
    assert callable(runpy.run_path(str(ROOT / "bench" / name), run_name="bench")["main"])


def test_version_is_one() -> None:
    assert PROJECT["project"]["version"] == __version__


def test_base_lock_covers_the_base_dependencies() -> None:
    wanted = [line for line in (ROOT / "requirements" / "base.in").read_text().splitlines() if line]
    assert sorted(wanted, key=str.lower) == sorted(PROJECT["project"]["dependencies"], key=str.lower)
    locked = (ROOT / "requirements" / "base.txt").read_text()
    for name in (re.split(r"[<>=]", line)[0].lower() for line in wanted):
        assert re.search(rf"^{name}==", locked, re.MULTILINE), name


@pytest.mark.parametrize("name", ["base", "dev", "mutants"])
def test_locks_hold_hashes_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert "--hash=sha256:" in text
    assert "://" not in text
    assert not re.search(r"^(torch|nvidia|triton|cuda)", text, re.MULTILINE)


def test_every_command_is_in_the_readme_and_answers_help() -> None:
    assert "`rageval " in README
    for name in COMMANDS:
        assert f"rageval {name}" in README, name
        shown = CliRunner().invoke(root, [name, "--help"])
        assert shown.exit_code == 0, name
        assert "Usage:" in shown.output


def test_options_of_evaluate_are_those_of_the_table() -> None:
    shown = CliRunner().invoke(root, ["evaluate", "--help"]).output
    for option in OPTIONS:
        assert f"--{option.name}" in shown, option.name


def test_measures_named_in_the_readme_exist() -> None:
    (listed,) = re.findall(
        r"\[Measures\]\(docs/measures.md\) are trec_eval's: (.*?) and a few", README, re.DOTALL
    )
    names = [name.replace("@k", "@5") for name in re.findall(r"`([^`]*)`", listed)]
    assert len(names) == 8
    assert [str(measure) for measure in parse_measures(names)] == names


def test_gates_of_the_readme_are_valid() -> None:
    import yaml

    from rageval_action.core.judging.policy import parse_policy

    block = next(text for text in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if "gates:" in text)
    values = yaml.safe_load(block)
    policy = parse_policy(
        {key: values[key] for key in ("gates", "waivers", "fail-on", "k") if key in values}, where="README.md"
    )
    assert len(policy.gates) == 6
    assert len(policy.waivers) == 1


def test_golden_rows_of_the_readme_are_valid(tmp_path: object) -> None:
    import msgspec

    from rageval_action.golden.canonical import CanonicalRow

    rows = [line for line in README.splitlines() if line.strip().startswith('{"id": "q')]
    assert len(rows) == 3
    for row in rows:
        msgspec.json.decode(row, type=CanonicalRow)


def test_the_fixtures_stay_in_the_repository() -> None:
    """Neither packages nor images carry the stores that other libraries wrote, and the repository few of them."""
    build = PROJECT["tool"]["hatch"]["build"]["targets"]
    assert build["wheel"]["packages"] == ["rageval_action"]
    assert build["sdist"]["exclude"] == ["tests/fixtures"]
    context = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in context
    assert not [line for line in context if line.startswith("!tests")]
    sizes = [path.stat().st_size for path in (ROOT / "tests" / "fixtures").rglob("*") if path.is_file()]
    assert sum(sizes) < 3_000_000


LIMITS = {
    "README.md": [
        f"{statistics.RESAMPLES:,} resamples",
    ],
    "ARCHITECTURE.md": [
        f"Up to {search.SMALL / 1e6:.0f} million scores one numpy product",
    ],
    "docs/action.md": [
        f"up to {baseline_lookup.MAX_DISTANCE} commits back",
    ],
    "docs/golden-sets.md": [
        f"more than {parroting.Limits().overlap:.0%} overlap (from {parroting.Limits().few} content words".replace(
            "%", " %"
        ),
        f"a run of {parroting.Limits().copied} words, or {parroting.Limits().copied_cjk + 1} Chinese characters",
        f"share {near_duplicates.THRESHOLD:.0%} of their".replace("%", " %"),
        f"by meaning (cosine {filters.SEMANTIC_THRESHOLD})",
    ],
    "docs/reports.md": [
        f"at most {limits.COMMENT_BYTES:,} bytes of UTF-8, a job summary {limits.SUMMARY_BYTES:,}",
        f"`--tolerance` ({history.TOLERANCE}) from the best record",
        f"chance explains in under {history.ALPHA:.0%} of cases".replace("%", " %"),
    ],
    "docs/retrievers.md": [
        f"Each part is asked for `candidates` documents ({hybrid.CANDIDATES})",
        f"(`k` = {hybrid.RRF_K} and recorded)",
        f"lines of more than {child.MAX_LINE >> 20} MiB",
    ],
    "docs/matrix.md": [
        f"on {dense.MOST_TIMED} of them, one by one",
    ],
    "docs/snapshots.md": [
        f"when the cosine of the two is below {embedding_api.STABLE}",
    ],
}
"""Page -> what it says of limits that are constants in the code."""


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_documented_as_they_are(name: str) -> None:
    page = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    assert [phrase for phrase in LIMITS[name] if phrase not in page] == []


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], check=False, capture_output=True, text=True, cwd=ROOT)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for path in (ROOT / name for name in listed.stdout.splitlines()) if path.is_file()]


def test_nothing_tracked_is_large_or_local() -> None:
    for path in tracked():
        assert path.stat().st_size < 2_000_000, path.name


def test_every_make_target_for_people_is_explained() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    (phony,) = [line.partition(":")[2].split() for line in lines if line.startswith(".PHONY:")]
    explained = {line.partition(":")[0] for line in lines if re.match(r"[a-z-]+:.*## .", line)}
    assert explained == set(phony) - {"base", "dev"}


@pytest.mark.parametrize("defence", MUTATIONS, ids=lambda defence: str(defence[0]))
def test_a_defence_that_can_be_taken_out_stands_in_the_code(defence: Defence) -> None:
    _, file, old, _, tests = defence
    assert old in (ROOT / file).read_text("utf-8")
    assert all((ROOT / path.partition("::")[0]).exists() for path in tests.split())
