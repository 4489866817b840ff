"""The runner's files and log, read back as the runner reads them."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_action.core.wording.limits import SENT_SUMMARY_BYTES
from rageval_action.github.workflow_commands import (
    Log,
    Place,
    fit_lines,
    write_outputs,
    write_summary,
)
from tests.fakes.github_runner import commands, runner_reads
from tests.fakes.npm import npm_package

HOSTILE = [
    "plain",
    "",
    "a\nverdict=pass\nEOF\nverdict<<EOF\npass",
    "x\rverdict=pass",
    "a<<b",
    "é\n\n",
    "rageval_",
]


@pytest.mark.parametrize("value", HOSTILE)
def test_no_value_can_add_an_output(value: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    write_outputs(path, {"report-path": value, "verdict": "fail"})
    read = runner_reads(path.read_text("utf-8"))
    assert read == {"report-path": value.replace("\r", " "), "verdict": "fail"}


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_any_values(values: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out")
        write_outputs(path, {f"o{index}": value for index, value in enumerate(values)})
        read = runner_reads(path.read_bytes().decode("utf-8"))
    assert list(read) == [f"o{index}" for index in range(len(values))]


@pytest.mark.parametrize("name", ["a\nb", "a=b", "a<<b", "", "1a"])
def test_names_are_ours(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not an output name"):
        write_outputs(tmp_path / "out", {name: "x"})


def test_a_known_delimiter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import uuid

    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=0))
    with pytest.raises(ValueError, match="delimiter"):
        write_outputs(tmp_path / "out", {"a": f"x\nrageval_{'0' * 32}\ny"})


def test_githubs_own_toolkit_writes_what_we_read(tmp_path: Path) -> None:
    """@actions/core appends to our file; both ways of writing come out of one parser."""
    package = npm_package("@actions/core")
    path = tmp_path / "out"
    write_outputs(path, {"ours": "one\ntwo=2\nEOF"})
    entry = json.dumps((package / "lib" / "core.js").as_uri())
    script = f"const core = await import({entry}); core.setOutput('theirs', 'a\\nb=c')"
    subprocess.run(
        ["node", "--input-type=module", "-e", script],
        check=True,
        timeout=60,
        env={"GITHUB_OUTPUT": str(path), "PATH": os.environ["PATH"]},
    )
    read = runner_reads(path.read_text("utf-8"))
    assert read == {"ours": "one\ntwo=2\nEOF", "theirs": "a\nb=c"}


def test_the_summary_stays_under_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    assert write_summary(path, "# Title")
    assert path.read_text() == "# Title\n"
    assert not write_summary(path, "| 長い行 |\n" * 200_000)
    data = path.read_bytes()
    assert SENT_SUMMARY_BYTES - 200 < len(data) <= SENT_SUMMARY_BYTES
    text = data.decode("utf-8")
    assert set(text.splitlines()[1:-3]) == {"| 長い行 |"}
    assert "Cut here" in text
    path.write_bytes(b"x" * SENT_SUMMARY_BYTES)
    assert not write_summary(path, "more")
    assert path.stat().st_size == SENT_SUMMARY_BYTES


def test_lines_are_kept_whole() -> None:
    assert fit_lines("ab\ncd\n", 5) == "ab\n"
    assert fit_lines("ab\ncd\n", 6) == "ab\ncd\n"
    assert fit_lines("abcdef", 3) == ""
    assert fit_lines("語\n語\n", 4) == "語\n"


ATTACKS = [
    "::add-mask::a",
    "  ::error::x",
    "##[error]x",
    "ok\n::set-output name=verdict::pass",
    "\r::warning::y",
    "::{fence}::",
]


@pytest.mark.parametrize("text", ATTACKS)
@pytest.mark.parametrize("fenced", [True, False])
def test_log_text_is_no_command(text: str, fenced: bool) -> None:
    stream = io.StringIO()
    log = Log(stream)
    if fenced:
        with log.fenced():
            log.line(text)
            stream.write(text + "\n")  # a child on the same stream
    else:
        log.line(text)
    assert commands(stream.getvalue()) == []


def test_the_fence_closes_when_the_work_fails() -> None:
    stream = io.StringIO()
    with pytest.raises(RuntimeError), Log(stream).fenced():
        raise RuntimeError
    assert commands(stream.getvalue()) == []


def test_annotations_leave_the_fence_and_stay_one_command() -> None:
    stream = io.StringIO()
    log = Log(stream)
    with log.fenced():
        log.annotate("error", "lost 100%\n::add-mask::x", title="a,b::c", place=Place("g,1:x.jsonl", 3))
        log.annotate("warning", "bare", place=Place("f"))
    assert commands(stream.getvalue()) == [
        "::error file=g%2C1%3Ax.jsonl,line=3,title=a%2Cb%3A%3Ac::lost 100%25%0A::add-mask::x",
        "::warning file=f::bare",
    ]


def test_the_eleventh_annotation_is_a_log_line() -> None:
    stream = io.StringIO()
    log = Log(stream)
    for number in range(12):
        log.annotate("notice", f"n{number} " + "x" * 5000)
    assert len(commands(stream.getvalue())) == 10
    assert max(map(len, commands(stream.getvalue()))) <= 4096 + 20
    assert "notice: n11" in stream.getvalue()


def test_masks_cover_each_line() -> None:
    stream = io.StringIO()
    Log(stream).mask("one\n\ntwo%")
    assert stream.getvalue().splitlines() == ["::add-mask::one", "::add-mask::two%25"]


def test_an_annotation_holds_nothing_that_moves_or_hides() -> None:
    stream = io.StringIO()
    Log(stream).annotate("error", "a\x1b[2J\nb\u202ec")
    assert stream.getvalue() == "::error::a [2J%0Ab\ufffdc\n"
