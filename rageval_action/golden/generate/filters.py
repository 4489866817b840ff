"""The filters that need no model: each gives a reason to drop a question, some of them a reason to rewrite it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rageval_action.core.labels.tokens import fold_case
from rageval_action.golden.generate.candidates import Candidate, found_evidence
from rageval_action.golden.near_duplicates import THRESHOLD, Index
from rageval_action.golden.parroting import Limits, document_frequencies, rare_identifiers, score
from rageval_action.golden.question_wording import is_joined, pointer, preamble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rageval_action.core.model.snapshot import Encode
    from rageval_action.core.model.types import Chunk

SEMANTIC_THRESHOLD = 0.95
"""Cosine of two questions from which they ask the same, where an encoder is at hand."""

_SHORTEST, _LONGEST = 4, 400


class Complaint(Struct, frozen=True):
    """Why a question is not good enough: `reason` is stable, `fault` says it to a rewriter (empty: beyond mending)."""

    reason: str
    fault: str = ""


class Filters:
    """The deterministic filters over one corpus.

    Args:
        chunks: of the whole corpus, for how rare an identifier is.
    """

    def __init__(self, chunks: Sequence[Chunk], limits: Limits | None = None) -> None:
        self._frequencies: Mapping[str, int] = document_frequencies([chunk.text for chunk in chunks])
        self._limits = limits or Limits()

    def complaint(self, candidate: Candidate) -> Complaint | None:
        """The first thing wrong with the question; fills in its evidence and scores."""
        text = candidate.question
        if not _SHORTEST <= len(text) <= _LONGEST:
            return Complaint("length")
        if words := preamble(text):
            return Complaint("preamble", f"it starts with text around the question: “{words}”")
        if is_joined(text):
            return Complaint("several-questions", "it holds several questions or lines; keep one")
        if words := pointer(text):
            return Complaint("not-self-contained", f"“{words}” points at a text that the asker does not see")
        if candidate.slot.kind == "unanswerable":
            return None
        candidate.evidence = found_evidence(candidate.slot.chunks, candidate.quotes)
        if not candidate.evidence:
            return Complaint("quote-not-found")
        return self._parroting(candidate)

    def _parroting(self, candidate: Candidate) -> Complaint | None:
        passages = [chunk.text for chunk in candidate.slot.chunks]
        found = [
            score(candidate.question, text, sorted(rare_identifiers(text, self._frequencies)))
            for text in passages
        ]
        worst = max(found, key=lambda one: one.rank)
        candidate.scores = {"overlap": round(worst.overlap, 3), "copied": worst.copied}
        leaked = sorted({word for one in found for word in one.leaked})
        if leaked:
            return Complaint(
                "leaked-identifier", f"it gives away {', '.join(leaked)}, which only this passage has"
            )
        for one in found:
            said = self._limits.complaint(one)
            if said:
                return Complaint("copied-wording", f"it is too close to the passage: {said}")
        return None


class Duplicates:
    """Refuses questions that repeat an earlier one, by their characters and, with an encoder, by their meaning."""

    def __init__(self, existing: Sequence[str], encode: Encode | None = None) -> None:
        self._index = Index(existing)
        self._exact = {fold_case(text) for text in existing}
        self._encode = encode
        self._vectors: list[np.ndarray[tuple[int], np.dtype[np.float32]]] = []
        if encode is not None and existing:
            self._vectors = list(_unit(encode(list(existing))))

    def repeats(self, text: str) -> bool:
        """True when the question repeats one that was there before; else it is remembered."""
        if fold_case(text) in self._exact or self._index.nearest(text)[1] >= THRESHOLD:
            return True
        if self._encode is not None:
            vector = _unit(self._encode([text]))[0]
            if self._vectors and float(np.max(np.stack(self._vectors) @ vector)) >= SEMANTIC_THRESHOLD:
                return True
            self._vectors.append(vector)
        self._exact.add(fold_case(text))
        self._index.add(text)
        return False


def _unit(
    matrix: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = matrix / np.maximum(norms, 1e-12)
    return unit
