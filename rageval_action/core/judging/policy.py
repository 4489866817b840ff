"""The policy as written in `rageval.yml`: gates, waivers, and what ends with exit code 1.

The fields of a gate or a waiver are those of its struct: what a file may hold is read from there.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rageval_action.core.measuring.measures import headline_measure, parse_measure
from rageval_action.core.model.record import Cutoff
from rageval_action.core.statistics.drop_rules import DEFAULT_RULE, Rule
from rageval_action.core.wording.field_checks import (
    FieldKind,
    check_fields,
    check_value,
    kinds_of,
    required_of,
)
from rageval_action.errors import ConfigError

FailOn: TypeAlias = Literal["fail", "inconclusive", "never"]

DEFAULT_MAX_DROP = 0.02

SLICE_KINDS = ("tag", "type", "lang", "source", "principal")
"""What a slice may be made by; its name is `KIND:VALUE`."""


TOLERANCE = 1e-9
"""On every comparison with a limit, so that sums of fractions trip no gate."""


class DropGate(Struct, frozen=True, kw_only=True, tag_field="kind", tag="drop"):
    """A measure may not drop by more than `max_drop`, as `rule` judges it; `slice` empty = all queries."""

    measure: str
    max_drop: float
    rule: Rule = DEFAULT_RULE
    slice: str = ""


class FloorGate(Struct, frozen=True, kw_only=True, tag_field="kind", tag="floor"):
    """A measure may not be below `min`; needs no baseline."""

    measure: str
    min: float
    slice: str = ""


class KeepGate(Struct, frozen=True, kw_only=True, tag_field="kind", tag="keep"):
    """No query with this tag may score lower than before."""

    tag: str
    measure: str
    must_not_lose: bool = True


class LatencyGate(
    Struct, frozen=True, kw_only=True, tag_field="kind", tag="latency", rename={"stage": "latency"}
):
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
    cutoff: Cutoff = "documents"

    def tolerates(self, errors: int, queries: int) -> bool:
        """True when so many failed queries of all leave a measurement."""
        return errors / queries <= self.max_errors + TOLERANCE


GATES: dict[str, type[Gate]] = {
    "max_drop": DropGate,
    "min": FloorGate,
    "must_not_lose": KeepGate,
    "latency": LatencyGate,
}
"""The field that names a kind of gate -> the kind."""


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
        cutoff=_value(raw.get("cutoff", "documents"), get_args(Cutoff), "cutoff", where),
    )


def _value(value: object, kind: FieldKind, name: str, where: str) -> Any:
    try:
        check_value(name, value, kind)
    except ValueError as error:
        raise ConfigError("config.bad-policy", f"{error}.", where=where) from error
    return value


def _gate(entry: object, where: str) -> Gate:
    try:
        return _gate_of(entry)
    except ConfigError as error:
        raise ConfigError(error.code, error.message, hint=error.hint, where=where) from error
    except ValueError as error:
        hint = "Example: {measure: recall@5, max_drop: 0.02}."
        raise ConfigError("config.bad-gate", f"{error}.", hint=hint, where=where) from error


def _gate_of(entry: object) -> Gate:
    known: dict[str, FieldKind] = {}
    for one in GATES.values():
        known.update(kinds_of(one))
    given = {name: value for name, value in check_fields(entry, known).items() if value != ""}
    named = [field for field in GATES if field in given]
    if len(named) != 1:
        raise ValueError(
            f"a gate has exactly one of {', '.join(GATES)}; this one has {', '.join(named) or 'none'}"
        )
    kind = GATES[named[0]]
    extra = given.keys() - kinds_of(kind).keys()
    if extra:
        raise ValueError(f"{', '.join(sorted(extra))} does not go with {named[0]}")
    _check_limits(given)
    check_fields(given, known, required_of(kind))
    gate = msgspec.convert({"kind": kind.__struct_config__.tag, **given}, kind)
    if isinstance(gate, LatencyGate):
        return gate
    gate = replace(gate, measure=str(parse_measure(gate.measure)))
    if not isinstance(gate, KeepGate):
        _check_slice(gate.slice)
    return gate


def _check_limits(given: Mapping[str, Any]) -> None:
    for name in ("min", "max_drop"):
        if name in given:
            _check_share(name, float(given[name]))
    if "must_not_lose" in given and not (given["must_not_lose"] and "tag" in given):
        raise ValueError("must_not_lose needs a tag and is true or left out")
    if "latency" in given and not (0 < given.get("max_ratio", 0) < math.inf):
        raise ValueError("a latency gate needs max_ratio above 0")
    if not (0 <= given.get("floor_ms", 0) < math.inf):
        raise ValueError(f"floor_ms is {float(given['floor_ms'])}, not a time")


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
        waiver = msgspec.convert(check_fields(entry, kinds_of(Waiver), required_of(Waiver)), Waiver)
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
        "cutoff": policy.cutoff,
        "fail-on": policy.fail_on,
        "max-errors": policy.max_errors,
        "gates": [plain_gate(gate) for gate in policy.gates],
        "waivers": [msgspec.to_builtins(waiver) for waiver in policy.waivers],
    }


def plain_gate(gate: Gate) -> dict[str, object]:
    """One gate as written in `rageval.yml`."""
    values: dict[str, object] = msgspec.to_builtins(gate)
    return {
        name: value for name, value in values.items() if name != "kind" and (name, value) != ("slice", "")
    }


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
