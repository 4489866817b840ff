"""Cut GitHub's OpenAPI description down to what this project calls.

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-*.tgz
    python -m tests.fakes.github_openapi_reduce package/generated/api.github.com.json

Keeps paths, parameters, types, bounds, enumerations and required fields; drops every description, example,
link and vendor extension. The package is MIT licensed, copyright Octokit contributors: see
`github_openapi.NOTICE`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).with_name("github_openapi.json")
REPO = "/repos/{owner}/{repo}"
OPERATIONS: dict[str, tuple[str, ...]] = {
    "/user": ("get",),
    REPO: ("get",),
    f"{REPO}/actions/artifacts": ("get",),
    f"{REPO}/actions/artifacts/{{artifact_id}}/{{archive_format}}": ("get",),
    f"{REPO}/actions/runs/{{run_id}}": ("get",),
    f"{REPO}/actions/runs/{{run_id}}/artifacts": ("get",),
    f"{REPO}/actions/workflows/{{workflow_id}}/runs": ("get",),
    f"{REPO}/check-runs": ("post",),
    f"{REPO}/check-runs/{{check_run_id}}": ("patch",),
    f"{REPO}/collaborators/{{username}}/permission": ("get",),
    f"{REPO}/commits": ("get",),
    f"{REPO}/commits/{{ref}}": ("get",),
    f"{REPO}/compare/{{basehead}}": ("get",),
    f"{REPO}/contents/{{path}}": ("get",),
    f"{REPO}/git/commits": ("post",),
    f"{REPO}/git/commits/{{commit_sha}}": ("get",),
    f"{REPO}/git/ref/{{ref}}": ("get",),
    f"{REPO}/git/refs": ("post",),
    f"{REPO}/git/refs/{{ref}}": ("patch",),
    f"{REPO}/git/trees": ("post",),
    f"{REPO}/issues/comments/{{comment_id}}": ("patch", "delete"),
    f"{REPO}/issues/{{issue_number}}/comments": ("get", "post"),
    f"{REPO}/pulls": ("get",),
    f"{REPO}/pulls/{{pull_number}}": ("get",),
    f"{REPO}/pulls/{{pull_number}}/reviews": ("get",),
    f"{REPO}/statuses/{{sha}}": ("post",),
}
PROSE = {
    "description",
    "summary",
    "example",
    "examples",
    "externalDocs",
    "title",
    "operationId",
    "tags",
    "links",
}


def bare(node: Any, *, names: bool = False) -> Any:
    """`node` without prose; `names` marks a map whose keys are data (property names), not keywords."""
    if isinstance(node, list):
        return [bare(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = node if names else {k: v for k, v in node.items() if k not in PROSE and not k.startswith("x-")}
    cut = {
        key: bare(
            value, names=key in ("properties", "schemas", "responses", "parameters", "headers") and not names
        )
        for key, value in kept.items()
    }
    if not names and "responses" in cut:  # OpenAPI wants a description there, be it an empty one
        cut["responses"] = {
            k: v if "$ref" in v else {"description": "", **v} for k, v in cut["responses"].items()
        }
    if not names and cut.get("nullable") is True and "enum" in cut and None not in cut["enum"]:
        cut["enum"] = [*cut["enum"], None]  # meant so; JSON Schema takes an enumeration at its word
    return cut


def references(node: Any) -> set[str]:
    """Every `$ref` below `node`."""
    if isinstance(node, list):
        return set().union(*(references(item) for item in node))
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
    return own.union(*(references(value) for value in node.values()))


def reduce(document: dict[str, Any]) -> dict[str, Any]:
    """The part of `document` that `OPERATIONS` reach."""
    paths = {}
    for path, methods in OPERATIONS.items():
        item = document["paths"][path]
        paths[path] = {method: bare(item[method]) for method in methods}
    components: dict[str, dict[str, Any]] = {}
    open_references = references(paths)
    while open_references:
        reference = open_references.pop()
        _, _, group, name = reference.split("/", 3)
        if name in components.get(group, {}):
            continue
        part = bare(document["components"][group][name])
        if group == "responses":
            part = {"description": "", **part}
        components.setdefault(group, {})[name] = part
        open_references |= references(part)
    return {
        "openapi": document["openapi"],
        "info": {"title": "facts of api.github.com", "version": document["info"]["version"]},
        "paths": paths,
        "components": {group: dict(sorted(parts.items())) for group, parts in sorted(components.items())},
    }


if __name__ == "__main__":
    source = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    TARGET.write_text(json.dumps(reduce(source), separators=(",", ":"), sort_keys=True) + "\n", "utf-8")
