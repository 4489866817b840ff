"""The git data API of the fake GitHub: trees, commits and branches, with what it refuses."""

from __future__ import annotations

import re
from typing import Any

from tests.fakes.github import Call, Refusal, State, fake_sha, need, route
from tests.fakes.github_schema import make

Answer = tuple[int, Any]


def _ref(branch: str, sha: str) -> dict[str, Any]:
    return make("git-ref", ref=f"refs/heads/{branch}", object={"type": "commit", "sha": sha})


def get_ref(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents")
    if found[1] not in state.branches:
        raise Refusal(404, "Not Found")
    return 200, _ref(found[1], state.branches[found[1]])


def post_ref(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents", "write")
    name = call.body["ref"].removeprefix("refs/heads/")
    if name == call.body["ref"]:
        raise Refusal(422, "Reference name must start with 'refs/' and have at least two slashes")
    if call.body["sha"] not in state.commits:
        raise Refusal(422, "Object does not exist")
    if name in state.branches:
        raise Refusal(422, "Reference already exists")
    if any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in state.branches):
        raise Refusal(422, "Reference update failed")
    state.branches[name] = call.body["sha"]
    return 201, _ref(name, call.body["sha"])


def patch_ref(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents", "write")
    name, sha = found[1], call.body["sha"]
    if name not in state.branches:
        raise Refusal(422, "Reference does not exist")
    if sha not in state.commits:
        raise Refusal(422, "Object does not exist")
    if name in state.protected:
        raise Refusal(422, "Changes must be made through a pull request.")
    parents = [parent["sha"] for parent in state.commits[sha]["parents"]]
    if state.branches[name] not in (sha, *parents) and not call.body.get("force"):
        raise Refusal(422, "Update is not a fast forward")
    state.branches[name] = sha
    return 200, _ref(name, sha)


def get_git_commit(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents")
    if found[1] not in state.commits:
        raise Refusal(404, "Not Found")
    return 200, make("git-commit", sha=found[1], tree={"sha": state.tree_of.get(found[1], "0" * 40)})


def post_tree(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents", "write")
    base = call.body.get("base_tree")
    if base is not None and base not in state.trees:
        raise Refusal(422, "base_tree is not a valid tree oid")
    files = dict(state.trees[base]) if base else {}
    for entry in call.body["tree"]:
        if any(part in ("", ".", "..", ".git") for part in entry["path"].split("/")):
            raise Refusal(422, "tree.path contains a malformed path component")
        if ("content" in entry) == ("sha" in entry):
            raise Refusal(422, "Must supply either tree.sha or tree.content")
        files[entry["path"]] = entry["content"].encode()
    sha = fake_sha(repr(sorted(files.items())))
    state.trees[sha] = files
    return 201, make("git-tree", sha=sha)


def post_commit(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents", "write")
    tree, parents = call.body["tree"], call.body.get("parents", [])
    if tree not in state.trees:
        raise Refusal(422, "Tree SHA does not exist")
    if not all(parent in state.commits for parent in parents):
        raise Refusal(422, "Parent SHA does not exist or is not a commit object")
    if not call.body["message"]:
        raise Refusal(422, "Invalid request. message can't be blank")
    sha = fake_sha(f"{tree} {parents} {call.body['message']} {state.new_id()}")
    state.put_commit(sha, tree, *parents, message=call.body["message"])
    return 201, make("git-commit", sha=sha, tree={"sha": tree}, message=call.body["message"])


HANDLERS = [
    ("GET", route("/git/ref/heads/(.+)"), get_ref),
    ("POST", route("/git/refs"), post_ref),
    ("PATCH", route("/git/refs/heads/(.+)"), patch_ref),
    ("GET", route("/git/commits/([0-9a-f]+)"), get_git_commit),
    ("POST", route("/git/trees"), post_tree),
    ("POST", route("/git/commits"), post_commit),
]
