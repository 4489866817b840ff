"""`rageval report`, `explain` and `history` as a user runs them."""

from __future__ import annotations

import datetime
import json
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from rageval_action.core.model.record import GitInfo, Mean, Record, encode
from tests.small_project import DOCUMENTS, rageval, write_golden, write_index
from tests.unit.reports.situations import drop


@pytest.fixture(scope="module")
def records(tmp_path_factory) -> Path:
    """Two records of one small project: in the second, one document is gone and another is worse."""
    place = tmp_path_factory.mktemp("project")
    write_golden(place / "golden.jsonl")
    write_index(place / "before")
    fewer = {name: text for name, text in DOCUMENTS.items() if name != "parking"}
    fewer["cafe"] = "backup of the database of the canteen every night"
    write_index(place / "after", fewer)
    for side in ("before", "after"):
        done = rageval(
            "evaluate", "--golden", place / "golden.jsonl", "--snapshot", place / side, "--k", "2",
            "--out", place / f"{side}-record",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return place


def test_a_report_of_two_records(records, tmp_path):
    out = tmp_path / "report.html"
    done = rageval(
        "report", records / "after-record", "--baseline", records / "before-record", "--snapshot", records / "after",
        "--out", out,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    text = out.read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["schema"] == "rageval.page/1"
    assert data["view"]["compared"]
    assert "park a car" in data["queries"]["text"]
    assert any("backup of the database" in snippet for snippet in data["texts"].values())


def test_another_snapshot_lends_only_the_texts_that_were_searched(records, tmp_path):
    out, told = tmp_path / "report.html", tmp_path / "told.json"
    write_index(tmp_path / "other", {**DOCUMENTS, "cafe": "a text that this record has never seen"})
    done = rageval("report", records / "after-record", "--snapshot", tmp_path / "other", "--out", out)
    assert "is not the snapshot of this record" in done.stderr
    data = json.loads(out.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])
    assert "is not the snapshot of this record" in data["texts_note"]
    assert data["texts"]
    assert not any("never seen" in text for text in data["texts"].values())
    done = rageval(
        "explain", "q1", records / "after-record", "--snapshot", tmp_path / "other", "--json", told
    )
    assert "is not the snapshot of this record" in done.stderr
    assert "never seen" not in told.read_text(encoding="utf-8")
    assert "never seen" not in done.stdout


def test_a_report_of_one_record(records, tmp_path):
    done = rageval("report", records / "after-record", "--out", "-")
    assert done.returncode == 0
    assert '"verdict":"no_baseline"' in done.stdout


def test_a_report_shows_a_comparison_that_was_made_before(records, tmp_path):
    comparison = tmp_path / "comparison.json"
    judged = rageval("compare", records / "before-record", records / "after-record", "--json", comparison)
    assert judged.returncode == 0
    done = rageval("report", records / "after-record", "--comparison", comparison, "--out", "-")
    assert done.returncode == 0
    assert '"verdict":"inconclusive"' in done.stdout


def test_links_lead_to_the_golden_set_in_a_workflow(tmp_path):
    record = tmp_path / "record"
    record.mkdir()
    for name, data in encode(drop().after).items():
        (record / name).write_bytes(data)
    env = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "acme/kb"}
    done = rageval("report", record, "--out", "-", env=env)
    assert (
        f'"source":"https://github.com/acme/kb/blob/{drop().after.record.git.sha}/eval/golden.jsonl#L"'
        in done.stdout
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("report", "AFTER", "--comparison", "absent.json", "--out", "-"), "absent.json"),
        (("report", "absent", "--out", "-"), "there is no record here"),
        (("explain", "q99", "AFTER"), 'no query is "q99"'),
        (("explain", "the", "AFTER"), "queries hold"),
        (("history", "absent"), "there is no record here"),
        (("history", "AFTER", "--release", "beef"), "no record is of commit"),
        (("history", "AFTER", "--tolerance", "-1"), "--tolerance"),
        (("history", "AFTER", "--branch", "x"), "--branch picks among what GitHub holds"),
        (("history", "AFTER", "--id", "nothere"), "--id picks among what GitHub holds"),
        (("history", "AFTER", "--artifact-name", "x"), "--artifact-name picks among"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(records, words, code):
    done = rageval(*(str(records / "after-record") if word == "AFTER" else word for word in words))
    assert done.returncode == 2
    assert code in done.stderr
    assert "Traceback" not in done.stderr


def test_an_explanation_of_a_lost_query(records):
    done = rageval(
        "explain", "park a car", records / "after-record", "--baseline", records / "before-record",
        "--snapshot", records / "after",
    )  # fmt: skip
    assert done.returncode == 0
    assert "Cause: not-indexed" in done.stdout
    assert "Should find parking (grade 1): rank 1 → not ranked" in done.stdout
    assert "What to try: Neither the id nor its texts are in the index" in done.stdout


def test_an_explanation_for_machines(records):
    done = rageval("explain", "q1", records / "after-record", "--json", "-", "--show", "3")
    told = json.loads(done.stdout)
    assert (told["schema"], told["query_id"], len(told["after"])) == ("rageval.explanation/1", "q1", 3)


@pytest.fixture(scope="module")
def branch(records, tmp_path_factory) -> Path:
    """Forty records of one branch, some of them zipped, creeping down."""
    place = tmp_path_factory.mktemp("branch")
    first = msgspec.json.decode((records / "before-record/record.json").read_bytes(), type=Record)
    for at in range(40):
        fall = 0.008 * sum(at >= start for start in (10, 15, 20, 25, 30))
        record = msgspec.structs.replace(
            first,
            run_id=f"run-{at:02}",
            created_at=datetime.datetime(2031, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(days=at),
            git=GitInfo(sha=f"{at + 1:040x}"),
            measures={
                name: Mean(mean=(mean.mean or 0) - fall, n=mean.n) for name, mean in first.measures.items()
            },
        )
        folder = place / f"record-{at:02}"
        folder.mkdir()
        if at % 2:
            with zipfile.ZipFile(folder / "record.zip", "w") as archive:
                archive.writestr("record.json", msgspec.json.encode(record))
        else:
            (folder / "record.json").write_bytes(msgspec.json.encode(record))
    return place


def test_a_history_finds_what_no_gate_saw(branch, tmp_path):
    files = {name: tmp_path / name for name in ("h.json", "h.md", "h.html", "b.svg", "e.json")}
    done = rageval(
        "history", branch, "--json", files["h.json"], "--markdown", files["h.md"], "--html", files["h.html"],
        "--badge", files["b.svg"], "--endpoint", files["e.json"],
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    told = json.loads(files["h.json"].read_text())
    assert len(told["points"]) == 40
    assert told["creep"][0]["measure"] == "recall@2"
    assert "creeping down" in files["h.md"].read_text()
    assert "<title>Retrieval history</title>" in files["h.html"].read_text()
    assert json.loads(files["e.json"].read_text())["color"] == "orange"
    picture = ElementTree.fromstring(files["b.svg"].read_text())  # noqa: S314 - our own file
    assert picture.attrib["aria-label"].startswith("recall@2: 0.")


def test_a_history_outlives_its_records(branch, tmp_path):
    kept = tmp_path / "history.json"
    rageval("history", branch / "record-00", branch / "record-01", "--json", kept)
    done = rageval("history", kept, branch / "record-02", "--json", "-")
    assert [one["run_id"] for one in json.loads(done.stdout)["points"]] == ["run-00", "run-01", "run-02"]


def test_a_record_that_cannot_be_read_is_named_and_does_not_stop_the_rest(branch, tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK nothing")
    with zipfile.ZipFile(tmp_path / "bent.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("record.json", (branch / "record-00/record.json").read_bytes())
    with zipfile.ZipFile(tmp_path / "lzma.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("record.json", (branch / "record-00/record.json").read_bytes())
    names = ["broken.zip", "bent.zip", "lzma.zip"]
    for name in names[1:]:
        data = bytearray((tmp_path / name).read_bytes())
        data[60:80] = b"\xff" * 20
        (tmp_path / name).write_bytes(data)
    done = rageval("history", branch, *(tmp_path / name for name in names), "--markdown", "-")
    assert done.returncode == 0
    assert re.findall(r"not read: .*/(\w+\.zip)", done.stderr) == names


def test_a_release_is_named_by_its_commit(branch):
    done = rageval("history", branch, "--release", f"{40:040x}=v2", "--json", "-")
    told = json.loads(done.stdout)
    assert told["points"][-1]["release"] == "v2"
    assert told["creep"] == []


def test_a_thousand_records_are_read(records, tmp_path):
    first = msgspec.json.decode((records / "before-record/record.json").read_bytes(), type=Record)
    for at in range(1000):
        record = msgspec.structs.replace(
            first, run_id=f"run-{at:04}", created_at=first.created_at + datetime.timedelta(hours=at)
        )
        (tmp_path / f"{at}").mkdir()
        (tmp_path / f"{at}/record.json").write_bytes(msgspec.json.encode(record))
    done = rageval("history", tmp_path, "--json", "-")
    assert len(json.loads(done.stdout)["points"]) == 1000
