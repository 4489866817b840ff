"""Which policy judges a pull request: the base branch's, never a looser one of its own."""

from __future__ import annotations

import os.path
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from rageval_action.config import FILE, POLICY_KEYS, parse_file
from rageval_action.core.judging.policy import FailOn, Policy, default_gates, parse_policy, plain
from rageval_action.core.model.types import Notice
from rageval_action.errors import RagevalError
from rageval_action.github.api import Api
from rageval_action.github.api_errors import ApiError
from rageval_action.github.repository import FileFound, file_at

STRICTNESS: dict[FailOn, int] = {"never": 0, "fail": 1, "inconclusive": 2}


class JudgingPolicy(Struct, frozen=True, kw_only=True):
    """The policy to judge by.

    Attributes:
        unknown: why it could not be found out; then nothing can be judged against a baseline. Else empty.
        first: the base branch has no policy file yet.
    """

    policy: Policy
    notices: tuple[Notice, ...] = ()
    unknown: str = ""
    first: bool = False


def base_policy(api: Api, config: str, base_sha: str, own: Policy) -> JudgingPolicy:
    """The policy as it stands at the base commit.

    A pull request can name another configuration file in its workflow. Where the named one does not exist
    on the base branch, the file of the usual name is tried, so that a new name is no way around the old
    gates.

    Args:
        api: GitHub.
        config: path of the configuration file, from the repository's root.
        base_sha: the base commit.
        own: the pull request's own policy.
    """
    try:
        for path in dict.fromkeys((os.path.normpath(config or FILE), FILE)):
            found = file_at(api, path, base_sha)
            if isinstance(found, FileFound):
                return _from_file(found.data, path, own)
    except ApiError as error:
        reason = f"the policy on the base branch could not be looked up: {error.message.rstrip('.')}"
        return JudgingPolicy(policy=own, unknown=reason)
    except RagevalError as error:
        return JudgingPolicy(
            policy=own, unknown=f"the policy on the base branch cannot be used: {str(error).rstrip('.')}"
        )
    text = "first policy: the base branch has no configuration file yet, so this pull request's own counts"
    return JudgingPolicy(policy=own, notices=(Notice(code="policy.first", text=text),), first=True)


def recorded_policy(judging: JudgingPolicy, recorded: Mapping[str, object], own: Policy) -> JudgingPolicy:
    """For a first policy: what the baseline was judged by, where that was more than the default gates."""
    if not judging.first or not recorded:
        return judging
    before = parse_policy(recorded, where="the baseline's policy")
    if before.gates == default_gates(before.k) and not before.waivers:
        return judging
    text = "the base branch has no configuration file under this name: judged by the policy of the baseline's record"
    return JudgingPolicy(
        policy=before, notices=(Notice(code="policy.recorded", text=text), *_change(before, own))
    )


def tightened(policy: Policy, *, fail_on: FailOn | None, k: int, gates_written: bool) -> Policy:
    """`policy` with what inputs may add: a stricter `fail-on`, and the default gate at another `k`."""
    if fail_on is not None and STRICTNESS[fail_on] > STRICTNESS[policy.fail_on]:
        policy = replace(policy, fail_on=fail_on)
    if k != policy.k and not gates_written:
        policy = replace(policy, gates=tuple(dict.fromkeys((*policy.gates, *default_gates(k)))))
    return replace(policy, k=k)


def _from_file(data: bytes, path: str, own: Policy) -> JudgingPolicy:
    where = f"{path} (base branch)"
    values = parse_file(data, where=where)
    raw: dict[str, object] = {key: values[key] for key in POLICY_KEYS if key in values}
    policy = parse_policy({**raw, "k": values.get("k", 5)}, where=where)
    return JudgingPolicy(policy=policy, notices=_change(policy, own))


def _change(base: Policy, own: Policy) -> tuple[Notice, ...]:
    """What this pull request would have changed about its own judgment."""
    before, after = plain(base), plain(own)
    parts = [
        f"{name}: {before[name]} → {after[name]}"
        for name in ("k", "fail-on", "max-errors")
        if before[name] != after[name]
    ]
    parts += [f"removed gate {gate}" for gate in _missing(before["gates"], after["gates"])]
    parts += [f"added gate {gate}" for gate in _missing(after["gates"], before["gates"])]
    parts += [f"added waiver {waiver}" for waiver in _missing(after["waivers"], before["waivers"])]
    if not parts:
        return ()
    text = f"this pull request changes the policy; it is judged by the base branch's ({'; '.join(parts)})"
    return (Notice(code="policy.changed", text=text),)


def _missing(these: object, those: object) -> list[object]:
    if not isinstance(these, list) or not isinstance(those, list):
        return []
    return [entry for entry in these if entry not in those]
