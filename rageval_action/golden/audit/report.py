"""The audit of a golden set: every check, worst first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rageval_action.golden.audit import labels, texts
from rageval_action.golden.audit.findings import Finding, Subject
from rageval_action.golden.audit.variants import Variants, variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rageval_action.core.model.types import Chunk, GoldenSet

_SAID = ("golden.detected", "golden.conflicting-judgments")
"""Notices of the reader that say nothing new here: what was read, and what `labels.repeated` lists."""

_ORDER = {"error": 0, "warning": 1, "info": 2}

CHECKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    labels.unmatched,
    labels.repeated,
    labels.duplicates,
    labels.hidden,
    labels.coarse,
    texts.privacy,
    texts.wording,
    texts.parroting,
    labels.slices,
    labels.cover,
    labels.state,
    labels.power,
)
"""Every check but the variants, which also give tags."""


class Audit(Struct, frozen=True, kw_only=True, rename={"schema_name": "schema"}):
    """`golden check --json`.

    Attributes:
        queries: rows that were looked at.
        findings: errors first, then warnings, then what is worth knowing.
        tags: query id -> tags of `audit.variants.KINDS`.
    """

    schema_name: Literal["rageval.golden-check/1"] = "rageval.golden-check/1"
    path: str
    format: str
    queries: int
    errors: int
    warnings: int
    findings: tuple[Finding, ...]
    tags: dict[str, list[str]]


def audit(golden: GoldenSet, chunks: Sequence[Chunk] = (), synonyms: Sequence[Sequence[str]] = ()) -> Audit:
    """Run every check. Without `chunks` those that need the texts of documents say nothing."""
    subject = Subject(golden, chunks)
    found = [finding for check in CHECKS for finding in check(subject)]
    tags, forms = variants(subject, Variants(synonyms))
    found += forms
    found += [
        Finding(code=notice.code, severity="info", text=notice.text)
        for notice in golden.notices
        if notice.code not in _SAID
    ]
    found.sort(key=lambda finding: _ORDER[finding.severity])
    counts = Counter(finding.severity for finding in found)
    return Audit(
        path=golden.path,
        format=golden.format,
        queries=len(golden.queries),
        errors=counts["error"],
        warnings=counts["warning"],
        findings=tuple(found),
        tags={name: kinds for name, kinds in tags.items() if kinds},
    )
