"""Everything that a report has to be able to say, as small synthetic comparisons with fixed numbers."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rageval_action import pipeline
from rageval_action.core.judging.document import ComparisonDocument
from rageval_action.core.judging.outcomes import BaselineUnknown, NoBaseline
from rageval_action.core.judging.policy import Policy, parse_policy
from rageval_action.core.judging.verdict import Override
from rageval_action.core.model.record import GitInfo, Mean, Quantiles, QueryRow, RunRecord
from rageval_action.core.model.types import Chunk, Grades, Notice, Unanswerable
from tests.synthetic_runs import FILLERS, NOW, TODAY, amended, plain_chunks, row, run

BASE, HEAD = "b" * 39 + "1", "c" * 39 + "2"
MEASURES = ("recall@1", "recall@3", "recall@5", "recall@10", "hit@5", "mrr", "ndcg@10")
TEXTS = (
    "how do I rotate the vpn certificate",
    "error 9002 transaction log full",
    "who approves a firewall change",
    "請問請假要怎麼申請",
    "is the canteen open on friday",
)


class Situation(Struct, frozen=True, kw_only=True):
    """A judged comparison and both records; `before` is None without a baseline."""

    document: ComparisonDocument
    after: RunRecord
    before: RunRecord | None


def record(ranks: Sequence[int], *, tagged: bool = True, part: str = "", **more: Any) -> RunRecord:
    """Query i should find `doc-i` (or its chunk `part`), which stands at `ranks[i]` among fillers (0 = nowhere)."""
    corpus = plain_chunks([*FILLERS, *(f"doc-{number}" for number in range(len(ranks)))])
    rows = [_row(number, rank, corpus, tagged=tagged, part=part) for number, rank in enumerate(ranks)]
    return _run(rows, corpus, **more)


def _row(number: int, rank: int, corpus: Sequence[Chunk], *, tagged: bool, part: str = "") -> QueryRow:
    names = list(FILLERS)
    if rank:
        names.insert(rank - 1, f"doc-{number}")
    tags = ("exact-term",) if number % 4 == 1 else ("how-to", "critical") if number % 10 == 0 else ("how-to",)
    return row(
        f"q{number:03}",
        names,
        [f"doc-{number}{part}"],
        corpus,
        query=f"{TEXTS[number % len(TEXTS)]} ({number})",
        line=number + 1,
        tags=tags if tagged else (),
        lang="zh-Hant" if number % 5 == 3 else "en",
    )


def _run(rows: Sequence[QueryRow], corpus: Sequence[Chunk], **more: Any) -> RunRecord:
    more = {
        "measures": MEASURES,
        "git": GitInfo(sha=HEAD, ref="refs/pull/7/merge", event="pull_request"),
        "run_id": "candidate-run",
        "path": "eval/golden.jsonl",
        **more,
    }
    made = run(rows, corpus, **more)
    snapshot = replace(made.record.snapshot, path="eval/index")
    golden = replace(made.record.golden, path="eval/golden.jsonl")
    return replace(made, record=replace(made.record, snapshot=snapshot, golden=golden))


def by_document(made: RunRecord, found: float) -> RunRecord:
    """The same with what it scores when judged by document."""
    scores = {name: Mean(mean=found, n=mean.n) for name, mean in made.record.measures.items()}
    return amended(made, unit_measures={"document": scores})


def old(made: RunRecord, **more: Any) -> RunRecord:
    """The same run as a baseline: recorded on the base commit two days before."""
    return amended(
        made,
        **{
            "git": GitInfo(sha=BASE, ref="refs/heads/main", event="push"),
            "run_id": "baseline-run",
            "created_at": NOW - datetime.timedelta(days=2),
            **more,
        },
    )


def judged(
    before: RunRecord | NoBaseline | BaselineUnknown,
    after: RunRecord,
    policy: Mapping[str, object] | None = None,
    *,
    override: Override | None = None,
    notices: Sequence[Notice] = (),
    distance: int | None = None,
) -> Situation:
    """Compare and judge as the Action does."""
    rules: Policy = parse_policy(policy or {}, where="rageval.yml")
    rung = "ancestor" if distance else "exact"
    against = (
        pipeline.Baseline(record=before, rung=rung, distance=distance)
        if isinstance(before, RunRecord)
        else before
    )
    document = pipeline.conclude(after, against, rules, today=TODAY, override=override)
    document = replace(document, warnings=(*notices, *document.warnings))
    return Situation(document=document, after=after, before=before if isinstance(before, RunRecord) else None)


GOOD = [1, 2, 1, 3, 1, 1, 2, 4, 1, 5, 0, 12] * 5
"""Sixty queries, most of them answered in the top five."""


def lowered(ranks: Sequence[int], places: Sequence[int], rank: int) -> list[int]:
    """The same ranks with those at `places` moved to `rank`."""
    return [rank if place in places else old_rank for place, old_rank in enumerate(ranks)]


def unchanged() -> Situation:
    """Nothing changed at all."""
    return judged(old(record(GOOD)), record(GOOD))


def better() -> Situation:
    """Many queries come up; nothing else changed but the model."""
    after = lowered(GOOD, [place for place, rank in enumerate(GOOD) if rank in (0, 12)], 2)
    return judged(old(record(GOOD), model="mini"), record(after, model="midi", revision="7"))


def drop() -> Situation:
    """Recall falls beyond what is allowed, most of all for exact terms."""
    after = lowered(GOOD, range(1, 40, 4), 9)
    return judged(old(record(GOOD)), record(after, chunker="split 1200"))


def right_documents() -> Situation:
    before, after = (
        record(ranks, part="#0", unit="chunk") for ranks in (GOOD, lowered(GOOD, (0, 2, 5, 8, 13), 9))
    )
    return judged(by_document(old(before), 0.9), by_document(after, 0.8984))


def inconclusive() -> Situation:
    """A drop that chance could explain, under a rule that asks for more."""
    after = lowered(lowered(GOOD, [1, 5, 9, 13], 8), [10, 11], 3)
    policy = {"gates": [{"measure": "recall@5", "max_drop": 0.02, "rule": "significant"}]}
    return judged(old(record(GOOD)), record(after), policy, distance=3)


def first_run() -> Situation:
    """No baseline yet."""
    return judged(NoBaseline("no run on the base branch has left a record yet"), record(GOOD))


def below_floor() -> Situation:
    """No baseline, but a floor that does not hold."""
    policy = {"gates": [{"measure": "recall@5", "max_drop": 0.02}, {"measure": "recall@5", "min": 0.95}]}
    return judged(NoBaseline("no run on the base branch has left a record yet"), record(GOOD), policy)


def outage() -> Situation:
    """Whether there is a baseline could not be found out."""
    return judged(BaselineUnknown("the list of artifacts answered 502 four times"), record(GOOD))


def broken_retriever() -> Situation:
    """Too many queries failed to measure anything."""
    made = record(GOOD)
    failed = {f"q{number:03}" for number in range(9)}
    corpus = plain_chunks([*FILLERS, *(f"doc-{number}" for number in range(len(GOOD)))])
    rows = [
        replace(one, results=(), error="timed out after 10 s", misses=()) if one.query_id in failed else one
        for one in made.queries
    ]
    return judged(old(made), _run(rows, corpus))


def accepted() -> Situation:
    """A drop that somebody has accepted."""
    override = Override(
        by="maria", reason="old manuals were retired on purpose", sha=HEAD, at="2031-05-04T12:30:00Z"
    )
    after = lowered(GOOD, range(1, 40, 4), 9)
    return judged(old(record(GOOD)), record(after), override=override)


def policy_changed() -> Situation:
    """The pull request edits the gates; it is judged by the old ones."""
    text = "rageval.yml changes the gates: recall@5 max_drop 0.02 → 0.20. This run is judged by those of the base branch"
    after = lowered(GOOD, range(1, 40, 4), 9)
    return judged(old(record(GOOD)), record(after), notices=[Notice(code="policy.changed", text=text)])


def only_labels() -> Situation:
    """Rankings are the same; the golden set is not, and the old labels say so."""
    made = record(GOOD)
    corpus = plain_chunks([*FILLERS, *(f"doc-{number}" for number in range(len(GOOD)))])
    rows = [
        replace(one, judgments=Grades({"f1": 1}), misses=()) if place % 6 in (4, 5) and place > 20 else one
        for place, one in enumerate(made.queries)
    ]
    return judged(old(made), _run(rows, corpus))


def labels_decide() -> Situation:
    """Queries got worse, and the same pull request labels what they find now as relevant."""
    ranks = lowered(GOOD, range(1, 40, 4), 9)
    made = record(ranks)
    corpus = plain_chunks([*FILLERS, *(f"doc-{number}" for number in range(len(GOOD)))])
    rows = [
        replace(one, judgments=Grades({"f1": 1, f"doc-{place}": 0}), misses=()) if ranks[place] == 9 else one
        for place, one in enumerate(made.queries)
    ]
    return judged(old(record(GOOD)), _run(rows, corpus))


def golden_grew() -> Situation:
    """Queries came, went and were reworded."""
    before, after = record(GOOD), record([*GOOD, 1, 1, 0])
    corpus = plain_chunks([*FILLERS, *(f"doc-{number}" for number in range(len(GOOD) + 3))])
    reworded = row("q004", FILLERS, ["doc-4"], corpus, query="opening hours of the canteen", line=5)
    rows = [reworded if one.query_id == "q004" else one for one in after.queries if one.query_id != "q007"]
    asked = [one for one in after.queries if one.query_id in ("q004", "q007")]
    return judged(old(before), _run(rows, corpus, asked_for_base=asked))


def _cut_up(size: int) -> tuple[Chunk, ...]:
    """Ten manuals, cut into pieces of `size` characters."""
    text = {
        number: " ".join(
            f"sentence {place} of manual {number} on subject {place * number}." for place in range(30)
        )
        for number in range(10)
    }
    return tuple(
        Chunk(
            id=f"manual-{number}#{start}-{start + size}",
            doc=f"manual-{number}",
            text=whole[start : start + size],
            start=start,
            end=start + size,
        )
        for number, whole in text.items()
        for start in range(0, len(whole), size)
    )


def rechunked() -> Situation:
    """Other chunks, other ids: labels that name chunks measure nothing any more."""

    def made(size: int) -> RunRecord:
        corpus = _cut_up(size)
        every = [chunk.id for chunk in corpus]
        rows = []
        for number in range(24):
            start = 200 * (1 + number // 10)
            wanted = f"manual-{number % 10}#{start}-{start + 200}"
            names = [wanted, *(name for name in every if name != wanted)] if wanted in every else every
            rows.append(row(f"q{number:03}", names[:30], [wanted], corpus, line=number + 1))
        return _run(rows, corpus, unit="chunk", chunker=f"split {size}")

    return judged(old(made(200)), made(500))


def slower() -> Situation:
    """Scores are the same, searching takes three times as long."""

    def timed(p50: float) -> dict[str, Quantiles]:
        return {
            "embed": Quantiles(p50=4.2, p95=9.5, n=30),
            "retrieve": Quantiles(p50=p50, p95=3 * p50, n=30),
            "total": Quantiles(p50=p50 + 4.2, p95=3 * p50 + 9.5, n=30),
        }

    machine = {"cpus": 4, "machine": "x86_64"}
    policy = {
        "gates": [
            {"measure": "recall@5", "max_drop": 0.02},
            {"latency": "total", "quantile": "p50", "max_ratio": 1.5, "floor_ms": 20},
        ]
    }
    before = old(
        record(GOOD, latency_ms=timed(31.0), hardware=machine), created_at=NOW - datetime.timedelta(minutes=3)
    )
    return judged(before, record(GOOD, latency_ms=timed(96.4), hardware=machine), policy)


def leak() -> Situation:
    """Averages are the same, but two hits should not have been shown."""
    made = record(GOOD)
    corpus = plain_chunks([*FILLERS, *(f"doc-{number}" for number in range(len(GOOD)))])
    rows = [
        replace(one, results=(replace(one.results[0], acl_allowed=False), *one.results[1:]), principal="u-7")
        if one.query_id in ("q002", "q004")
        else one
        for one in made.queries
    ]
    return judged(old(made), replace_mode(_run(rows, corpus)))


def replace_mode(made: RunRecord) -> RunRecord:
    """The same run, judged as returned instead of filtered."""
    return RunRecord(record=replace(made.record, acl_mode="audit"), queries=made.queries, corpus=made.corpus)


def no_answers() -> Situation:
    """Unanswerable queries have a track of their own."""
    corpus = plain_chunks([*FILLERS, *(f"doc-{number}" for number in range(len(GOOD)))])

    def both(scores: float) -> RunRecord:
        rows = [_row(number, rank, corpus, tagged=True) for number, rank in enumerate(GOOD)]
        rows += [
            row(
                f"n{number}",
                FILLERS,
                Unanswerable(),
                corpus,
                [scores / rank for rank in range(1, 13)],
                line=100 + number,
            )
            for number in range(8)
        ]
        return _run(rows, corpus, threshold=0.5)

    return judged(old(both(0.4)), both(0.6))


def must_not_lose() -> Situation:
    """One critical query is lost while the average is within bounds."""
    policy = {
        "gates": [
            {"measure": "recall@5", "max_drop": 0.05},
            {"tag": "critical", "measure": "hit@5", "must_not_lose": True},
        ]
    }
    return judged(old(record(GOOD)), record(lowered(GOOD, [20], 30)), policy)


def waived() -> Situation:
    """A drop that the policy excuses for a time."""
    policy = {
        "gates": [{"measure": "recall@5", "max_drop": 0.02}],
        "waivers": [
            {
                "measure": "recall@5",
                "max_drop": 0.30,
                "until": "2031-06-30",
                "owner": "ana",
                "reason": "the archive moves",
            }
        ],
    }
    return judged(old(record(GOOD)), record(lowered(GOOD, range(1, 40, 4), 9)), policy)


NASTY = (
    "]( http://evil.example ) <img src=x onerror=alert(1)> @octocat #1 `code` | cell | <!-- -->",
    "::error::boom\n\n# heading\r\n- list ##[command]",
    "</details></table><script>alert(1)</script> **bold** ~~x~~ $math$ :tada: www.evil.example",
    "\u202egnitset\u202c \u200b zero\u0000null [x](javascript:alert(1)) &lt; &#x3c; \\| \\`",
    "> [!TIP]\n> all good ``` {{ 7*7 }} {% raw %} <details open>",
)


def hostile() -> Situation:
    """Ids, texts, tags and models that try to be something else."""
    count = 24
    names = [f"{NASTY[number % len(NASTY)]} {number}" for number in range(count)]
    corpus = plain_chunks([*FILLERS, *names])

    def made(rank: int) -> RunRecord:
        rows = []
        for number, name in enumerate(names):
            ranked = list(FILLERS)
            ranked.insert(rank - 1, f"{name}#0")
            if number and rank > 5:
                ranked.insert(0, f"{names[number - 1]}#0")
            rows.append(
                row(
                    f"id {name}",
                    ranked,
                    [name],
                    corpus,
                    query=name,
                    line=number + 1,
                    tags=(NASTY[number % 2],),
                )
            )
        return _run(rows, corpus, model=NASTY[rank % 5])

    return judged(old(made(1)), made(9))


def crowd(count: int = 120, length: int = 40) -> Situation:
    """Very many lost queries with long ids in Chinese and emoji."""
    names = [f"{number:05}" + "檢索品質🔎🧭回歸測試" * (length // 10 + 1) for number in range(count)]
    names = [name[:length] for name in names]
    corpus = plain_chunks([*FILLERS, *names])

    def made(rank: int) -> RunRecord:
        rows = []
        for number, name in enumerate(names):
            ranked = list(FILLERS)
            ranked.insert(rank - 1, name)
            rows.append(
                row(
                    name,
                    ranked,
                    [name],
                    corpus,
                    query=f"{name} 在哪裡？",
                    line=number + 1,
                    tags=(f"組{number % 50}",),
                )
            )
        return _run(rows, corpus, measures=("recall@5", "mrr"))

    return judged(old(made(1)), made(9))


KEYS = frozenset({"alert", "tone", "verdict", "change", "kind"})
"""Fields that are words of ours by which templates choose; everything else may come from outside."""


def spoilt(value: Any, text: str, name: str = "") -> Any:
    """The same with every string replaced, but for those by which templates choose."""
    if isinstance(value, str):
        return value if name in KEYS else text
    if isinstance(value, tuple):
        return tuple(spoilt(one, text, name) for one in value)
    if isinstance(value, msgspec.Struct):
        fields = value.__struct_fields__
        return replace(value, **{field: spoilt(getattr(value, field), text, field) for field in fields})
    return value


SITUATIONS: dict[str, Callable[[], Situation]] = {
    "pass-unchanged": unchanged,
    "pass-better": better,
    "fail-drop": drop,
    "by-document": right_documents,
    "inconclusive": inconclusive,
    "no-baseline": first_run,
    "below-floor": below_floor,
    "baseline-unknown": outage,
    "retriever-errors": broken_retriever,
    "overridden": accepted,
    "policy-changed": policy_changed,
    "only-labels-changed": only_labels,
    "labels-decide": labels_decide,
    "golden-set-grew": golden_grew,
    "re-chunked": rechunked,
    "latency": slower,
    "acl-leak": leak,
    "no-answer": no_answers,
    "must-not-lose": must_not_lose,
    "waived": waived,
    "hostile": hostile,
    "many-lost": crowd,
}
