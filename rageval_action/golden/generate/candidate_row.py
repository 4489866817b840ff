"""A kept question as a row of the golden set, with all that is known of how it came about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rageval_action.golden.generate.roundtrip import difficulty

if TYPE_CHECKING:
    from rageval_action.golden.canonical_file import RowDict
    from rageval_action.golden.generate.candidates import Candidate
    from rageval_action.golden.generate.question_plan import Settings


def to_row(one: Candidate, settings: Settings) -> RowDict:
    """The row: judged by evidence, which survives re-chunking; to be reviewed."""
    row: RowDict = {"id": one.id, "query": one.question}
    if one.slot.kind == "unanswerable":
        row["answerable"] = False
    else:
        items = {(item.doc, item.quote): item for item in (*one.evidence, *one.also)}
        row["evidence"] = msgspec.to_builtins(list(items.values()))
    hard = difficulty(one.ranks) if one.slot.kind != "unanswerable" else ""
    row["tags"] = [f"style:{one.style}", *([f"difficulty:{hard}"] if hard else [])]
    row["type"] = one.slot.kind
    if one.lang:
        row["lang"] = one.lang
    provenance: dict[str, object] = {
        "run": settings.run,
        "model": one.model,
        "prompt": one.prompt_version,
        "seed": settings.seed,
        "chunks": [chunk.id for chunk in one.slot.chunks],
        "scores": one.scores,
    }
    if settings.critic_model:
        provenance["critic"] = settings.critic_model
    if one.ranks:
        provenance["ranks"] = one.ranks
    if one.rewritten:
        provenance["rewritten"] = True
    return row | {"source": "synthetic", "review": "pending", "provenance": provenance}
