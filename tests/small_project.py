"""A small project on disk: a golden set and a snapshot whose vectors come from the words, so that no model is needed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.model.hashing import query_key
from rageval_action.core.model.snapshot import BuildSettings
from rageval_action.core.model.types import Chunk
from rageval_action.snapshots.write import Contents, write_snapshot

ROOT = Path(__file__).resolve().parents[1]
CHILD_PATH = os.pathsep.join((str(ROOT / "tests" / "loopback_only"), str(ROOT)))
"""PYTHONPATH of the commands that tests start: they import our tree, and reach nothing beyond loopback."""

DIMENSION = 64
MODEL = "words"

DOCUMENTS: dict[str, str] = {
    "vpn-cert": "rotate the vpn gateway certificate with the new serial",
    "vpn-setup": "install the vpn client and sign in",
    "sql-log": "the transaction log is full error 9002",
    "sql-backup": "take a backup of the database every night",
    "firewall": "who approves firewall changes in production",
    "onboarding": "first day checklist for new colleagues",
    "holiday": "how to ask for holiday and sick leave",
    "printer": "the printer on the second floor jams",
    "cafe": "lunch menu and opening hours of the canteen",
    "parking": "where to park a bicycle or a car",
}

GOLDEN: tuple[dict[str, object], ...] = (
    {
        "id": "q1",
        "query": "rotate vpn certificate",
        "relevant": {"vpn-cert": 3, "vpn-setup": 1},
        "tags": ["vpn"],
    },
    {"id": "q2", "query": "error 9002 log full", "relevant": ["sql-log"], "tags": ["sql", "critical"]},
    {"id": "q3", "query": "backup of the database", "relevant": ["sql-backup"], "tags": ["sql"]},
    {"id": "q4", "query": "who approves firewall changes", "relevant": ["firewall"]},
    {"id": "q5", "query": "sick leave", "relevant": ["holiday"]},
    {"id": "q6", "query": "printer jams", "relevant": ["printer"]},
    {"id": "q7", "query": "park a car", "relevant": ["parking"]},
    {"id": "q8", "query": "who won the cup in 2031", "answerable": False},
)


def vector(text: str) -> NDArray[np.float32]:
    """A unit vector of hashed words: texts with common words are near each other."""
    found = np.zeros(DIMENSION, dtype=np.float64)
    for word in text.lower().split():
        digest = hashlib.sha256(word.encode()).digest()
        found[digest[0] % DIMENSION] += 1.0 if digest[1] % 2 else -1.0
        found[digest[2] % DIMENSION] += 0.5
    return (found / (np.linalg.norm(found) or 1.0)).astype(np.float32)


def write_golden(path: Path, rows: Sequence[Mapping[str, object]] = GOLDEN) -> Path:
    """The golden set as canonical JSONL."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_index(
    path: Path,
    documents: Mapping[str, str] = DOCUMENTS,
    rows: Sequence[Mapping[str, object]] = GOLDEN,
    *,
    chunks: Sequence[Chunk] = (),
    cached: bool = True,
) -> Path:
    """A snapshot with one chunk a document (or the given chunks) and cached vectors of the golden queries."""
    made = list(chunks) or [Chunk(id=f"{name}#0", doc=name, text=text) for name, text in documents.items()]
    keys = {
        query_key(model=MODEL, revision="", prefix="", text=str(row["query"])): vector(str(row["query"]))
        for row in rows
    }
    contents = Contents(
        chunks=made,
        vectors=np.stack([vector(chunk.text) for chunk in made]),
        query_vectors=keys if cached else {},
    )
    write_snapshot(path, contents, BuildSettings(metric="ip", model=MODEL, chunker="whole documents"))
    return path


def rageval(
    *words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own, away from this one's environment variables of GitHub."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "INPUT_"))}
    return subprocess.run(
        [sys.executable, "-m", "rageval_action", *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**clean, "PYTHONPATH": CHILD_PATH, **(env or {})},
        timeout=120,
    )
