"""What each endpoint of the fake GitHub does, and the rules that its description does not state."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from tests.fakes import github_git
from tests.fakes.github import (
    REPOSITORY,
    REPOSITORY_ID,
    Artifact,
    Call,
    Page,
    Raw,
    Redirect,
    Refusal,
    State,
    need,
    route,
    user,
)
from tests.fakes.github_schema import make

Answer = tuple[int, Any]
Handler = Callable[[State, Call, re.Match[str]], Answer]

COMMENT_CHARACTERS = 65_536
CHECK_BYTES = 65_535
STATUS_CHARACTERS = 140


def whoami(state: State, call: Call, found: re.Match[str]) -> Answer:
    if call.token.app:
        raise Refusal(403, "Resource not accessible by integration")
    who = {name: user(call.token.login)[name] for name in ("login", "id", "type")}
    return 200, make("public-user", user_view_type="public", **who)


def get_commit(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents")
    ref = unquote(found[1])
    sha = state.branches.get(ref, ref)
    if sha not in state.commits:
        raise Refusal(422 if re.fullmatch("[0-9a-f]{40}", sha) else 404, f"No commit found for SHA: {sha}")
    return 200, state.commits[sha]


def list_commits(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents")
    start = state.branches.get(call.query.get("sha", "main"), call.query.get("sha", "main"))
    if start not in state.commits:
        raise Refusal(404, "Not Found")
    seen: list[str] = []
    waiting = [start]
    while waiting:
        sha = waiting.pop(0)
        if sha in seen or sha not in state.commits:
            continue
        seen.append(sha)
        waiting += [parent["sha"] for parent in state.commits[sha]["parents"]]
    return 200, Page([state.commits[sha] for sha in seen])


def compare(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents")
    base, head = (state.branches.get(end, end) for end in unquote(found[1]).split("..."))
    ancestors = _ancestors(state, base)
    merge_base = next((sha for sha in _ancestors(state, head) if sha in ancestors), "")
    if not merge_base:
        raise Refusal(404, "Not Found")
    return 200, make(
        "commit-comparison",
        merge_base_commit=state.commits[merge_base],
        base_commit=state.commits[base],
        status="ahead",
    )


def _ancestors(state: State, sha: str) -> list[str]:
    seen: list[str] = []
    waiting = [sha]
    while waiting:
        sha = waiting.pop(0)
        if sha in state.commits and sha not in seen:
            seen.append(sha)
            waiting += [parent["sha"] for parent in state.commits[sha]["parents"]]
    return seen


def contents(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "contents")
    ref = call.query.get("ref", "main")
    ref = state.branches.get(ref, ref)
    path = unquote(found[1])
    if (ref, path) not in state.files:
        raise Refusal(404, "Not Found")
    data = state.files[ref, path]
    if call.raw:
        return 200, Raw(data)
    encoded = base64.b64encode(data).decode()
    return 200, make("content-file", content=encoded, path=path, size=len(data), type="file")


def list_runs(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "actions")
    name = unquote(found[1])
    runs = sorted(state.runs.values(), key=lambda run: -run["id"])
    kept = [
        run
        for run in runs
        if run["path"].partition("@")[0].endswith("/" + name)
        and run["event"] == call.query.get("event", run["event"])
        and run["head_branch"] == call.query.get("branch", run["head_branch"])
        and run["head_sha"] == call.query.get("head_sha", run["head_sha"])
        and call.query.get("status", run["status"]) in (run["status"], run["conclusion"])
    ]
    filtered = bool(set(call.query) & {"event", "branch", "head_sha", "status"})
    return 200, Page(kept, "workflow_runs", 1000 if filtered else 10**9)


def get_run(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "actions")
    if int(found[1]) not in state.runs:
        raise Refusal(404, "Not Found")
    return 200, state.runs[int(found[1])]


def _artifact(artifact: Artifact, base: str) -> dict[str, Any]:
    made = make(
        "artifact",
        id=artifact.id,
        name=artifact.name,
        size_in_bytes=artifact.size if artifact.size is not None else len(artifact.data),
        expired=artifact.expired,
        created_at=artifact.created_at,
        archive_download_url=f"{base}/repos/acme/docs/actions/artifacts/{artifact.id}/zip",
        workflow_run={
            "id": artifact.run_id,
            "repository_id": artifact.repository_id,
            "head_repository_id": artifact.head_repository_id,
            "head_branch": artifact.head_branch,
            "head_sha": artifact.head_sha,
        },
    )
    if artifact.digest is not None:
        made["digest"] = artifact.digest
    return made


def get_repository(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "metadata")
    owner = user("acme")
    return 200, make(
        "full-repository", id=REPOSITORY_ID, full_name=REPOSITORY, default_branch="main", owner=owner
    )


def list_all_artifacts(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "actions")
    newest = sorted(state.artifacts.values(), key=lambda item: -item.id)
    kept = [_artifact(item, call.base) for item in newest if item.name == call.query.get("name", item.name)]
    return 200, Page(kept, "artifacts")


def list_artifacts(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "actions")
    if int(found[1]) not in state.runs:
        raise Refusal(404, "Not Found")
    kept = [
        _artifact(artifact, call.base)
        for artifact in sorted(state.artifacts.values(), key=lambda item: -item.id)
        if artifact.run_id == int(found[1]) and artifact.name == call.query.get("name", artifact.name)
    ]
    return 200, Page(kept, "artifacts")


def download(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "actions")
    artifact = state.artifacts.get(int(found[1]))
    if artifact is None:
        raise Refusal(404, "Not Found")
    if artifact.expired:
        raise Refusal(410, "Artifact has expired")
    return 302, Redirect(f"/artifact/{artifact.id}?sig=c2VjcmV0LXNpZ25hdHVyZQ%3D%3D&se=2026")


def list_pulls(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "pull-requests")
    wanted = call.query.get("state", "open")
    kept = [
        pull
        for pull in state.pulls.values()
        if wanted in ("all", pull["state"])
        and call.query.get("head", pull["head"]["label"]) == pull["head"]["label"]
    ]
    return 200, Page([make("pull-request-simple", **_shared(pull)) for pull in kept])


def _shared(pull: dict[str, Any]) -> dict[str, Any]:
    return {name: pull[name] for name in ("number", "state", "head", "base", "user", "merge_commit_sha")}


def get_pull(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "pull-requests")
    if int(found[1]) not in state.pulls:
        raise Refusal(404, "Not Found")
    return 200, state.pulls[int(found[1])]


def list_reviews(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "pull-requests")
    return 200, Page(state.reviews.get(int(found[1]), []))


def list_comments(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "pull-requests")
    kept = [c for _, c in sorted(state.comments.items()) if c["issue_url"].endswith(f"/issues/{found[1]}")]
    return 200, Page(kept)


def _comment_body(call: Call) -> str:
    body: str = call.body["body"]
    if not body.strip():
        raise Refusal(422, "Body can't be blank")
    if len(body) > COMMENT_CHARACTERS:
        raise Refusal(422, f"Body is too long (maximum is {COMMENT_CHARACTERS} characters)")
    return body


def post_comment(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "pull-requests", "write")
    if int(found[1]) in state.locked:
        raise Refusal(403, "Unable to create comment because issue is locked.")
    made = state.comment(int(found[1]), call.token.login, _comment_body(call))
    return 201, state.comments[made]


def patch_comment(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "pull-requests", "write")
    comment = state.comments.get(int(found[1]))
    if comment is None:
        raise Refusal(404, "Not Found")
    if comment["user"]["login"] != call.token.login and not call.token.app:
        raise Refusal(403, "Must have admin rights to Repository.")
    comment["body"] = _comment_body(call)
    return 200, comment


def delete_comment(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "pull-requests", "write")
    if state.comments.pop(int(found[1]), None) is None:
        raise Refusal(404, "Not Found")
    return 204, None


def _check_rules(call: Call) -> None:
    if not call.token.app:
        raise Refusal(403, "You must authenticate via a GitHub App.")
    need(call, "checks", "write")
    if call.body.get("status") == "completed" and not call.body.get("conclusion"):
        raise Refusal(422, "Invalid request. A conclusion is required when status is completed.")
    output = call.body.get("output", {})
    for name in ("summary", "text"):
        if len(output.get(name, "").encode()) > CHECK_BYTES:
            raise Refusal(422, f"Only {CHECK_BYTES} characters are allowed; {name} is too long")
    if any(len(note["message"].encode()) > 65_536 for note in output.get("annotations", [])):
        raise Refusal(422, "annotation message is too long")
    if len(output.get("annotations", [])) > 50:
        raise Refusal(422, "No more than 50 items are allowed")


def _check(state: State, check_id: int) -> dict[str, Any]:
    held = state.checks[check_id]
    return make(
        "check-run",
        id=check_id,
        name=held["name"],
        head_sha=held["head_sha"],
        status=held["status"],
        conclusion=held["conclusion"],
        output={"annotations_count": len(held["annotations"]), "annotations_url": "https://h"},
    )


def _apply(held: dict[str, Any], body: dict[str, Any]) -> None:
    held["status"] = "completed" if "conclusion" in body else body.get("status", held["status"])
    held["conclusion"] = body.get("conclusion", held["conclusion"])
    output = body.get("output", {})
    held["annotations"] += output.get("annotations", [])
    held["output"] |= {k: v for k, v in output.items() if k != "annotations"}


def post_check(state: State, call: Call, found: re.Match[str]) -> Answer:
    _check_rules(call)
    check_id = state.new_id()
    state.checks[check_id] = {
        "name": call.body["name"],
        "head_sha": call.body["head_sha"],
        "status": "queued",
        "conclusion": None,
        "annotations": [],
        "output": {},
    }
    _apply(state.checks[check_id], call.body)
    return 201, _check(state, check_id)


def patch_check(state: State, call: Call, found: re.Match[str]) -> Answer:
    _check_rules(call)
    if int(found[1]) not in state.checks:
        raise Refusal(404, "Not Found")
    _apply(state.checks[int(found[1])], call.body)
    return 200, _check(state, int(found[1]))


def post_status(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "statuses", "write")
    if len(call.body.get("description", "")) > STATUS_CHARACTERS:
        raise Refusal(422, "description is too long (maximum is 140 characters)")
    if sum(s["sha"] == found[1] and s["context"] == call.body.get("context") for s in state.statuses) >= 1000:
        raise Refusal(422, "This SHA and context has reached the maximum number of statuses.")
    state.statuses.append({"sha": found[1], **call.body})
    return 201, make(
        "status",
        state=call.body["state"],
        context=call.body.get("context", "default"),
        creator=user(call.token.login),
    )


def permission(state: State, call: Call, found: re.Match[str]) -> Answer:
    need(call, "metadata")
    login = unquote(found[1])
    held = state.permissions.get(login, "none")
    base = {"maintain": "write", "triage": "read"}.get(held, held)
    return 200, make("repository-collaborator-permission", permission=base, role_name=held, user=None)


HANDLERS: list[tuple[str, re.Pattern[str], Handler]] = [
    ("GET", re.compile("/user"), whoami),
    ("GET", route(""), get_repository),
    ("GET", route("/actions/artifacts"), list_all_artifacts),
    ("GET", route("/commits"), list_commits),
    ("GET", route("/commits/([^?]+)"), get_commit),
    ("GET", route("/compare/([^/]+)"), compare),
    ("GET", route("/contents/(.+)"), contents),
    ("GET", route("/actions/workflows/([^/]+)/runs"), list_runs),
    ("GET", route(r"/actions/runs/(\d+)"), get_run),
    ("GET", route(r"/actions/runs/(\d+)/artifacts"), list_artifacts),
    ("GET", route(r"/actions/artifacts/(\d+)/zip"), download),
    ("GET", route("/pulls"), list_pulls),
    ("GET", route(r"/pulls/(\d+)"), get_pull),
    ("GET", route(r"/pulls/(\d+)/reviews"), list_reviews),
    ("GET", route(r"/issues/(\d+)/comments"), list_comments),
    ("POST", route(r"/issues/(\d+)/comments"), post_comment),
    ("PATCH", route(r"/issues/comments/(\d+)"), patch_comment),
    ("DELETE", route(r"/issues/comments/(\d+)"), delete_comment),
    ("POST", route("/check-runs"), post_check),
    ("PATCH", route(r"/check-runs/(\d+)"), patch_check),
    ("POST", route("/statuses/([0-9a-f]{40})"), post_status),
    ("GET", route("/collaborators/([^/]+)/permission"), permission),
    *github_git.HANDLERS,
]
