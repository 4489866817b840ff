"""A run of generation from top to bottom: plan, write, filter, rewrite, criticise, search, keep."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.golden.canonical_file import append_row
from rageval_action.golden.generate.candidate_row import to_row
from rageval_action.golden.generate.filters import Complaint, Duplicates, Filters
from rageval_action.golden.generate.funnel import Funnel, Report
from rageval_action.golden.generate.model_stages import criticise, rewrite, write
from rageval_action.golden.generate.roundtrip import RoundTrip, Search, difficulty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rageval_action.core.model.snapshot import Encode
    from rageval_action.core.model.types import Chunk
    from rageval_action.golden.canonical_file import RowFile
    from rageval_action.golden.generate.candidates import Candidate, Slot
    from rageval_action.golden.generate.model_requests import Asker
    from rageval_action.golden.generate.question_plan import QuestionPlan, Settings


class Result(Struct, frozen=True, kw_only=True):
    """What a run did. `difficulty` counts kept answerable questions; `also` counts the judgments it added."""

    funnel: Report
    difficulty: dict[str, int]
    also: int
    unverified: int


class Generation:
    """One run.

    Args:
        chunks: of the whole snapshot.
        out: the file to append to; rows of an earlier run with the same settings are not written twice.
        existing: texts of other sets that questions must not repeat.
        searches: name -> search, for the round trip; none = no round trip.
        encode: for near-duplicates by meaning; None = by characters only.
        wave: slots worked on together: few when answers come at once, all of them when they come in a batch.
        say: told after each wave.
    """

    def __init__(
        self,
        chunks: Sequence[Chunk],
        settings: Settings,
        asker: Asker,
        out: RowFile,
        *,
        existing: Sequence[str] = (),
        searches: Mapping[str, Search] | None = None,
        encode: Encode | None = None,
        wave: int = 8,
        say: Callable[[Report], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._asker = asker
        self._out = out
        self._wave = wave
        self._say = say
        self._filters = Filters(chunks)
        self._trip = RoundTrip(chunks, searches) if searches else None
        earlier = [str(row["query"]) for row in out if _run_of(row) != settings.run]
        self._duplicates = Duplicates([*existing, *earlier], encode)
        self._funnel = Funnel()
        self._difficulty: Counter[str] = Counter()
        self._also = 0

    def run(self, plan: QuestionPlan) -> Result:
        """Work through the plan; every kept question is in the file when its wave is done."""
        for at in range(0, len(plan.slots), self._wave):
            self._work(plan.slots[at : at + self._wave])
            self._say(self._funnel.report())
        return Result(
            funnel=self._funnel.report(),
            difficulty={
                name: self._difficulty[name] for name in ("easy", "medium", "hard") if self._difficulty[name]
            },
            also=self._also,
            unverified=self._trip.unverified if self._trip else 0,
        )

    def _work(self, slots: Sequence[Slot]) -> None:
        found = write(slots, self._settings, self._asker, self._funnel)
        found = self._filtered(found)
        found = self._drop(
            found, ["near-duplicate" if self._duplicates.repeats(one.question) else "" for one in found]
        )
        if self._settings.critic_model:
            found = self._drop(found, criticise(found, self._settings, self._asker))
        if self._trip is not None:
            found = self._drop(found, self._trip(found, self._settings, self._asker))
        for one in found:
            self._keep(one)

    def _filtered(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Those that pass the deterministic filters, at once or after one rewriting, in their order."""
        complaints = [self._filters.complaint(one) for one in candidates]
        mendable = [at for at, complaint in enumerate(complaints) if complaint and complaint.fault]
        faults = [complaint.fault for complaint in complaints if complaint and complaint.fault]
        wordings = rewrite([candidates[at] for at in mendable], faults, self._settings, self._asker)
        for at, wording in zip(mendable, wordings, strict=True):
            complaints[at] = self._second_look(candidates[at], wording, complaints[at])
        return self._drop(candidates, [complaint.reason if complaint else "" for complaint in complaints])

    def _second_look(
        self, one: Candidate, wording: str | None, complaint: Complaint | None
    ) -> Complaint | None:
        if wording is None:
            return complaint
        one.question, one.rewritten = wording, True
        return self._filters.complaint(one)

    def _drop(self, candidates: Sequence[Candidate], reasons: Sequence[str]) -> list[Candidate]:
        """Count those with a reason, give back the others."""
        self._funnel.dropped.update(reason for reason in reasons if reason)
        return [one for one, reason in zip(candidates, reasons, strict=True) if not reason]

    def _keep(self, one: Candidate) -> None:
        self._funnel.kept += 1
        self._funnel.rewritten += one.rewritten
        self._also += len(one.also)
        if one.slot.kind != "unanswerable":
            self._difficulty[difficulty(one.ranks)] += 1
        if one.id in self._out:
            self._funnel.written_before += 1
            return
        append_row(self._out, to_row(one, self._settings))


def _run_of(row: dict[str, object]) -> str:
    provenance = row.get("provenance")
    return str(provenance.get("run", "")) if isinstance(provenance, dict) else ""
