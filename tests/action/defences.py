"""Take out each defence of `docs/security.md` in turn and see its test fail: `python -m tests.action.defences`.

Works on a copy of the tree. A line says what was taken out and which tests noticed; one that nobody noticed ends
with 1.
"""
# ruff: noqa: T201

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GITHUB, ACTION = "rageval_action/github/", "rageval_action/cli/action/"

MUTATIONS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "fork told by id",
        GITHUB + "event.py",
        "return self.head_repository_id != self.base_repository_id",
        "return False",
        "tests/unit/github/test_event.py",
    ),
    (
        "pull_request_target refused",
        GITHUB + "event.py",
        'if name == "pull_request_target":',
        "if False:",
        "tests/unit/github/test_event.py",
    ),
    (
        "reviews are never skipped",
        GITHUB + "event.py",
        'if payload.action == "closed" or',
        'if payload.action in ("closed", "submitted") or',
        "tests/unit/github/test_event.py",
    ),
    (
        "run's head repository",
        GITHUB + "origin.py",
        "and run.head_repository.id == origin.repository_id",
        "",
        "tests/unit/github/test_baseline.py",
    ),
    (
        "run's event",
        GITHUB + "origin.py",
        "run.event == event and _is_of(run, origin)",
        "_is_of(run, origin)",
        "tests/unit/github/test_baseline.py",
    ),
    (
        "run's workflow",
        GITHUB + "origin.py",
        'and run.path.partition("@")[0] == origin.workflow_path',
        "",
        "tests/unit/github/test_baseline.py",
    ),
    (
        "run's branch",
        GITHUB + "origin.py",
        "run.head_branch == origin.branch",
        "True",
        "tests/unit/github/test_baseline.py",
    ),
    (
        "artifact's repository",
        GITHUB + "origin.py",
        "and made.head_repository_id == origin.repository_id",
        "",
        "tests/unit/github/test_baseline.py",
    ),
    (
        "artifact's commit",
        GITHUB + "origin.py",
        "and made.head_sha == run.head_sha",
        "",
        "tests/unit/github/test_baseline.py",
    ),
    (
        "digest",
        GITHUB + "baseline.py",
        'if kind == "sha256" and',
        'if kind == "nothing" and',
        "tests/unit/github/test_baseline.py",
    ),
    (
        "record's commit",
        ACTION + "ladder.py",
        "if sha and record.record.git.sha != sha:",
        "if False:",
        "tests/action/test_trust.py",
    ),
    (
        "outage is no absence",
        GITHUB + "baseline.py",
        "return LookupFailed(reason=error.message, notes=tuple(search.notes))",
        'return Absent(code="first-run", reason="")',
        "tests/unit/github/test_baseline.py",
    ),
    (
        "policy outage",
        ACTION + "policy.py",
        "return Judged(policy=own, unknown=reason)",
        "return Judged(policy=own)",
        "tests/action/test_trust.py",
    ),
    (
        "bomb: size in the header",
        GITHUB + "archive.py",
        "if entry.file_size > cap:",
        "if False:",
        "tests/unit/github/test_archive.py",
    ),
    (
        "bomb: count while reading",
        GITHUB + "archive.py",
        "if size > cap:",
        "if False:",
        "tests/unit/github/test_archive.py",
    ),
    (
        "exact member names",
        GITHUB + "archive.py",
        "entry.filename == name]",
        "entry.filename.endswith(name)]",
        "tests/unit/github/test_archive.py",
    ),
    (
        "random output delimiter",
        GITHUB + "workflow.py",
        'delimiter = f"rageval_{uuid.uuid4().hex}"',
        'delimiter = "EOF"',
        "tests/unit/github/test_workflow.py",
    ),
    (
        "log fence",
        GITHUB + "workflow.py",
        'self._stream.write(f"::stop-commands::{self._fence}\\n")',
        "pass",
        "tests/unit/github/test_workflow.py",
    ),
    (
        "log lines escaped",
        GITHUB + "workflow.py",
        "self._stream.write(escape.log_line(part) + ",
        "self._stream.write(part + ",
        "tests/unit/github/test_workflow.py",
    ),
    (
        "annotation data escaped",
        GITHUB + "workflow.py",
        "escape.command_data(escape.cap(message, ANNOTATION_CHARACTERS))",
        "message",
        "tests/unit/github/test_workflow.py",
    ),
    (
        "comment's author",
        GITHUB + "comment.py",
        "and comment.user.login == login",
        "",
        "tests/unit/github/test_comment.py",
    ),
    (
        "marker on the first line",
        GITHUB + "comment.py",
        "_MARKER.fullmatch(body.split",
        "_MARKER.search(body + '' if True else body.split",
        "tests/unit/github/test_comment.py",
    ),
    (
        "never overwrite a newer one",
        GITHUB + "comment.py",
        "if newest_marker > marker:",
        "if False:",
        "tests/unit/github/test_comment.py",
    ),
    (
        "all pages",
        GITHUB + "api.py",
        'url = links.get("next", "")',
        'url = ""',
        "tests/unit/github/test_comment.py",
    ),
    (
        "next page on our host",
        GITHUB + "api.py",
        "if not _same_origin(url, self._base):",
        "if False:",
        "tests/unit/github/test_api.py",
    ),
    (
        "redirect without the token",
        GITHUB + "api.py",
        "auth=_no_auth,",
        "auth=_bearer(self._token),",
        "tests/unit/github/test_api.py",
    ),
    (
        "no blind retry of a POST",
        GITHUB + "api.py",
        'safe = request.method != "POST"',
        "safe = True",
        "tests/unit/github/test_api.py",
    ),
    (
        "403 is final",
        GITHUB + "failures.py",
        'if "not accessible" in lowered:',
        "if False:",
        "tests/unit/github/test_api.py",
    ),
    (
        "token hidden",
        GITHUB + "context.py",
        'return "Token(***)" if self._value else "Token()"',
        "return self._value",
        "tests/unit/github/test_api.py",
    ),
    (
        "download cap",
        GITHUB + "api.py",
        "if size > request.limit:",
        "if False:",
        "tests/unit/github/test_api.py",
    ),
    (
        "override: write access",
        GITHUB + "override.py",
        "if held.permission not in _WRITERS:",
        "if False:",
        "tests/unit/github/test_override.py",
    ),
    (
        "override: not the author",
        GITHUB + "override.py",
        "if user.id in authors:",
        "if False:",
        "tests/unit/github/test_override.py",
    ),
    (
        "override: head commit",
        GITHUB + "override.py",
        "if review.commit_id != request.head_sha:",
        "if False:",
        "tests/unit/github/test_override.py",
    ),
    (
        "override: a person",
        GITHUB + "override.py",
        'if user is None or user.type != "User":',
        "if user is None:",
        "tests/unit/github/test_override.py",
    ),
    (
        "publishing: head commit",
        GITHUB + "source.py",
        "if pull.head.sha == run.head_sha",
        "if True",
        "tests/unit/github/test_source.py",
    ),
    (
        "publishing: head repository",
        GITHUB + "source.py",
        "and pull.head.repo.id == head.id",
        "",
        "tests/unit/github/test_source.py",
    ),
    (
        "publishing: run of the artifact",
        GITHUB + "source.py",
        "and item.workflow_run.head_sha == run.head_sha",
        "",
        "tests/unit/github/test_source.py",
    ),
    (
        "the base's policy",
        ACTION + "flow.py",
        "judged = base_policy(api, session.inputs.config, base, own)",
        "pass",
        "tests/action/test_trust.py",
    ),
    (
        "inputs only tighten",
        ACTION + "policy.py",
        "and STRICTNESS[fail_on] > STRICTNESS[policy.fail_on]",
        "",
        "tests/action/test_trust.py",
    ),
    (
        "a renamed configuration",
        ACTION + "policy.py",
        "dict.fromkeys((os.path.normpath(config or FILE), FILE))",
        "dict.fromkeys((os.path.normpath(config or FILE),))",
        "tests/action/test_trust.py",
    ),
    (
        "the recorded policy",
        ACTION + "policy.py",
        "if not judged.first or not recorded:",
        "if True:",
        "tests/action/test_trust.py",
    ),
    (
        "publishing: k of the record",
        ACTION + "forks.py",
        "k = rung.baseline.record.record.k if isinstance(rung.baseline, pipeline.Baseline) else record.record.k",
        "k = record.record.k",
        "tests/action/test_forks.py",
    ),
    (
        "credentials sealed",
        GITHUB + "secrets.py",
        "if not names or PIPE in environ:",
        "if True:",
        "tests/action/test_secrets.py",
    ),
    ("credentials masked", ACTION + "command.py", "log.mask(value)", "pass", "tests/action/test_process.py"),
    (
        "nothing imported from the checkout",
        ACTION + "command.py",
        "*sys.orig_argv[1:]",
        '"-m", "rageval_action", "action"',
        "tests/action/test_process.py",
    ),
    (
        "planted link",
        ACTION + "session.py",
        "if wanted.parent.is_symlink():",
        "if False:",
        "tests/action/test_process.py",
    ),
    (
        "history: the default branch alone",
        GITHUB + "event.py",
        "history=branch == payload.repository.default_branch,",
        "history=True,",
        "tests/action/test_history.py",
    ),
    (
        "history: the event decides",
        ACTION + "publish.py",
        "if session.inputs.history_branch and plan.history:",
        "if session.inputs.history_branch:",
        "tests/action/test_history.py",
    ),
    (
        "history: a branch of ours",
        GITHUB + "branch.py",
        "if tip and not _file(api, tip, README).startswith(MARKER.encode()):",
        "if False:",
        "tests/unit/github/test_branch.py",
    ),
    (
        "history: never forced",
        GITHUB + "branch.py",
        '"force": False',
        '"force": True',
        "tests/unit/github/test_branch.py",
    ),
    (
        "history: names of branches",
        GITHUB + "context.py",
        "if not _BRANCH.fullmatch(value) or len(value) > 200:",
        "if False:",
        "tests/image/test_files.py",
    ),
    (
        "history: a run could not measure",
        ACTION + "keeping.py",
        'if result.told.verdict == "cannot_measure":',
        "if False:",
        "tests/action/test_history.py",
    ),
    (
        "history: a pull request's runs",
        GITHUB + "history.py",
        '"repository_dispatch")',
        '"repository_dispatch", "pull_request")',
        "tests/unit/github/test_history.py",
    ),
    (
        "history: the artifact's run",
        GITHUB + "history.py",
        "run is not None and made_by(item, run, origin):",
        "run is not None:",
        "tests/unit/github/test_history.py",
    ),
    (
        "history: the record's commit",
        GITHUB + "history.py",
        'decode_record(data, place=f"artifact {item.id}").git.sha != run.head_sha',
        "False",
        "tests/unit/github/test_history.py",
    ),
    (
        "mentions broken",
        "rageval_action/core/escape.py",
        'shown = _MENTION.sub("@" + ZERO_WIDTH_SPACE, shown)',
        "",
        "tests/unit/core/test_escape.py",
    ),
    (
        "markup escaped",
        "rageval_action/core/escape.py",
        'shown = _MARKUP.sub(lambda found: f"&#{ord(found[0])};", shown)',
        "",
        "tests/unit/core/test_escape.py",
    ),
    (
        "links stay in their commit",
        "rageval_action/core/escape.py",
        'if any(segment in ("", ".", "..") for segment in segments):',
        "if False:",
        "tests/unit/core/test_escape.py",
    ),
)


def main() -> None:
    """Try each."""
    chosen = [
        mutation
        for mutation in MUTATIONS
        if not sys.argv[1:] or any(word in mutation[0] for word in sys.argv[1:])
    ]
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        ignore = shutil.ignore_patterns(".git", ".venv*", ".cache", "__pycache__", "node_modules")
        shutil.copytree(ROOT, tree, ignore=ignore)
        for name, file, old, new, tests in chosen:
            path = tree / file
            text = path.read_text("utf-8")
            if text.count(old) < 1:
                print(f"NOT FOUND  {name}: {file}")
                unnoticed += 1
                continue
            path.write_text(text.replace(old, new), "utf-8")
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests]
            done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
            path.write_text(text, "utf-8")
            failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            unnoticed += not failed
            print(
                f"{'noticed   ' if failed else 'UNNOTICED '} {name}: {failed[0][:150] if failed else ''}",
                flush=True,
            )
    raise SystemExit(1 if unnoticed else 0)


if __name__ == "__main__":
    main()
