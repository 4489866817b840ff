"""Generation through the real SDK against a local server that speaks the wire format."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rageval_action.errors import CannotMeasureError, ConfigError
from rageval_action.golden.canonical_file import RowFile
from rageval_action.golden.formats import read_golden
from rageval_action.golden.generate.batches import Batched
from rageval_action.golden.generate.budget import Budget
from rageval_action.golden.generate.client import GIVE_UP_AFTER, Interactive, connect
from rageval_action.golden.generate.funnel import Report
from rageval_action.golden.generate.generation import Generation, Result
from rageval_action.golden.generate.ledger import Ledger
from rageval_action.golden.generate.prices import PRICES
from rageval_action.golden.generate.question_plan import Settings, make_plan
from tests.fakes.anthropic_server import FakeAnthropic, Fault
from tests.fakes.question_corpus import FACTS, Brain, chunks

pytest.importorskip("anthropic", reason="the extra [generate] is not installed")

ROOT = Path(__file__).resolve().parents[4]
SETTINGS = Settings(questions=14, per_chunk=1)


class Bench:
    """A server, a folder, and a run against them."""

    def __init__(self, server: FakeAnthropic, brain: Brain, folder: Path) -> None:
        self.server, self.brain, self.folder = server, brain, folder
        self.out = folder / "golden.jsonl"
        self.budget = Budget(0, PRICES, batch=False)

    def run(
        self, *, batch: bool = False, settings: Settings = SETTINGS, limit: float = 0, **more: object
    ) -> Result:
        self.budget = Budget(limit, PRICES, batch=batch)
        client = client_for(self.server.url, int(more.pop("retries", 0)), float(more.pop("timeout", 5)))
        ledger = Ledger(self.folder / "ledger.jsonl")
        asker = (
            Batched(client, ledger, self.budget, poll_s=0.01)
            if batch
            else Interactive(client, ledger, self.budget, workers=int(more.pop("workers", 1)))
        )
        plan = make_plan(chunks(), settings)
        more.setdefault("wave", len(plan.slots) if batch else 4)
        generation = Generation(chunks(), settings, asker, RowFile.open_or_new(self.out), **more)
        result = generation.run(plan)
        assert result.funnel.adds_up, result.funnel
        assert self.server.complaints == []
        return result

    def rows(self) -> list[dict]:
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def paid_in_ledger(self) -> int:
        ledger = Ledger(self.folder / "ledger.jsonl")
        return sum(answer.output_tokens for answer in ledger.answers())


@cache
def client_for(url: str, retries: int, timeout: float):
    """A client a setting: making one costs more than a whole run."""
    return connect(url, retries=retries, timeout_s=timeout)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeAnthropic]:
    with pytest.MonkeyPatch.context() as patch, FakeAnthropic(Brain()) as fake:
        patch.setenv("ANTHROPIC_API_KEY", "test-key")
        yield fake


@pytest.fixture
def bench(server: FakeAnthropic, tmp_path: Path) -> Bench:
    brain = Brain()
    server.reset(brain)
    return Bench(server, brain, tmp_path)


def test_good_answers_become_rows_that_the_reader_takes(bench: Bench) -> None:
    result = bench.run()
    assert result.funnel == Report(
        asked=14, lost={}, parsed=14, dropped={}, kept=14, surplus=0, rewritten=0, written_before=0
    )
    golden = read_golden(bench.out)
    assert len(golden.queries) == 14
    assert golden.notices == ()
    texts = {doc: " ".join(chunk.text for chunk in chunks() if chunk.doc == doc) for doc in FACTS}
    for query in golden.queries:
        assert (query.source, query.review) == ("synthetic", "pending")
        for item in query.evidence:
            assert texts[item.doc][item.start : item.start + len(item.quote)] == item.quote
    kinds = sorted(query.type for query in golden.queries)
    assert kinds == ["lookup"] * 12 + ["multi-document", "unanswerable"]
    row = bench.rows()[0]["provenance"]
    assert row["model"] == row["critic"] == "claude-haiku-5-5"
    assert (row["prompt"], row["seed"]) == ("question.v1", 0)
    assert set(row["scores"]) == {"overlap", "copied"}


def test_batches_give_the_same_rows_at_half_the_price(bench: Bench, tmp_path: Path) -> None:
    bench.run()
    interactive, price = bench.rows(), bench.budget.spent
    other = Bench(bench.server, bench.brain, tmp_path / "batch")
    other.run(batch=True)
    assert other.rows() == interactive
    assert other.budget.spent == pytest.approx(price / 2, rel=0.02)
    assert len(bench.server.batches) == 2, "one for the questions, one for the critic"


@pytest.mark.parametrize("batch", [False, True])
def test_a_second_run_costs_nothing_and_writes_nothing(bench: Bench, *, batch: bool) -> None:
    bench.run(batch=batch)
    before, asked = bench.out.read_bytes(), len(bench.server.messages)
    again = bench.run(batch=batch)
    assert len(bench.server.messages) == asked
    assert bench.budget.spent == 0
    assert bench.out.read_bytes() == before
    assert again.funnel.kept == again.funnel.written_before == 14


BAD = {
    "preamble": "Sure! Here is a question: when may boats enter?",
    "several-questions": "When may boats enter? And who opens the gate?",
    "not-self-contained": "What does this document say about boats?",
    "copied-wording": "Does it hold that the harbour gate opens two hours before high tide and closes one hour after it?",
}


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_question_is_rewritten_once_or_dropped(bench: Bench, reason: str) -> None:
    sentence = FACTS["tide.md"][0][0]
    bad = {"questions": [{"style": "natural", "question": BAD[reason], "quote": sentence, "language": "en"}]}
    good = bench.brain._question
    bench.brain.override["question"] = lambda prompt: bad if sentence in prompt else good(prompt)
    result = bench.run()
    assert (result.funnel.kept, result.funnel.rewritten) == (14, 1)
    bench.out.unlink()
    (bench.folder / "ledger.jsonl").unlink()
    bench.brain.override["rewrite"] = {"question": BAD[reason]}
    result = bench.run()
    assert result.funnel.dropped == {reason: 1}


@pytest.mark.parametrize(
    ("answer", "lost"),
    [
        ({"questions": []}, {"too-few": 12}),
        ({"questions": [{"question": "", "quote": "x", "style": "", "language": ""}]}, {"too-few": 12}),
        ('{"questions": [', {"broken-json": 12}),
        ("I would rather not write JSON.", {"broken-json": 12}),
    ],
)
def test_answers_without_questions_are_lost_by_reason(bench: Bench, answer: object, lost: dict) -> None:
    bench.brain.override["question"] = answer
    result = bench.run()
    assert result.funnel.lost == lost
    assert result.funnel.kept == 2


def test_too_many_questions_are_surplus(bench: Bench) -> None:
    good = bench.brain._question

    def many(prompt: str) -> dict:
        answer = good(prompt)
        return {"questions": answer["questions"] * 3}

    bench.brain.override["question"] = many
    result = bench.run()
    assert (result.funnel.surplus, result.funnel.kept) == (24, 14)


def test_prose_and_fences_around_json_are_taken_off(bench: Bench) -> None:
    good = bench.brain._question
    bench.brain.override["question"] = lambda prompt: f"```json\n{json.dumps(good(prompt))}\n```"
    assert bench.run().funnel.kept == 14
    bench.brain.override["critic"] = lambda prompt: (
        f"Here you are: {json.dumps(bench.brain._critic(prompt))} Done."
    )
    (bench.folder / "ledger.jsonl").unlink()
    assert bench.run().funnel.kept == 14


def test_quotes_that_are_not_in_the_passage_drop_the_question(bench: Bench) -> None:
    bench.brain.override["question"] = {
        "questions": [
            {
                "style": "natural",
                "question": "Who rings the bell at noon?",
                "quote": "The bell",
                "language": "en",
            }
        ]
    }
    assert bench.run().funnel.dropped == {"quote-not-found": 12}


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ({"self_contained": False}, "critic-not-self-contained"),
        ({"answerable": False}, "critic-not-answerable"),
        ({"copied": True}, "critic-copied"),
        ({"number": 7}, "critic-no-verdict"),
    ],
)
def test_the_critic_is_obeyed(bench: Bench, verdict: dict, reason: str) -> None:
    good = bench.brain._critic
    row = {"number": 1, "self_contained": True, "answerable": True, "copied": False, "reason": "x"} | verdict
    bench.brain.override["critic"] = lambda prompt: (
        {"verdicts": [row]} if "travelling crane" in prompt and 'number="1">' in prompt else good(prompt)
    )
    assert bench.run().funnel.dropped == {reason: 1}


def test_an_unanswerable_question_that_is_answered_after_all_is_dropped(bench: Bench) -> None:
    good = bench.brain._critic
    bench.brain.override["critic"] = lambda prompt: json.loads(
        json.dumps(good(prompt)).replace('"answerable": false', '"answerable": true')
    )
    assert bench.run().funnel.dropped == {"critic-answerable-after-all": 1}


def ranked(texts: list[str]) -> list[list[str]]:
    """A search that always ranks the collection in its own order."""
    return [[chunk.id for chunk in chunks()] for _ in texts]


def test_the_round_trip_adds_judgments_and_reports_difficulty(bench: Bench) -> None:
    quote = FACTS["tide.md"][0][0]
    bench.brain.override["also"] = lambda prompt: {
        "answers": [
            {"number": 1, "quote": quote},
            {"number": 2, "quote": "not there"},
            {"number": 99, "quote": quote},
        ]
        if "discount" in prompt and "opens two hours" in prompt.split("<passage")[1]
        else []
    }
    result = bench.run(searches={"bm25": ranked})
    assert result.funnel.kept == 14
    assert (result.also, result.unverified) == (1, 1)
    assert sum(result.difficulty.values()) == 13
    row = next(row for row in bench.rows() if "discount" in row["query"])
    assert [item["doc"] for item in row["evidence"]] == ["fees.md", "tide.md"]
    assert row["provenance"]["ranks"] == {"bm25": 4}
    assert "difficulty:medium" in row["tags"]


def test_an_unanswerable_question_that_another_chunk_answers_is_dropped(bench: Bench) -> None:
    bench.brain.override["also"] = lambda prompt: {
        "answers": [{"number": 1, "quote": FACTS["tide.md"][0][0]}] if "lighthouse" in prompt else []
    }
    assert bench.run(searches={"bm25": ranked}).funnel.dropped == {"answerable-after-all": 1}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(429), "rate-limited"),
        (Fault(529), "overloaded"),
        (Fault(500), "server-error"),
        (Fault("not-json"), "broken-response"),
        (Fault("drop"), "no-connection"),
        (Fault("refusal"), "refusal"),
        (Fault("cut-off"), "cut-off"),
        (Fault("hang", "1.5"), "timeout"),
    ],
)
def test_a_fault_costs_its_own_questions_and_is_asked_again_next_time(
    bench: Bench, fault: Fault, kind: str
) -> None:
    bench.server.faults = [None, fault]
    result = bench.run(timeout=0.5)
    assert result.funnel.lost == {kind: 1}
    assert result.funnel.kept == 13
    again = bench.run()
    remembered = kind in ("refusal", "cut-off")
    assert again.funnel.kept == (13 if remembered else 14)
    assert bench.server.paid_output == bench.paid_in_ledger()


@pytest.mark.slow
def test_the_sdk_retries_and_waits_as_told(bench: Bench) -> None:
    bench.server.faults = [Fault(429), Fault(529), None]
    result = bench.run(retries=2)
    assert result.funnel.lost == {}
    assert len(bench.server.messages) == 2 + 14 + 14


def test_a_critic_that_cannot_be_reached_leaves_the_questions_for_the_next_run(bench: Bench) -> None:
    bench.server.fault_for = lambda body: (
        Fault(500) if "verdicts" in json.dumps(body) and "oil leak" in json.dumps(body) else None
    )
    result = bench.run()
    assert set(result.funnel.dropped) == {"critic-server-error"}
    bench.server.fault_for = lambda _: None
    asked = len(bench.server.messages)
    assert bench.run().funnel.kept == 14
    assert len(bench.server.messages) - asked == result.funnel.dropped["critic-server-error"]


def test_a_service_that_is_down_stops_the_run_and_keeps_what_came(bench: Bench) -> None:
    bench.server.faults = [None, None, *[Fault(529)] * 40]
    with pytest.raises(CannotMeasureError, match=f"{GIVE_UP_AFTER} times in a row") as caught:
        bench.run(wave=14)
    assert caught.value.exit_code == 3
    assert len(bench.server.messages) == 2 + GIVE_UP_AFTER
    bench.server.faults = []
    assert bench.run().funnel.kept == 14
    assert bench.server.paid_output == bench.paid_in_ledger()


@pytest.mark.parametrize(("key", "code"), [("wrong", "generate.refused"), ("", "generate.no-key")])
def test_without_a_good_key_there_is_one_clear_error(bench: Bench, monkeypatch, key: str, code: str) -> None:
    for name in list(os.environ):
        if name.startswith("ANTHROPIC_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(bench.folder))
    client_for.cache_clear()
    if key:
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    with pytest.raises(ConfigError) as caught:
        bench.run()
    client_for.cache_clear()
    assert caught.value.code == code
    assert caught.value.hint


def test_max_cost_is_a_hard_stop_that_can_be_raised(bench: Bench) -> None:
    result = bench.run(limit=0.004)
    assert bench.budget.stopped
    assert 0 < bench.budget.spent <= 0.004
    assert sum(result.funnel.lost.values()) + sum(result.funnel.dropped.values()) > 0
    assert set(result.funnel.lost) | set(result.funnel.dropped) <= {"over-budget", "critic-over-budget"}
    assert bench.run().funnel.kept == 14
    assert bench.server.paid_output == bench.paid_in_ledger()


def test_max_cost_holds_for_batches(bench: Bench) -> None:
    bench.run(batch=True, limit=0.006)
    assert bench.budget.stopped
    assert bench.budget.spent <= 0.006


def test_expired_and_failed_batch_items_are_sent_again_and_good_ones_kept(bench: Bench) -> None:
    bench.server.item_faults[1] = [Fault("expired"), Fault("errored", "overloaded_error"), Fault("errored")]
    result = bench.run(batch=True)
    assert result.funnel.kept == 14
    assert len(bench.server.batches) == 3
    assert len(bench.server.batches["msgbatch_2"].items) == 3


def test_batch_items_beyond_help_are_counted(bench: Bench) -> None:
    bench.server.item_faults[1] = [
        Fault("errored", "invalid_request_error"),
        Fault("canceled"),
        Fault("refusal"),
    ]
    result = bench.run(batch=True)
    assert result.funnel.lost == {"rejected": 1, "canceled": 1, "refusal": 1}
    assert result.funnel.kept == 11


def test_items_that_always_expire_are_sent_three_times(bench: Bench) -> None:
    for number in (1, 2, 3):
        bench.server.item_faults[number] = [Fault("expired")]
    result = bench.run(batch=True)
    assert result.funnel.lost == {"expired": 1}
    assert len(bench.server.batches["msgbatch_3"].items) == 1


def test_a_batch_whose_id_never_arrived_is_found_again(bench: Bench) -> None:
    bench.server.lose_next_batch_reply = True
    with pytest.raises(CannotMeasureError):
        bench.run(batch=True)
    bench.server.lose_next_batch_reply = False
    assert bench.run(batch=True).funnel.kept == 14
    assert len(bench.server.batches) == 2, "the first one was adopted, only the critic's is new"
    assert bench.server.paid_output == bench.paid_in_ledger()


def test_a_batch_that_cannot_be_made_changes_nothing(bench: Bench) -> None:
    bench.server.faults = [Fault(529)]
    with pytest.raises(CannotMeasureError):
        bench.run(batch=True)
    assert bench.run(batch=True).funnel.kept == 14


SCRIPT = """
import sys
from pathlib import Path
from rageval_action.golden.generate.batches import Batched
from rageval_action.golden.generate.budget import Budget
from rageval_action.golden.generate.client import Interactive, connect
from rageval_action.golden.generate.ledger import Ledger
from rageval_action.golden.generate.question_plan import Settings, make_plan
from rageval_action.golden.generate.prices import PRICES
from rageval_action.golden.generate.generation import Generation
from rageval_action.golden.canonical_file import RowFile
from tests.fakes.question_corpus import chunks
url, folder, batch = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "batch"
budget, settings = Budget(0, PRICES, batch=batch), Settings(questions=14, per_chunk=1)
ledger, client = Ledger(folder / "ledger.jsonl"), connect(url, retries=0)
asker = Batched(client, ledger, budget, poll_s=0.05) if batch else Interactive(client, ledger, budget, workers=1)
plan = make_plan(chunks(), settings)
Generation(chunks(), settings, asker, RowFile.open_or_new(folder / "golden.jsonl"), wave=99 if batch else 1).run(plan)
"""


def start(bench: Bench, mode: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, bench.server.url, str(bench.folder), mode], env=environment, cwd=ROOT
    )


def wait_for(what, process: subprocess.Popen[bytes]) -> None:
    for _ in range(6000):
        if what():
            return
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.05)
    raise AssertionError("it never came so far")


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_where_it_was(bench: Bench) -> None:
    bench.server.fault_for = lambda _: Fault("hang", "30") if len(bench.server.messages) > 12 else None
    process = start(bench, "one-by-one")
    wait_for(lambda: len(bench.server.messages) > 12, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    bench.server.fault_for = lambda _: None
    rows = len(bench.rows())
    assert rows == 6
    with (bench.folder / "ledger.jsonl").open("ab") as file:
        file.write(b'{"kind": "answer", "key": "half a li')
    asked = len(bench.server.messages)
    result = bench.run()
    assert (result.funnel.kept, result.funnel.written_before) == (14, rows)
    assert len(bench.server.messages) - asked == 28 - 12, (
        "what was answered before the kill is not asked again"
    )
    assert bench.server.paid_output == bench.paid_in_ledger()
    assert len({row["id"] for row in bench.rows()}) == len(bench.rows()) == 14


@pytest.mark.slow
def test_killed_while_a_batch_is_under_way_it_collects_that_batch(bench: Bench) -> None:
    bench.server.looks_before_end = 10_000
    process = start(bench, "batch")
    wait_for(
        lambda: bench.server.batches and b'"kind":"batch"' in (bench.folder / "ledger.jsonl").read_bytes(),
        process,
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    bench.server.batches["msgbatch_1"].looks_left = 1
    bench.server.looks_before_end = 1
    assert bench.run(batch=True).funnel.kept == 14
    assert len(bench.server.batches) == 2
    assert bench.server.paid_output == bench.paid_in_ledger()


def test_existing_questions_are_not_repeated(bench: Bench) -> None:
    result = bench.run(existing=["What happens after an oil leak??", "unrelated"])
    assert result.funnel.dropped == {"near-duplicate": 1}


def test_an_encoder_finds_repeats_by_meaning(bench: Bench) -> None:
    import numpy as np

    def encode(texts: list[str]) -> np.ndarray:
        return np.array(
            [
                [1.0, 0.0] if "pet" in text or "wash" in text else [0.0, hash(text) % 7 + 1.0]
                for text in texts
            ],
            dtype=np.float32,
        )

    result = bench.run(encode=encode)
    assert result.funnel.dropped["near-duplicate"] >= 1
