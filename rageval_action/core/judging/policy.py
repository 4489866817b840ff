"""The policy: gates, waivers, and the verdict they lead to (design §8). Pure: the date is a parameter."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core.measuring.measures import headline_measure, parse_measure
from rageval_action.core.wording.field_checks import Kind, check_fields, check_value
from rageval_action.errors import ConfigError

Rule: TypeAlias = Literal["observed", "significant", "non-inferior"]
FailOn: TypeAlias = Literal["fail", "inconclusive", "never"]

DEFAULT_MAX_DROP = 0.02

SLICE_KINDS = ("tag", "type", "lang", "source", "principal")
"""What a slice may be made by; its name is `KIND:VALUE`."""


class DropGate(Struct, frozen=True, kw_only=True):
    """A measure may not drop by more than `max_drop`, as `rule` judges it; `slice` empty = all queries."""

    measure: str
    max_drop: float
    rule: Rule = "observed"
    slice: str = ""


class FloorGate(Struct, frozen=True, kw_only=True):
    """A measure may not be below `min`; needs no baseline."""

    measure: str
    min: float
    slice: str = ""


class KeepGate(Struct, frozen=True, kw_only=True):
    """No query with this tag may score lower than before."""

    tag: str
    measure: str


class LatencyGate(Struct, frozen=True, kw_only=True):
    """A latency quantile may not grow beyond `max_ratio` times the baseline's, unless by less than `floor_ms`."""

    stage: Literal["embed", "retrieve", "rerank", "total"]
    quantile: Literal["p50", "p95"] = "p50"
    max_ratio: float
    floor_ms: float = 0.0


Gate: TypeAlias = DropGate | FloorGate | KeepGate | LatencyGate


class Waiver(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recorded exception: until `until` (inclusive) the gate of this measure and slice allows `max_drop`."""

    measure: str
    max_drop: float
    until: datetime.date
    owner: str
    reason: str
    slice: str = ""

    def covers(self, gate: DropGate) -> bool:
        """True when it is about this gate's measure and slice."""
        return (self.measure, self.slice) == (gate.measure, gate.slice)


class Policy(Struct, frozen=True, kw_only=True):
    """All gates.

    Attributes:
        k: the headline cutoff.
        fail_on: which verdict ends with exit code 1.
        max_errors: share of queries that may fail before nothing is measured.
    """

    gates: tuple[Gate, ...]
    waivers: tuple[Waiver, ...] = ()
    fail_on: FailOn = "fail"
    k: int = 5
    max_errors: float = 0.10


class _RawGate(Struct, frozen=True):
    """A gate as written: which fields are there says which kind it is."""

    measure: str = ""
    slice: str = ""
    tag: str = ""
    rule: Rule | None = None
    max_drop: float | None = None
    min: float | None = None
    must_not_lose: bool | None = None
    latency: Literal["embed", "retrieve", "rerank", "total"] | None = None
    quantile: Literal["p50", "p95"] | None = None
    max_ratio: float | None = None
    floor_ms: float | None = None


_GATE_KINDS: dict[str, Kind] = {
    "measure": "text",
    "slice": "text",
    "tag": "text",
    "rule": get_args(Rule),
    "max_drop": "number",
    "min": "number",
    "must_not_lose": "flag",
    "latency": ("embed", "retrieve", "rerank", "total"),
    "quantile": ("p50", "p95"),
    "max_ratio": "number",
    "floor_ms": "number",
}
_WAIVER_KINDS: dict[str, Kind] = {
    "measure": "text",
    "max_drop": "number",
    "until": "date",
    "owner": "text",
    "reason": "text",
    "slice": "text",
}

_ALLOWED: dict[str, frozenset[str]] = {
    "max_drop": frozenset({"measure", "slice", "rule", "max_drop"}),
    "min": frozenset({"measure", "slice", "min"}),
    "must_not_lose": frozenset({"tag", "measure", "must_not_lose"}),
    "latency": frozenset({"latency", "quantile", "max_ratio", "floor_ms"}),
}
"""The field that names a kind of gate -> the fields it may have."""


def default_gates(k: int) -> tuple[Gate, ...]:
    """What is judged when nobody wrote a policy: recall at k may not drop by more than two points."""
    return (DropGate(measure=headline_measure(k), max_drop=DEFAULT_MAX_DROP),)


def parse_policy(raw: Mapping[str, object], *, where: str) -> Policy:
    """A policy from the plain values of `rageval.yml` (`gates`, `waivers`, `fail-on`, `k`, `max-errors`).

    Raises:
        ConfigError: `config.bad-gate`, `config.bad-waiver`, `config.bad-policy`, or what `parse_measure` raises, each
            naming the entry.
    """
    k = _value(raw.get("k", 5), "whole number", "k", where)
    if k < 1:
        raise ConfigError(
            "config.bad-policy", f"k is {k}.", hint="Give the number of documents you use.", where=where
        )
    max_errors = float(_value(raw.get("max-errors", 0.10), "number", "max-errors", where))
    if not 0 <= max_errors <= 1:
        raise ConfigError("config.bad-policy", "max-errors is a share between 0 and 1.", where=where)
    entries = _value(raw.get("gates", []), "list", "gates", where)
    gates = tuple(_gate(entry, f"{where}: gates[{i}]") for i, entry in enumerate(entries))
    waived = _value(raw.get("waivers", []), "list", "waivers", where)
    return Policy(
        gates=gates if "gates" in raw else default_gates(k),
        waivers=tuple(_waiver(entry, f"{where}: waivers[{i}]") for i, entry in enumerate(waived)),
        fail_on=_value(raw.get("fail-on", "fail"), get_args(FailOn), "fail-on", where),
        k=k,
        max_errors=max_errors,
    )


def _value(value: object, kind: Kind, name: str, where: str) -> Any:
    try:
        check_value(name, value, kind)
    except ValueError as error:
        raise ConfigError("config.bad-policy", f"{error}.", where=where) from error
    return value


def _gate(entry: object, where: str) -> Gate:
    try:
        raw = msgspec.convert(check_fields(entry, _GATE_KINDS), _RawGate)
    except ValueError as error:
        raise ConfigError("config.bad-gate", f"{error}.", hint=_GATE_HINT, where=where) from error
    given = {name for name in raw.__struct_fields__ if getattr(raw, name) not in ("", None)}
    kinds = [kind for kind in _ALLOWED if kind in given]
    if len(kinds) != 1:
        text = f"a gate has exactly one of {', '.join(_ALLOWED)}; this one has {', '.join(kinds) or 'none'}."
        raise ConfigError("config.bad-gate", text, hint=_GATE_HINT, where=where)
    extra = given - _ALLOWED[kinds[0]]
    if extra:
        text = f"{', '.join(sorted(extra))} does not go with {kinds[0]}."
        raise ConfigError("config.bad-gate", text, hint=_GATE_HINT, where=where)
    try:
        return _build(raw, kinds[0])
    except ValueError as error:
        raise ConfigError("config.bad-gate", f"{error}.", hint=_GATE_HINT, where=where) from error
    except ConfigError as error:
        raise ConfigError(error.code, error.message, hint=error.hint, where=where) from error


_GATE_HINT = "Example: {measure: recall@5, max_drop: 0.02}."


def _build(raw: _RawGate, kind: str) -> Gate:
    if kind == "latency":
        return _latency_gate(raw)
    if not raw.measure:
        raise ValueError("measure is missing")
    measure = str(parse_measure(raw.measure))
    _check_slice(raw.slice)
    if kind == "must_not_lose":
        if not raw.tag or not raw.must_not_lose:
            raise ValueError("must_not_lose needs a tag and is true or left out")
        return KeepGate(tag=raw.tag, measure=measure)
    if raw.min is not None:
        _check_share("min", raw.min)
        return FloorGate(measure=measure, min=raw.min, slice=raw.slice)
    drop = raw.max_drop or 0.0
    _check_share("max_drop", drop)
    return DropGate(measure=measure, max_drop=drop, rule=raw.rule or "observed", slice=raw.slice)


def _latency_gate(raw: _RawGate) -> LatencyGate:
    ratio, floor = raw.max_ratio or 0.0, raw.floor_ms or 0.0
    if not (0 < ratio < math.inf):
        raise ValueError("a latency gate needs max_ratio above 0")
    if not (0 <= floor < math.inf):
        raise ValueError(f"floor_ms is {floor}, not a time")
    stage, quantile = raw.latency or "total", raw.quantile or "p50"
    return LatencyGate(stage=stage, quantile=quantile, max_ratio=ratio, floor_ms=floor)


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value}, outside 0 to 1 (two points are 0.02)")


