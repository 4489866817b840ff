"""The comment: hostile texts stay texts, tables stay tables, and it always fits."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from rageval_action.core.document import BaselineInfo, ComparisonDocument, document
from rageval_action.core.policy import DropGate, FloorGate, KeepGate, Policy
from rageval_action.core.record import NoAnswer, Quantiles, RunRecord
from rageval_action.core.setup import Factor
from rageval_action.core.types import Notice
from rageval_action.core.verdict import Override, Reason, judge
from rageval_action.reports.render import COMMENT_BYTES, Links, markdown
from rageval_action.reports.view import ReportView, view
from tests.builders import FILLERS, TODAY, amended, compared, plain_chunks, ranked, row, run

BASELINE = BaselineInfo(run_id="0123456789abcdef", sha="a" * 40, rung="exact", age_s=7200.0, distance=0)
LINKS = Links(server_url="https://github.com", repository="acme/kb", sha="c" * 40)

HOSTILE = "a|b `c` <img src=x onerror=alert(1)> @everyone #1 \n\n# heading\n> quote ![i](http://x.y) ](http://evil.example) **b** </details> &lt; :tada: \u202e \x07"


def made(
    before: RunRecord, after: RunRecord, *gates: Any, override: Override | None = None, **more: Any
) -> ReportView:
    comparison = compared(before, after)
    policy = Policy(gates=gates or (DropGate(measure="recall@5", max_drop=0.02),))
    verdict = judge(policy, after.record, comparison, today=TODAY, override=override)
    return view(replace(document(verdict, after.record.k, comparison, BASELINE), **more), after.record)


def rendered(before: RunRecord, after: RunRecord, **more: Any) -> str:
    return markdown(made(before, after, **more), LINKS)


TAGS = {number: ["big"] if number < 30 else ["little"] for number in range(40)}
BEFORE = ranked([1] * 36 + [0, 0, 7, 1], tags=TAGS)
AFTER = amended(
    ranked([9, 0, 0, 0, *[1] * 32, 0, 1, 1, 1], tags=TAGS),
    latency_ms={"total": Quantiles(p50=3.0, p95=9.0, n=40)},
    no_answer=NoAnswer(n=2, reason="no score threshold was given"),
    warnings=(Notice(code="x", text="something odd"), Notice(code="corpus.small", text="a small corpus")),
    chunker="split 200",
)


def tables(text: str) -> list[list[str]]:
    """Consecutive table lines."""
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


class TestShape:
    def test_the_order_of_the_contract(self) -> None:
        text = rendered(BEFORE, AFTER)
        marks = [
            "> [!CAUTION]\n> **Retrieval got worse.** recall",
            "Baseline&#58; the exact base commit at commit aaaaaaaaaaaa",
            "**Note:** a small corpus",
            "| measure | base → PR | Δ [95 % interval] | reading | queries |",
            "4 queries lost the last relevant result in the top 5, 2 recovered: net −2 of 40.",
            "#### Lost or worse",
            "#### Gained or better",
            "1 query finds nothing relevant on either side&#58; q036.",
            "<details><summary>Gates</summary>",
            "<details><summary>What changed in the set-up</summary>",
            "<details><summary>Slices</summary>",
            "<details><summary>Latency, access, unanswerable queries</summary>",
            "<details><summary>Notes (1)</summary>",
            "40 queries of this spread can prove a change of",
            "<sub>40 queries, unit document",
        ]
        places = [text.find(mark) for mark in marks]
        assert -1 not in places, marks[places.index(-1)]
        assert places == sorted(places)
        assert text.startswith(marks[0])
        assert text.endswith("</sub>\n")
        assert "\n\n\n" not in text

    def test_every_table_is_one(self) -> None:
        for table in tables(rendered(BEFORE, AFTER)):
            widths = {line.count("|") for line in table}
            assert len(widths) == 1, table
            assert re.fullmatch(r"\|(---\|)+", table[1])

    def test_rows(self) -> None:
        text = rendered(BEFORE, AFTER)
        link = f"https://github.com/acme/kb/blob/{'c' * 40}/golden.jsonl#L1"
        assert (
            f"| [q000]({link}) question q000 | 1 → 9 | **outranked** by f1, f2, f3, f4, f5 (close) |" in text
        )
        assert "| 1 → not ranked | **below&#45;depth** by f1, f2" in text
        assert "| 7 → 1 | **outranked** by f1, f2, f3, f4, f5 (close) |" in text
        assert "| `recall@5` | 0.925 → **0.875** | −0.050 [" in text
        assert "| tag&#58;big · `recall@5` | 1.000 → **0.867** |" in text
        assert (
            "- tag&#58;little: 10 queries: 2 better, 0 worse, 8 same (fewer than 20: no percentage, no verdict)"
            in text
        )
        assert "| chunker | split 400 → split 200 |" in text
        assert "- total: p50 3.0 ms, p95 9.0 ms (40 queries timed)" in text
        assert "- No hit that a query may not see (enforce mode)." in text
        assert "- 2 unanswerable queries: not measured, no score threshold was given." in text
        assert "- something odd" in text

    def test_nothing_to_tell_is_not_told(self) -> None:
        same = ranked([1] * 3)
        text = rendered(same, same)
        assert text.startswith("> [!TIP]\n> **No retrieval regression.** every gate holds.\n")
        for absent in (
            "####",
            "Notes",
            "Slices",
            "set-up",
            "more are in the full report",
            "nothing relevant",
        ):
            assert absent not in text
        assert "none changed in recall@5" in text

    def test_an_override_is_in_the_alert(self) -> None:
        text = rendered(BEFORE, ranked([0] * 40), override=Override(by="bob", reason="we | know"))
        assert text.startswith("> [!NOTE]\n> **Retrieval got worse (accepted).** recall")
        assert "\n> accepted by bob&#58; we &#124; know\n" in text

    def test_the_rest_is_counted(self) -> None:
        text = rendered(ranked([1] * 13 + [0] * 12), ranked([0] * 13 + [1] * 12))
        assert "\n3 more are in the full report.\n" in text
        assert "\n2 more are in the full report.\n" in text

    @pytest.mark.parametrize("links", [None, Links(), Links(server_url="https://x", repository="a/b")])
    def test_without_links(self, links: Links | None) -> None:
        text = markdown(made(BEFORE, AFTER), links)
        assert "| q000 question q000 |" in text
        assert "](" not in text

    def test_no_link_without_a_line(self) -> None:
        after = ranked([9], fields={0: {"line": 0}})
        assert "| q000 question q000 |" in markdown(made(ranked([1], fields={0: {"line": 0}}), after), LINKS)

    def test_a_path_that_climbs_is_not_linked(self) -> None:
        after = amended(ranked([9]), path="../../golden.jsonl")
        assert "| q000 question q000 |" in markdown(made(ranked([1]), after), LINKS)


class TestHostile:
    def hostile(self) -> str:
        corpus = plain_chunks([*FILLERS, "r", HOSTILE])
        common: dict[str, Any] = {"query": HOSTILE, "tags": (HOSTILE,), "type": HOSTILE, "lang": "x|y"}
        lost_before = row(HOSTILE, [HOSTILE, *FILLERS], [HOSTILE], corpus, **common)
        lost_after = row(HOSTILE, ["r", *FILLERS, HOSTILE], [HOSTILE], corpus, **common)
        other = row("other", ["r"], ["r"], corpus)
        before = run([lost_before, other], corpus)
        after = amended(
            run([lost_after, other], corpus),
            path=f"dir/{HOSTILE}.jsonl",
            run_id=HOSTILE,
            model=HOSTILE,
            name=HOSTILE,
            warnings=(
                Notice(code="x", text=HOSTILE, where=HOSTILE),
                Notice(code="corpus.small", text=HOSTILE),
            ),
            latency_ms={HOSTILE: Quantiles(p50=1.0, p95=1.0, n=1)},
        )
        gates = (KeepGate(tag=HOSTILE, measure="hit@5"), FloorGate(measure="mrr", min=0.1))
        baseline = replace(BASELINE, sha=HOSTILE, run_id=HOSTILE)
        comparison = compared(before, after)
        verdict = judge(
            Policy(gates=gates),
            after.record,
            comparison,
            today=TODAY,
            override=Override(by=HOSTILE, reason=HOSTILE),
        )
        shown = view(document(verdict, 5, comparison, baseline), after.record)
        return markdown(shown, LINKS)

    def test_nothing_of_it_is_interpreted(self) -> None:
        text = self.hostile()
        bare = re.sub(r"</?(details|summary|sub)>", "", text)
        assert "<" not in bare
        assert "`c`" not in text
        assert "@everyone" not in text
        assert "](http://evil" not in text
        assert "![" not in text
        assert "\u202e" not in text
        assert "\x07" not in text
        assert "**b**" not in text
        assert "# heading" not in [line.strip() for line in text.splitlines()]
        assert text.count("<details>") == text.count("</details>")
        assert len(re.findall(r"#1\b", text)) == len(re.findall(r"#L1\b", text)) == 0
        for link in re.findall(r"\]\(([^)]*)\)", text):
            assert link.startswith("https://github.com/acme/kb/blob/")

    def test_no_table_is_broken(self) -> None:
        text = self.hostile()
        assert len(tables(text)) >= 4
        for table in tables(text):
            assert len({line.count("|") for line in table}) == 1, table

    def test_a_document_of_somebody_else(self) -> None:
        """Names that our own code makes are texts from outside once a document comes from an artifact."""
        shown = made(BEFORE, AFTER)
        comparison = compared(BEFORE, AFTER)
        bad_row = replace(comparison.view.rows[0], measure=HOSTILE)
        bad_query = replace(comparison.queries[0], cause=HOSTILE, tags=(HOSTILE,), item=HOSTILE)
        text = markdown(
            view(
                ComparisonDocument(
                    verdict="fail",
                    exit_code=1,
                    overridden=None,
                    reasons=(Reason(code=HOSTILE, text=HOSTILE),),
                    baseline=BASELINE,
                    pairing=comparison.pairing,
                    measures=(bad_row,),
                    queries=(bad_query,),
                    factors=(Factor(name=HOSTILE, before=HOSTILE, after=HOSTILE),),
                    k=5,
                ),
                AFTER.record,
            ),
            LINKS,
        )
        assert shown.title == "Retrieval got worse"
        assert "<img" not in text
        assert "@everyone" not in text
        assert "`c`" not in text
        for table in tables(text):
            assert len({line.count("|") for line in table}) == 1, table


class TestSize:
    def long(self, **more: Any) -> str:
        return markdown(replace(made(BEFORE, AFTER), **more), LINKS)

    def fits(self, text: str) -> None:
        assert len(text.encode()) <= COMMENT_BYTES
        assert text.count("<details>") == text.count("</details>")
        for table in tables(text):
            assert len({line.count("|") for line in table}) == 1
        assert text.endswith("</sub>\n")

    def test_thousands_of_lost_queries(self) -> None:
        shown = made(BEFORE, AFTER)
        many = tuple(replace(shown.lost[0], id=f"q{n}", query="字" * 300) for n in range(2000))
        text = self.long(lost=many, gained=many[:1000], lost_more=7, gained_more=1)
        self.fits(text)
        lost = sum(line.startswith("| [q") for line in text.partition("#### Gained")[0].splitlines())
        assert f"\n{2007 - lost} more are in the full report.\n" in text
        assert lost > 10

    def test_thousands_of_lost_queries_from_a_record(self) -> None:
        before, after = ranked([1] * 600), ranked([0] * 600)
        text = rendered(before, after)
        self.fits(text)
        assert "\n590 more are in the full report.\n" in text

    @pytest.mark.parametrize(
        "field", ["warnings", "caveats", "gates", "changes", "slices", "small_slices", "latency", "measures"]
    )
    def test_thousands_of_anything_else(self, field: str) -> None:
        shown = made(BEFORE, AFTER)
        one = getattr(shown, field)[0]
        text = self.long(**{field: (one,) * 2500})
        self.fits(text)

    def test_what_is_left_out_is_counted(self) -> None:
        text = self.long(warnings=tuple(f"{n} " + "word " * 60 for n in range(1000)))
        kept = sum(bool(re.match(r"- \d+ word", line)) for line in text.splitlines())
        assert f"- {1000 - kept} more notes are in the full report" in text
        gate = made(BEFORE, AFTER).gates[0]
        gates = tuple(replace(gate, text=f"{n} " + "word " * 60) for n in range(1000))
        text = self.long(gates=gates)
        kept = sum(bool(re.match(r"\| fail \| \d+ word", line)) for line in text.splitlines())
        assert kept
        assert f"| … | {1000 - kept} more gates are in the full report |" in text

    def test_long_single_texts(self) -> None:
        text = self.long(
            sentence="<" * 100_000, baseline="&" * 100_000, overridden="|" * 100_000, footer="`" * 100_000
        )
        self.fits(text)

    def test_what_fits_is_not_cut(self) -> None:
        shown = made(BEFORE, AFTER)
        many = tuple(replace(shown.lost[0], id=f"q{n}", by=(), tags=()) for n in range(200))
        text = self.long(lost=many)
        assert sum(line.startswith("| [q") for line in text.splitlines()) == 200 + len(shown.gained)
