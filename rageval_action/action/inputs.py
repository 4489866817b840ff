"""The Action's own inputs, beside the evaluation's options (`config.OPTIONS`); `action.yml` lists both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from rageval_action.core.judging.policy import FailOn
from rageval_action.errors import ConfigError
from rageval_action.github.runner import branch_name, evaluation_id
from rageval_action.option_values import Option, parse_value, read_input

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
        name="measuring-workflow",
        kind="path",
        help="For the publishing job: workflow file whose runs are published; default baseline-workflow.",
    ),
    Option(
        name="baseline-snapshot",
        kind="path",
        help="Snapshot of the base, evaluated in the same job when no recorded baseline is found.",
    ),
    Option(
        name="baseline-root",
        kind="path",
        help="Checkout of the base, beside baseline-snapshot: needed where files of the repository rank.",
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
        choices=SURFACES,
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
        least=1,
        most=3600,
        help="Most seconds spent on GitHub's API before the evaluation, and again after it.",
    ),
)


class ActionInputs(Struct, frozen=True, kw_only=True):
    """What the workflow asks of the Action itself; `fail_on` None = not given."""

    id: str
    config: str
    artifact_name: str
    baseline_workflow: str
    measuring_workflow: str
    baseline_snapshot: str
    baseline_root: str
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
    given = {option.name: _value(option, environ) for option in ACTION_OPTIONS if option.name != "token"}
    name = evaluation_id(given["id"])
    values = {option.replace("-", "_"): value for option, value in given.items()}
    checked = {
        "artifact_name": _artifact_name(given["artifact-name"] or f"rageval-{name}"),
        "history_branch": given["history-branch"] and branch_name(given["history-branch"]),
        "required": frozenset(given["required"]),
        "fail_on": given["fail-on"] or None,
    }
    return ActionInputs(**{**values, **checked, "id": name})


def _value(option: Option, environ: Mapping[str, str]) -> Any:
    try:
        return parse_value(option, read_input(environ, option.name) or option.default)
    except ValueError as error:
        raise _bad(option.name, str(error)) from error


def _artifact_name(name: str) -> str:
    if len(name) > 200 or any(character in '":<>|*?\r\n\\/' for character in name):
        raise _bad("artifact-name", "an artifact's name may not hold any of \" : < > | * ? \\ /")
    return name


def _bad(name: str, what: str) -> ConfigError:
    return ConfigError("config.bad-value", f"{what}.", where=f"input {name}")
