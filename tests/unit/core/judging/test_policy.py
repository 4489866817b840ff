"""The policy as written: what it means, what is refused and where."""

from __future__ import annotations

import datetime
import math
from typing import Any

import msgspec
import pytest

from rageval_action.core.judging.policy import (
    DropGate,
    FloorGate,
    Gate,
    KeepGate,
    LatencyGate,
    Policy,
    Waiver,
    default_gates,
    measures_of,
    parse_policy,
    plain,
    plain_gate,
    slices_of,
)
from rageval_action.errors import ConfigError

FULL = """
gates:
  - {measure: recall@5, max_drop: 0.02}
  - {measure: MRR, max_drop: 0.02, rule: significant}
  - {measure: recall@5, slice: "tag:exact-term", max_drop: 0.05, rule: non-inferior}
  - {measure: recall@5, min: 0.80}
  - {measure: ndcg@10, min: 0.5, slice: "lang:zh-TW"}
  - {tag: critical, measure: success@5, must_not_lose: true}
  - {latency: total, quantile: p50, max_ratio: 1.5, floor_ms: 20}
  - {latency: embed, max_ratio: 2}
waivers:
  - {measure: recall@5, slice: "tag:legacy", max_drop: 0.10, until: 2027-01-31, owner: ana, reason: "moving"}
fail-on: inconclusive
max-errors: 0.25
k: 7
cutoff: chunks
"""

POLICY = Policy(
    gates=(
        DropGate(measure="recall@5", max_drop=0.02),
        DropGate(measure="mrr", max_drop=0.02, rule="significant"),
        DropGate(measure="recall@5", max_drop=0.05, rule="non-inferior", slice="tag:exact-term"),
        FloorGate(measure="recall@5", min=0.8),
        FloorGate(measure="ndcg@10", min=0.5, slice="lang:zh-TW"),
        KeepGate(tag="critical", measure="hit@5"),
        LatencyGate(stage="total", quantile="p50", max_ratio=1.5, floor_ms=20.0),
        LatencyGate(stage="embed", quantile="p50", max_ratio=2.0, floor_ms=0.0),
    ),
    waivers=(
        Waiver(
            measure="recall@5",
            slice="tag:legacy",
            max_drop=0.1,
            until=datetime.date(2027, 1, 31),
            owner="ana",
            reason="moving",
        ),
    ),
    fail_on="inconclusive",
    k=7,
    max_errors=0.25,
    cutoff="chunks",
)


def raw() -> dict[str, Any]:
    import yaml

    values: dict[str, Any] = yaml.safe_load(FULL)
    return values


def error(**values: object) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse_policy({name.replace("_", "-"): value for name, value in values.items()}, where="rageval.yml")
    return caught.value


def says(found: ConfigError, text: str) -> bool:
    """The message is this text; one that ends in … is longer (a library's words follow)."""
    if text.endswith("…"):
        return found.message.startswith(text[:-1]) and found.message.endswith(".")
    return found.message == f"{text}."


def test_the_whole_of_it() -> None:
    assert parse_policy(raw(), where="rageval.yml") == POLICY


def test_nothing_written() -> None:
    assert parse_policy({}, where="x") == Policy(gates=(DropGate(measure="recall@5", max_drop=0.02),))
    assert parse_policy({"k": 3}, where="x").gates == default_gates(3)
    assert default_gates(3) == (DropGate(measure="recall@3", max_drop=0.02, rule="clear", slice=""),)


def test_k_counts_documents_or_chunks() -> None:
    assert parse_policy({}, where="x").cutoff == "documents"
    assert error(cutoff="passages").code == "config.bad-policy"


def test_no_gates_at_all_is_a_choice() -> None:
    assert parse_policy({"gates": []}, where="x").gates == ()


def test_plain_values_are_read_back() -> None:
    for policy in (
        POLICY,
        parse_policy({}, where="x"),
        parse_policy({"gates": [], "fail-on": "never"}, where="x"),
    ):
        assert parse_policy(plain(policy), where="record") == policy
        through_json = msgspec.json.decode(msgspec.json.encode(plain(policy)))
        assert parse_policy(through_json, where="record") == policy


