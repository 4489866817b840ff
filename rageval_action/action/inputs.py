"""The Action's own inputs, beside the evaluation's options (`config.OPTIONS`); `action.yml` lists both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from rageval_action.config import Option
from rageval_action.core.judging.policy import FailOn
from rageval_action.errors import ConfigError
from rageval_action.github.runner import branch_name, evaluation_id

Surface: TypeAlias = Literal["comment", "check", "artifact", "history"]
SURFACES = get_args(Surface)

ACTION_OPTIONS: tuple[Option, ...] = (
    Option(
        name="id",
        kind="text",
        default="default",
        help="Name of this evaluation: give each its own where a repository has several.",
    ),
    Option(name="config", kind="path", help="Configuration and policy; default rageval.yml, if it exists."),
    Option(
        name="token",
        kind="text",
        default="${{ github.token }}",
        help="Token for the baseline look-up, the comment and the check.",
    ),
    Option(name="artifact-name", kind="text", help="Name of the record's artifact; default rageval-<id>."),
    Option(
        name="baseline-workflow",
        kind="path",
        help="Workflow file whose push runs record baselines; default this workflow.",
    ),
    Option(
        name="baseline-snapshot",
        kind="path",
        help="Snapshot of the base, evaluated in the same job when no recorded baseline is found.",
    ),
    Option(
        name="baseline-record",
        kind="path",
        help="Record (folder or zip) in the repository, read as it stands on the base branch.",
    ),
    Option(name="comment", kind="flag", default="true", help="Keep one comment on the pull request."),
    Option(
        name="comment-author",
        kind="text",
        help="Login that the token writes as, where it is a GitHub App of your own: name[bot].",
    ),
    Option(
        name="check",
        kind="flag",
        default="false",
        help="Also write a check run with annotations on golden-set lines (needs checks: write).",
    ),
    Option(
        name="upload-artifact",
        kind="flag",
        default="false",
        help="Upload the record from inside the container; the documented way is a step with upload-artifact.",
    ),
    Option(
        name="history-branch",
        kind="text",
        help="Branch on which the default branch's history and a badge are kept (needs contents: write).",
    ),
    Option(
        name="required",
        kind="list",
        help="Publishing steps (comment, check, artifact, history) whose failure ends with exit code 4.",
    ),
    Option(
        name="fail-on",
        kind="choice",
        choices=("", "fail", "inconclusive", "never"),
        help="Exit code 1 on: fail, inconclusive or never. It may tighten the base branch's policy, not loosen it.",
    ),
    Option(
        name="network-budget",
        kind="integer",
        default="120",
        help="Most seconds spent on GitHub's API before the evaluation, and again after it.",
    ),
)

BY_NAME = {option.name: option for option in ACTION_OPTIONS}
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class ActionInputs(Struct, frozen=True, kw_only=True):
    """What the workflow asks of the Action itself; `fail_on` None = not given."""

    id: str
    config: str
    artifact_name: str
    baseline_workflow: str
    baseline_snapshot: str
    baseline_record: str
    comment: bool
    comment_author: str
    check: bool
    upload_artifact: bool
    history_branch: str
    required: frozenset[str]
    fail_on: FailOn | None
    network_budget: int


def read_inputs(environ: Mapping[str, str]) -> ActionInputs:
    """The inputs from `INPUT_*`, hyphens or underscores; an empty string is not given.

    Raises:
        ConfigError: `config.bad-value`, `action.bad-id`, `action.bad-branch`.
    """
    name = evaluation_id(_text(environ, "id"))
    return ActionInputs(
        id=name,
        config=_text(environ, "config"),
        artifact_name=_artifact_name(_text(environ, "artifact-name") or f"rageval-{name}"),
        baseline_workflow=_text(environ, "baseline-workflow"),
        baseline_snapshot=_text(environ, "baseline-snapshot"),
        baseline_record=_text(environ, "baseline-record"),
        comment=_flag(environ, "comment"),
        comment_author=_text(environ, "comment-author"),
        check=_flag(environ, "check"),
        upload_artifact=_flag(environ, "upload-artifact"),
        history_branch=_branch(_text(environ, "history-branch")),
        required=_surfaces(_text(environ, "required")),
        fail_on=_fail_on(_text(environ, "fail-on")),
        network_budget=_seconds(_text(environ, "network-budget")),
    )


def _text(environ: Mapping[str, str], name: str) -> str:
    for spelling in (name.upper(), name.upper().replace("-", "_")):
        if value := environ.get(f"INPUT_{spelling}", "").strip():
            return value
    return "" if name == "token" else BY_NAME[name].default


def _flag(environ: Mapping[str, str], name: str) -> bool:
    word = _text(environ, name).lower()
    if word not in _TRUE + _FALSE:
        raise _bad(name, f'"{word}" is neither true nor false')
    return word in _TRUE


def _surfaces(text: str) -> frozenset[str]:
    words = frozenset(part.strip() for part in text.replace("\n", ",").split(",") if part.strip())
    if unknown := words.difference(SURFACES):
        raise _bad("required", f"{', '.join(sorted(unknown))} is none of {', '.join(SURFACES)}")
    return words


def _branch(name: str) -> str:
    return branch_name(name) if name else ""


def _fail_on(text: str) -> FailOn | None:
    match text:
        case "":
            return None
        case "fail" | "inconclusive" | "never":
            return text
        case _:
            raise _bad("fail-on", f'"{text}" is none of fail, inconclusive, never')


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 3600):
        raise _bad("network-budget", f'"{text}" is not a number of seconds from 1 to 3600')
    return int(text)


def _artifact_name(name: str) -> str:
    if len(name) > 200 or any(character in '":<>|*?\r\n\\/' for character in name):
        raise _bad("artifact-name", "an artifact's name may not hold any of \" : < > | * ? \\ /")
    return name


def _bad(name: str, what: str) -> ConfigError:
    return ConfigError("config.bad-value", f"{what}.", where=f"input {name}")
