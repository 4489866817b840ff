"""Which policy judges a pull request: the base's, never a looser one of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.action.base import Base, Step
from rageval_action.config import POLICY_KEYS
from rageval_action.core.judging.policy import (
    DropGate,
    FailOn,
    FloorGate,
    Gate,
    KeepGate,
    LatencyGate,
    Policy,
    Waiver,
    parse_policy,
    plain,
    plain_gate,
)
from rageval_action.core.model.record import Record
from rageval_action.core.model.types import Notice
from rageval_action.core.wording.numbers import points
from rageval_action.errors import RagevalError

STRICTNESS: dict[FailOn, int] = {"never": 0, "fail": 1, "inconclusive": 2}

FIRST = (
    "first policy: this pull request adds the first configuration file. Until it is merged, its stricter rules count"
    " beside those of the base"
)


class JudgingPolicy(Struct, frozen=True, kw_only=True):
    """The policy to judge by.

    Attributes:
        unknown: why it could not be found out; then nothing can be judged against a baseline. Else empty.
    """

    policy: Policy
    notices: tuple[Notice, ...] = ()
    unknown: str = ""


def judging_policy(base: Base, recorded: Record | None, own: Policy, *, own_file: bool) -> JudgingPolicy:
    """The policy of the base: its file, else what the baseline was recorded under, else the defaults.

    Args:
        base: the base commit.
        recorded: of the baseline, where there is one.
        own: the head's policy, for telling what it changes.
        own_file: whether the head has a configuration file.
    """
    try:
        policy = _from_file(base) if base.path else _without_file(base, recorded)
    except RagevalError as error:
        text = f"the policy on the base branch cannot be used: {str(error).rstrip('.')}"
        return JudgingPolicy(policy=own, unknown=text)
    notices = changes(policy, own)
    if own_file and not base.path:
        notices = (Notice(code="policy.first", text=FIRST), *notices)
    return JudgingPolicy(policy=policy, notices=notices)


def _from_file(base: Base) -> Policy:
    values = base.values()
    raw: dict[str, object] = {key: values[key] for key in POLICY_KEYS if key in values}
    return parse_policy({**raw, "k": _k(base, values.get("k", 5))}, where=base.where)


def _without_file(base: Base, recorded: Record | None) -> Policy:
    if recorded is not None and recorded.policy:
        return parse_policy(recorded.policy, where="the baseline's policy")
    return parse_policy({"k": recorded.k if recorded else _k(base, 5)}, where="the default policy")


def _k(base: Base, otherwise: object) -> object:
    """The headline cutoff that the base's workflow gives, where it gives one."""
    given = base.step.inputs.get("k", "") if isinstance(base.step, Step) else ""
    return int(given) if given.isascii() and given.isdigit() and len(given) < 9 else otherwise


def tightened(policy: Policy, own: Policy, fail_on: FailOn | None, known: Collection[str] | None) -> Policy:
    """`policy` with whatever of the head's own is stricter; its `k` and its waivers stay.

    Args:
        policy: of the base.
        own: of the head.
        fail_on: the Action's input.
        known: slices of the baseline; None without one. A gate on another slice could compare nothing, so that it
            waits until a baseline has that slice.
    """
    stricter = max(
        (policy.fail_on, own.fail_on, fail_on or policy.fail_on), key=lambda word: STRICTNESS[word]
    )
    added = [
        gate
        for gate in own.gates
        if not any(_covers(old, gate) for old in policy.gates) and _comparable(gate, known)
    ]
    return replace(
        policy,
        gates=(*policy.gates, *dict.fromkeys(added)),
        fail_on=stricter,
        max_errors=min(policy.max_errors, own.max_errors),
    )


def _covers(old: Gate, new: Gate) -> bool:
    """True when whatever fails `new` fails `old` as well."""
    match old, new:
        case (DropGate(), DropGate()):
            return replace(old, max_drop=new.max_drop) == new and old.max_drop <= new.max_drop
        case (FloorGate(), FloorGate()):
            return replace(old, min=new.min) == new and old.min >= new.min
        case (LatencyGate(), LatencyGate()):
            same = replace(old, max_ratio=new.max_ratio, floor_ms=new.floor_ms) == new
            return same and old.max_ratio <= new.max_ratio and old.floor_ms <= new.floor_ms
        case _:
            return old == new


def _comparable(gate: Gate, known: Collection[str] | None) -> bool:
    if known is None or isinstance(gate, FloorGate | LatencyGate):
        return True
    name = f"tag:{gate.tag}" if isinstance(gate, KeepGate) else gate.slice
    return not name or name in known


def changes(base: Policy, own: Policy) -> tuple[Notice, ...]:
    """What the pull request would change about its own judgment: one notice for each change, so that none is cut."""
    return tuple(
        Notice(
            code="policy.changed", text=f"this pull request changes the policy: {change}; the base's counts"
        )
        for change in _changes(base, own)
    )


def _changes(base: Policy, own: Policy) -> Iterator[str]:
    """Waivers first: they are what lets a loss through."""
    yield from (f"it adds the waiver {_waiver(one)}" for one in own.waivers if one not in base.waivers)
    yield from (f"it removes the waiver {_waiver(one)}" for one in base.waivers if one not in own.waivers)
    before, after = plain(base), plain(own)
    for name in ("fail-on", "max-errors", "k", "cutoff"):
        if before[name] != after[name]:
            yield f"{name} from {before[name]} to {after[name]}"
    yield from (f"it removes the gate {_gate(plain_gate(one))}" for one in base.gates if one not in own.gates)
    yield from (f"it adds the gate {_gate(plain_gate(one))}" for one in own.gates if one not in base.gates)


def _gate(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _waiver(waiver: Waiver) -> str:
    """What it allows comes first: the reason may be long."""
    of = f" of {waiver.slice}" if waiver.slice else ""
    allowed = f"{waiver.measure}{of} may drop by {points(waiver.max_drop)} until {waiver.until}"
    return f"({allowed}; {waiver.owner}: {waiver.reason})"