@pytest.mark.parametrize(
    ("gate", "written"),
    [
        (POLICY.gates[0], {"measure": "recall@5", "max_drop": 0.02, "rule": "clear"}),
        (
            POLICY.gates[2],
            {"measure": "recall@5", "max_drop": 0.05, "rule": "non-inferior", "slice": "tag:exact-term"},
        ),
        (POLICY.gates[3], {"measure": "recall@5", "min": 0.8}),
        (POLICY.gates[5], {"tag": "critical", "measure": "hit@5", "must_not_lose": True}),
        (POLICY.gates[6], {"latency": "total", "quantile": "p50", "max_ratio": 1.5, "floor_ms": 20.0}),
    ],
)
def test_a_gate_as_written(gate: Gate, written: dict[str, object]) -> None:
    assert plain_gate(gate) == written


def test_measures_that_gates_need() -> None:
    assert measures_of(POLICY) == ("recall@5", "mrr", "ndcg@10", "hit@5")


def test_slices_that_gates_and_waivers_name() -> None:
    assert slices_of(POLICY) == ("tag:exact-term", "lang:zh-TW", "tag:critical", "tag:legacy")


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0])
@pytest.mark.parametrize("field", ["min", "max_drop"])
def test_borders_of_a_share(field: str, value: float) -> None:
    (gate,) = parse_policy({"gates": [{"measure": "mrr", field: value}]}, where="x").gates
    assert getattr(gate, field) == value


@pytest.mark.parametrize("share", [0, 1, 0.5])
def test_borders_of_max_errors(share: float) -> None:
    assert parse_policy({"max-errors": share}, where="x").max_errors == share


def test_k_may_be_1() -> None:
    assert parse_policy({"k": 1}, where="x").k == 1


FIELDS = (
    "measure", "max_drop", "rule", "slice", "min", "tag", "must_not_lose", "latency", "quantile", "max_ratio",
    "floor_ms",
)  # fmt: skip

