"""Texts of a few chunks, read from a snapshot without opening the rest of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from rageval_action.core.model.hashing import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 10
"""Lost queries whose first rival is looked up: as many as a comment shows."""


class _Row(Struct):
    id: str
    text: str = ""
    acl: object = None


def snippets(document: Any, run: Any) -> dict[str, str]:
    """Id of each of the first lost queries -> the text of the chunk that took the place; empty without the snapshot.

    A chunk that not everybody may see keeps its text to itself: a comment has other readers than the index. Texts are
    an extra: where they cannot be read, nothing is missing from the result but they.
    """
    wanted = _wanted(document, run)
    path = Path(run.record.snapshot.path) / "chunks.jsonl"
    if not wanted or not path.is_file():
        return {}
    texts = _texts(path, {hit.id for hit in wanted.values()})
    return {
        query: texts[hit.id]
        for query, hit in wanted.items()
        if hit.id in texts and text_hash(texts[hit.id]) == hit.text_hash
    }


def _wanted(document: Any, run: Any) -> dict[str, Any]:
    """Lost query -> the best hit of its first rival."""
    lost = [change for change in document.queries if change.change in ("lost", "worse") and change.by][:MOST]
    rows = {row.query_id: row for row in run.queries}
    found: dict[str, Any] = {}
    for change in lost:
        rival, row = change.by[0], rows.get(change.id)
        hit = next((hit for hit in (row.results if row else ()) if rival in (hit.doc, hit.id)), None)
        if hit is not None:
            found[change.id] = hit
    return found


def _texts(path: Path, wanted: set[str]) -> dict[str, str]:
    decoder = msgspec.json.Decoder(_Row)
    found: dict[str, str] = {}
    try:
        with path.open("rb") as lines:
            for row in _rows(lines, decoder):
                if row.id not in wanted:
                    continue
                wanted.discard(row.id)
                if not row.acl:
                    found[row.id] = row.text
                if not wanted:
                    break
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return found


def _rows(lines: Iterable[bytes], decoder: msgspec.json.Decoder[_Row]) -> Iterable[_Row]:
    return (decoder.decode(line) for line in lines if line.strip())
