"""Where every question went. The numbers add up, or it is a bug."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct


class Report(Struct, frozen=True, kw_only=True):
    """The funnel of a run: asked = parsed + Σ lost, parsed = kept + Σ dropped.

    Attributes:
        asked: questions that requests asked for.
        lost: reason -> questions that never came: refusals, broken or cut-off answers, failures of the service.
        surplus: questions beyond what was asked for, left alone.
        rewritten: of the kept ones, those that needed a second wording.
        written_before: of the kept ones, those that an earlier run had put into the file.
    """

    asked: int
    lost: dict[str, int]
    parsed: int
    dropped: dict[str, int]
    kept: int
    surplus: int
    rewritten: int
    written_before: int

    @property
    def adds_up(self) -> bool:
        """Whether every question is accounted for."""
        return self.asked == self.parsed + sum(self.lost.values()) and self.parsed == self.kept + sum(
            self.dropped.values()
        )


class Funnel:
    """Counts while a run goes on."""

    def __init__(self) -> None:
        self.asked = 0
        self.parsed = 0
        self.kept = 0
        self.surplus = 0
        self.rewritten = 0
        self.written_before = 0
        self.lost: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()

    def answer(self, asked: int, got: int, reason: str) -> None:
        """Note an answer: of `asked` questions `got` came; the others are lost for `reason`."""
        self.asked += asked
        used = min(asked, got)
        self.parsed += used
        self.surplus += got - used
        if used < asked:
            self.lost[reason or "too-few"] += asked - used

    def report(self) -> Report:
        """The counts so far."""
        return Report(
            asked=self.asked,
            lost=dict(self.lost),
            parsed=self.parsed,
            dropped=dict(self.dropped),
            kept=self.kept,
            surplus=self.surplus,
            rewritten=self.rewritten,
            written_before=self.written_before,
        )