GATES: list[tuple[object, str]] = [
    ("recall@5", '"recall@5" is not a mapping of fields to values'),
    ({}, "a gate has exactly one of max_drop, min, must_not_lose, latency; this one has none"),
    (
        {"measure": "mrr"},
        "a gate has exactly one of max_drop, min, must_not_lose, latency; this one has none",
    ),
    (
        {"measure": "mrr", "min": 0.5, "max_drop": 0.1},
        "a gate has exactly one of max_drop, min, must_not_lose, latency; this one has max_drop, min",
    ),
    ({"measure": "mrr", "min": 0.5, "rule": "observed"}, "rule does not go with min"),
    (
        {"measure": "mrr", "max_drop": 0.1, "tag": "x", "quantile": "p50"},
        "quantile, tag does not go with max_drop",
    ),
    ({"latency": "total", "max_ratio": 2, "measure": "mrr"}, "measure does not go with latency"),
    (
        {"tag": "x", "measure": "mrr", "must_not_lose": True, "slice": "tag:x"},
        "slice does not go with must_not_lose",
    ),
    ({"measure": "mrr", "max_drops": 0.1}, 'there is no field "max_drops" (did you mean max_drop?)'),
    ({"measure": "mrr", "max_drop": "2 %"}, 'max_drop is "2 %", not a number'),
    ({"measure": "mrr", "max_drop": 2}, "max_drop is 2.0, outside 0 to 1 (two points are 0.02)"),
    ({"measure": "mrr", "max_drop": -0.01}, "max_drop is -0.01, outside 0 to 1 (two points are 0.02)"),
    ({"measure": "mrr", "max_drop": math.nan}, "max_drop is nan, outside 0 to 1 (two points are 0.02)"),
    ({"measure": "mrr", "min": 80}, "min is 80.0, outside 0 to 1 (two points are 0.02)"),
    ({"measure": "mrr", "min": -1}, "min is -1.0, outside 0 to 1 (two points are 0.02)"),
    ({"measure": "mrr", "min": math.inf}, "min is inf, outside 0 to 1 (two points are 0.02)"),
    ({"max_drop": 0.1}, "measure is missing"),
    ({"min": 0.1}, "measure is missing"),
    ({"must_not_lose": True, "tag": "x"}, "measure is missing"),
    (
        {"measure": "mrr", "max_drop": 0.1, "rule": "strict"},
        'rule is "strict", none of clear, observed, significant, non-inferior',
    ),
    ({"measure": "mrr", "must_not_lose": True}, "must_not_lose needs a tag and is true or left out"),
    (
        {"measure": "mrr", "tag": "x", "must_not_lose": False},
        "must_not_lose needs a tag and is true or left out",
    ),
    (
        {"measure": "mrr", "min": 0.1, "slice": "critical"},
        'slice is "critical", not one of tag:…, type:…, lang:…, source:…, principal:…',
    ),
    (
        {"measure": "mrr", "min": 0.1, "slice": "tag:"},
        'slice is "tag:", not one of tag:…, type:…, lang:…, source:…, principal:…',
    ),
    (
        {"measure": "mrr", "max_drop": 0.1, "slice": "group:x"},
        'slice is "group:x", not one of tag:…, type:…, lang:…, source:…, principal:…',
    ),
    (
        {"measure": "mrr", "must_not_lose": "yes", "tag": "x"},
        'must_not_lose is "yes", neither true nor false',
    ),
    (
        {"zzz": 1},
        f'there is no field "zzz" (there are {", ".join(FIELDS)})',
    ),
    ({"latency": "total"}, "a latency gate needs max_ratio above 0"),
    ({"latency": "total", "max_ratio": 0}, "a latency gate needs max_ratio above 0"),
    ({"latency": "total", "max_ratio": -1}, "a latency gate needs max_ratio above 0"),
    ({"latency": "total", "max_ratio": math.nan}, "a latency gate needs max_ratio above 0"),
    ({"latency": "total", "max_ratio": math.inf}, "a latency gate needs max_ratio above 0"),
    ({"latency": "total", "max_ratio": 2, "floor_ms": -1}, "floor_ms is -1.0, not a time"),
    ({"latency": "total", "max_ratio": 2, "floor_ms": math.inf}, "floor_ms is inf, not a time"),
    ({"latency": "network", "max_ratio": 2}, 'latency is "network", none of embed, retrieve, rerank, total'),
    ({"latency": "total", "quantile": "p99", "max_ratio": 2}, 'quantile is "p99", none of p50, p95'),
]


@pytest.mark.parametrize(("gate", "text"), GATES)
def test_a_bad_gate_names_its_entry(gate: object, text: str) -> None:
    found = error(gates=[{"measure": "mrr", "min": 0.1}, gate])
    assert (found.code, found.where) == ("config.bad-gate", "rageval.yml: gates[1]")
    assert says(found, text)
    assert found.hint == "Example: {measure: recall@5, max_drop: 0.02}."


@pytest.mark.parametrize(
    ("measure", "code"), [("recal@5", "config.unknown-measure"), ("recall", "config.bad-cutoff")]
)
def test_a_bad_measure_names_its_entry(measure: str, code: str) -> None:
    found = error(gates=[{"measure": measure, "min": 0.1}])
    assert (found.code, found.where) == (code, "rageval.yml: gates[0]")
    assert found.hint
    waiver = {"measure": measure, "max_drop": 0.1, "until": "2027-01-31", "owner": "a", "reason": "b"}
    found = error(waivers=[waiver])
    assert (found.code, found.where) == (code, "rageval.yml: waivers[0]")
    assert found.hint


