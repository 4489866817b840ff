"""Write `action.yml` and `slim/action.yml` from the tables of options: `python tools/image/action_yml.py`."""

from __future__ import annotations

import json
from pathlib import Path

from rageval_action.action.inputs import ACTION_OPTIONS
from rageval_action.config import OPTIONS

ROOT = Path(__file__).resolve().parents[2]

OUTPUTS = {
    "verdict": "pass, fail, inconclusive, cannot_measure, no_baseline, overridden, skipped or error.",
    "exit-code": "What the step ends with: 0, 1 fail, 2 bad input, 3 cannot measure, 4 publishing, 70 a bug.",
    "error-code": "Stable code of the error when the verdict is error.",
    "record-path": "Folder of the run record, for actions/upload-artifact; empty when nothing was measured.",
    "artifact-name": "Name under which the record must be uploaded for later runs to find it.",
    "report-path": "Report as one HTML file.",
    "comment-path": "The comment as Markdown.",
    "comment-url": "Address of the comment, when there is one.",
    "check-url": "Address of the check run, when there is one.",
    "baseline-sha": "Commit of the baseline; empty without one.",
    "baseline-rung": "Where the baseline is from: exact, ancestor, snapshot or base-branch-record.",
    "baseline-distance": "Commits between the baseline and the base commit.",
    "primary-measure": "The headline measure, recall@k.",
    "primary-score": "Its value, unrounded.",
    "primary-delta": "Its change against the baseline, unrounded.",
}

HEADS = {
    "action.yml": (
        "rag-eval-action",
        "Tells on each pull request whether RAG retrieval got better or worse, query by query, and blocks real drops.",
        "Dockerfile",
    ),
    "slim/action.yml": (
        "rag-eval-action slim",
        "rag-eval-action without torch: for cached query vectors, BM25 and external retrievers.",
        "../Dockerfile.slim # zizmor: ignore[unpinned-images] built from this repository",
    ),
}


def text(name: str) -> str:
    """The whole file."""
    title, description, image = HEADS[name]
    lines = [
        f"name: {title}",
        f"description: {json.dumps(description)}",
        "author: the rag-eval-action authors",
    ]
    lines += ["branding:", "  icon: search", "  color: blue", "inputs:"]
    for option in sorted((*ACTION_OPTIONS, *OPTIONS), key=lambda option: option.name):
        lines += [f"  {option.name}:", f"    description: {json.dumps(option.help)}", "    required: false"]
        # The evaluation's own defaults stay out: an input that is set would win over rageval.yml.
        if option in ACTION_OPTIONS and option.default:
            lines.append(f"    default: {json.dumps(option.default)}")
    lines.append("outputs:")
    for output, meaning in OUTPUTS.items():
        lines += [f"  {output}:", f"    description: {json.dumps(meaning)}"]
    lines += ["runs:", "  using: docker", f"  image: {image}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name in HEADS:
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(text(name), "utf-8")