def _check_slice(name: str) -> None:
    kind, _, value = name.partition(":")
    if name and (kind not in SLICE_KINDS or not value):
        known = ", ".join(f"{kind}:…" for kind in SLICE_KINDS)
        raise ValueError(f'slice is "{name}", not one of {known}')


def _waiver(entry: object, where: str) -> Waiver:
    try:
        fields = check_fields(entry, _WAIVER_KINDS, ("measure", "max_drop", "until", "owner", "reason"))
        waiver = msgspec.convert(fields, Waiver)
        _check_waiver(waiver)
        return replace(waiver, measure=str(parse_measure(waiver.measure)))
    except ConfigError as error:
        raise ConfigError(error.code, error.message, hint=error.hint, where=where) from error
    except ValueError as error:
        hint = "A waiver names measure, max_drop, until (a date), owner and reason."
        raise ConfigError("config.bad-waiver", f"{error}.", hint=hint, where=where) from error


def _check_waiver(waiver: Waiver) -> None:
    _check_share("max_drop", waiver.max_drop)
    _check_slice(waiver.slice)
    if not waiver.owner.strip() or not waiver.reason.strip():
        raise ValueError("owner and reason may not be empty")


def plain(policy: Policy) -> dict[str, object]:
    """The policy as the plain values of `rageval.yml`, for the record; `parse_policy` reads it back."""
    return {
        "k": policy.k,
        "fail-on": policy.fail_on,
        "max-errors": policy.max_errors,
        "gates": [plain_gate(gate) for gate in policy.gates],
        "waivers": [msgspec.to_builtins(waiver) for waiver in policy.waivers],
    }


def plain_gate(gate: Gate) -> dict[str, object]:
    """One gate as written in `rageval.yml`."""
    values: dict[str, object] = msgspec.to_builtins(gate)
    match gate:
        case KeepGate():
            values["must_not_lose"] = True
        case LatencyGate():
            values["latency"] = values.pop("stage")
        case _:
            values = {name: value for name, value in values.items() if (name, value) != ("slice", "")}
    return values


def slices_of(policy: Policy) -> tuple[str, ...]:
    """Every slice that a gate or a waiver names, once."""
    named = [
        f"tag:{gate.tag}" if isinstance(gate, KeepGate) else getattr(gate, "slice", "")
        for gate in policy.gates
    ]
    return tuple(dict.fromkeys(filter(None, [*named, *(waiver.slice for waiver in policy.waivers)])))


def measures_of(policy: Policy) -> tuple[str, ...]:
    """Every measure that a gate needs, once."""
    return tuple(dict.fromkeys(gate.measure for gate in policy.gates if not isinstance(gate, LatencyGate)))