WAIVER = {"measure": "mrr", "max_drop": 0.1, "until": "2027-01-31", "owner": "ana", "reason": "moving"}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"until": "soon"}, 'until is "soon", not a date of the form 2027-01-31'),
        ({"until": None}, "until is missing"),
        ({"until": "2027-02-30"}, 'until is "2027-02-30", not a date of the form 2027-01-31'),
        ({"until": "2027-1-3"}, 'until is "2027-1-3", not a date of the form 2027-01-31'),
        ({"until": datetime.datetime(2027, 1, 31, 9)}, "until is 2027-01-31 09:00:00, not a date"),  # noqa: DTZ001
        ({"until": 2027}, "until is 2027, not a date"),
        ({"max_drop": True}, "max_drop is true, not a number"),
        ({"owner": 7}, "owner is 7, not text"),
        ({"owner": " "}, "owner and reason may not be empty"),
        ({"reason": ""}, "owner and reason may not be empty"),
        ({"max_drop": 1.5}, "max_drop is 1.5, outside 0 to 1 (two points are 0.02)"),
        ({"max_drop": math.nan}, "max_drop is nan, outside 0 to 1 (two points are 0.02)"),
        ({"slice": "legacy"}, 'slice is "legacy", not one of tag:…, type:…, lang:…, source:…, principal:…'),
        ({"untill": "2027-01-31"}, 'there is no field "untill" (did you mean until?)'),
    ],
)
def test_a_bad_waiver_names_its_entry(change: dict[str, object], text: str) -> None:
    found = error(waivers=[WAIVER, {**WAIVER, **change}])
    assert (found.code, found.where) == ("config.bad-waiver", "rageval.yml: waivers[1]")
    assert says(found, text)
    assert found.hint == "A waiver names measure, max_drop, until (a date), owner and reason."


@pytest.mark.parametrize("field", ["measure", "max_drop", "until", "owner", "reason"])
def test_a_waiver_is_complete(field: str) -> None:
    values = {name: value for name, value in WAIVER.items() if name != field}
    assert error(waivers=[values]).message == f"{field} is missing."


def test_a_waiver_names_its_measure_canonically() -> None:
    policy = parse_policy({"waivers": [{**WAIVER, "measure": "RR"}]}, where="x")
    assert policy.waivers[0].measure == "mrr"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": -1}, "k is -1"),
        ({"k": "5"}, 'k is "5", not a whole number'),
        ({"k": 1.5}, "k is 1.5, not a whole number"),
        ({"max_errors": 1.01}, "max-errors is a share between 0 and 1"),
        ({"max_errors": -0.01}, "max-errors is a share between 0 and 1"),
        ({"max_errors": math.nan}, "max-errors is a share between 0 and 1"),
        ({"max_errors": "10 %"}, 'max-errors is "10 %", not a number'),
        ({"fail_on": "always"}, 'fail-on is "always", none of fail, inconclusive, never'),
        ({"fail_on": True}, "fail-on is true, none of fail, inconclusive, never"),
        ({"gates": {"measure": "mrr"}}, "gates is {'measure': 'mrr'}, not a list"),
        ({"waivers": "none"}, 'waivers is "none", not a list'),
    ],
)
def test_a_bad_policy_is_refused(values: dict[str, object], text: str) -> None:
    found = error(**values)
    assert (found.code, found.where) == ("config.bad-policy", "rageval.yml")
    assert found.hint == ("Give the number of documents you use." if text in {"k is 0", "k is -1"} else "")
    assert says(found, text)


def test_a_waiver_covers_one_measure_and_slice() -> None:
    (waiver,) = POLICY.waivers
    assert waiver.covers(DropGate(measure="recall@5", slice="tag:legacy", max_drop=0.02))
    assert not waiver.covers(DropGate(measure="recall@5", max_drop=0.02))
    assert not waiver.covers(DropGate(measure="mrr", slice="tag:legacy", max_drop=0.02))


@pytest.mark.parametrize(
    "part", ["tag:a", "type:lookup", "lang:en", "source:human", "principal:u-7", "tag:a:b"]
)
def test_slices_that_are_known(part: str) -> None:
    (gate,) = parse_policy({"gates": [{"measure": "mrr", "min": 0.1, "slice": part}]}, where="x").gates
    assert gate == FloorGate(measure="mrr", min=0.1, slice=part)


def test_what_a_latency_gate_is_by_default() -> None:
    assert LatencyGate(stage="embed", max_ratio=0.5) == LatencyGate(
        stage="embed", quantile="p50", max_ratio=0.5, floor_ms=0.0
    )
    (gate,) = parse_policy({"gates": [{"latency": "embed", "max_ratio": 0.5}]}, where="x").gates
    assert gate == LatencyGate(stage="embed", max_ratio=0.5)
