"""What the HTML report is given: the whole of it for every situation, and what must never break the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex

import msgspec
import pytest

from rageval_action.core.model.hashing import text_hash
from rageval_action.reports import html_file as html_module
from rageval_action.reports.html_file import document
from rageval_action.reports.html_report import DENIED, RELEVANT, html, page
from tests.small_project import ROOT
from tests.synthetic_runs import chunks, row, run
from tests.unit.reports.situations import Situation, judged

VENDOR = ROOT / "rageval_action" / "reports" / "assets" / "vendor"
SOURCE = "https://github.com/acme/handbook/blob/main/golden.jsonl#L"


def _page(situation: Situation):
    return page(situation.document, situation.after, situation.before, source=SOURCE)


def test_the_data_is_as_it_was_read(named, expected):
    name, situation = named
    plain = msgspec.to_builtins(_page(situation))
    columns = plain["queries"]
    plain["queries"] = {field: values[:3] for field, values in columns.items()}
    for field in ("ranking", "ranking_before"):
        plain["queries"][field] = [flat[:6] for flat in plain["queries"][field]]
    plain["names"], plain["clusters"] = plain["names"][:12], plain["clusters"][:3]
    plain["view"]["missed"] = plain["view"]["missed"][:5]
    del plain["view"]["small_slices"], plain["view"]["slices"], plain["view"]["measures"]
    expected(f"{name}/page.json", msgspec.json.format(msgspec.json.encode(plain), indent=1).decode() + "\n")


def test_every_column_has_an_entry_for_every_query(named):
    _, situation = named
    made = _page(situation)
    lengths = {len(getattr(made.queries, field)) for field in made.queries.__struct_fields__}
    assert lengths == {len(situation.after.queries)}


def test_the_curve_is_the_measure(situation):
    made = _page(situation("fail-drop"))
    rows = {row.measure: row for row in situation("fail-drop").document.measures if row.slice is None}
    for k in (1, 3, 5, 10):
        assert made.curve.before[k - 1] == pytest.approx(rows[f"recall@{k}"].baseline, abs=1e-4)
        assert made.curve.after[k - 1] == pytest.approx(rows[f"recall@{k}"].candidate, abs=1e-4)


def test_the_scores_of_the_table_are_those_of_the_record(situation):
    made, told = _page(situation("fail-drop")), situation("fail-drop")
    for at, measured in enumerate(told.after.queries):
        assert made.queries.score[at] == pytest.approx(measured.scores["recall@5"], abs=1e-4)


def test_hits_say_what_they_are(situation):
    made = _page(situation("acl-leak"))
    flat = made.queries.ranking[2]
    assert flat[2] & DENIED
    assert made.names[flat[0]] == "doc-2"
    assert flat[2] & RELEVANT


def test_beside_a_hit_stands_the_text_of_the_chunk_that_has_its_score():
    """One document, two chunks: each query is answered by another, and the old index had yet another text."""
    parts = chunks({"manual": ["how to start", "how to stop"], "other": "elsewhere"})
    older = chunks({"manual": ["how to start", "how to halt"], "other": "elsewhere"})
    ranked = {"q1": ["manual#0", "manual#1", "other#0"], "q2": ["other#0", "manual#1", "manual#0"]}
    before, after = (
        run([row(name, found, ["manual"], corpus) for name, found in ranked.items()], corpus)
        for corpus in (older, parts)
    )
    texts = {text_hash(chunk.text): chunk.text for chunk in parts}
    made = page(judged(before, after).document, after, before, texts=texts, texts_note="another index")

    def shown(passages):
        return [[made.texts.get(place, "") for place in places] for places in passages]

    assert shown(made.queries.passages) == [["how to start", "elsewhere"], ["elsewhere", "how to stop"]]
    assert shown(made.queries.passages_before) == [["how to start", "elsewhere"], ["elsewhere", ""]]
    assert made.texts_note == "another index"


def test_without_texts_none_is_missing(situation):
    made = _page(situation("fail-drop"))
    assert not made.texts
    assert not any(made.queries.passages + made.queries.passages_before)


def test_a_page_is_one_file_whose_scripts_are_named_by_hash(situation):
    text = html(_page(situation("hostile")))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert re.sub(r"'sha256-\S+' ?", "HASH", policy) == (
        "default-src 'none'; script-src HASHHASHHASHHASHHASH; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 5
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert not re.search(r"""(?:src|href)=["']?https?:""", text.split('id="data"')[0])


def test_the_page_and_its_libraries_have_the_documented_size(situation):
    text = html(_page(situation("no-baseline")))
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert len(text) - len(data) == pytest.approx(
        1e6 * _told("docs/reports.md", "about {} MB plus the data"), rel=0.05
    )
    vendored = sum(path.stat().st_size for path in VENDOR.glob("*.js"))
    assert vendored == pytest.approx(1e6 * _told("ARCHITECTURE.md", "vendored** ({} MB, ISC)"), rel=0.05)


def _told(name, phrase):
    before, after = map(re.escape, phrase.split("{}"))
    return float(re.search(rf"{before}([\d.]+){after}", (ROOT / name).read_text(encoding="utf-8"))[1])


def test_nothing_in_the_data_can_end_it(situation):
    text = html(_page(situation("hostile")))
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert "<" not in data
    assert "{{ 7*7 }}" in json.dumps(json.loads(data))


def test_the_data_holds_nothing_that_a_parser_reads_and_stays_itself():
    odd = "</script><!-- ]]> & \u2028\u2029 {{csp}} {{data}}"
    page = document("history.html", ("d3", "plot", "charts", "history"), {"odd": odd}, title="t", footer="f")
    text = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"odd": odd}


def test_title_and_footer_are_text():
    nasty = "</title></p><script>alert(1)</script>\"'"
    page = document("history.html", ("d3", "plot", "charts", "history"), {}, title=nasty, footer=nasty)
    assert page.count("&lt;script&gt;alert(1)") == page.count("alert(1)") >= 2


def test_a_script_cannot_end_itself(monkeypatch):
    whole = html_module._asset
    nasty = "const a = '</script><b>';"
    monkeypatch.setattr(html_module, "_asset", lambda path: nasty if path == "history.js" else whole(path))
    page = document("history.html", ("d3", "plot", "charts", "history"), {}, title="t", footer="f")
    assert "const a = '<\\/script><b>';" in page
    assert page.count("</script>") == page.count("<script")


def test_the_libraries_come_with_their_licences(situation):
    text = html(_page(situation("pass-unchanged")))
    assert "Copyright 2010-2026 Mike Bostock" in text
    assert "Copyright 2020-2025 Observable, Inc." in text
    assert "Permission to use, copy, modify, and/or distribute this software" in text


def test_commands_quote_what_a_shell_would_read(situation):
    told = situation("fail-drop")
    nasty = "my set; rm -rf $HOME"
    before = told.after.record
    record = msgspec.structs.replace(
        before,
        golden=msgspec.structs.replace(before.golden, path=nasty),
        snapshot=msgspec.structs.replace(before.snapshot, path=nasty),
        retriever=msgspec.structs.replace(before.retriever, name=nasty),
        git=msgspec.structs.replace(before.git, sha=nasty),
    )
    made = page(told.document, msgspec.structs.replace(told.after, record=record), told.before)
    told_by = [shlex.split(command.text) for command in made.commands]
    assert told_by[0] == ["git", "checkout", nasty]
    for option in ("--golden", "--snapshot", "--retriever"):
        assert told_by[1][told_by[1].index(option) + 1] == nasty
