"""What a run asks for: settings, and the requests' slots laid out over the sampled chunks."""

from __future__ import annotations

import hashlib
import math
import random
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rageval_action.errors import ConfigError, GoldenError
from rageval_action.golden.generate.candidates import STYLES, Slot
from rageval_action.golden.generate.prompting import CURRENT
from rageval_action.golden.generate.sampling import FEWEST_CHARACTERS, stratified, usable
from rageval_action.golden.shared_words import content_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rageval_action.core.model.types import Chunk

DEFAULT_STYLES = {"natural": 0.5, "keyword": 0.2, "typo": 0.1, "abbreviation": 0.1, "cross-lingual": 0.1}


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that decides what is asked; a run with the same settings asks the same.

    Attributes:
        questions: how many are asked for; fewer are kept.
        per_chunk: questions in one request.
        styles: style -> share of the questions about one chunk.
        multi, unanswerable: shares of `questions` about two documents, and about none.
        effort: of the writing model; empty for models that do not take it.
        critic_model: empty = no critic.
    """

    questions: int
    per_chunk: int = 2
    styles: dict[str, float] = msgspec.field(default_factory=DEFAULT_STYLES.copy)
    multi: float = 0.1
    unanswerable: float = 0.1
    seed: int = 0
    model: str = "claude-haiku-5-5"
    effort: str = "low"
    critic_model: str = "claude-haiku-5-5"
    critic_effort: str = "low"

    @property
    def run(self) -> str:
        """Name of the run: a hash of the settings and the prompts' versions, but for the number of questions."""
        same = msgspec.structs.replace(self, questions=0)
        return hashlib.sha256(msgspec.json.encode([same, CURRENT], order="sorted")).hexdigest()[:12]


def check(settings: Settings) -> None:
    """Refuse settings that cannot be followed.

    Raises:
        ConfigError: `generate.bad-settings`.
    """
    unknown = sorted(set(settings.styles) - set(STYLES))
    problem = ""
    if settings.questions < 1 or settings.per_chunk < 1:
        problem = "at least one question, and one a chunk, must be asked for."
    elif unknown:
        problem = f"there is no style {', '.join(unknown)}; there are {', '.join(STYLES)}."
    elif not settings.styles or min(settings.styles.values()) < 0 or sum(settings.styles.values()) <= 0:
        problem = "the shares of styles are not negative and not all zero."
    elif not (
        settings.multi >= 0 and settings.unanswerable >= 0 and settings.multi + settings.unanswerable <= 1
    ):
        problem = "the shares of multi-document and unanswerable questions lie between 0 and 1 together."
    if problem:
        raise ConfigError("generate.bad-settings", problem)


class QuestionPlan(Struct, frozen=True, kw_only=True):
    """The slots of a run in their order, and how many chunks were passed over, by reason."""

    slots: tuple[Slot, ...]
    skipped: dict[str, int]
    usable: int


_LONGER = (
    f"A chunk needs at least {FEWEST_CHARACTERS} characters of running text (a Chinese one counts as 2.5)."
)


def make_plan(chunks: Sequence[Chunk], settings: Settings) -> QuestionPlan:
    """Lay the questions out over the chunks.

    Raises:
        ConfigError: `generate.bad-settings`.
        GoldenError: `generate.no-chunks` when no chunk can carry a question.
    """
    check(settings)
    sample = usable(chunks)
    if not sample.chunks:
        passed = (
            ", ".join(f"{count} {reason}" for reason, count in sample.skipped.items()) or "there are none"
        )
        raise GoldenError("generate.no-chunks", f"no chunk can carry a question: {passed}.", hint=_LONGER)
    ordered = stratified(sample.chunks, settings.seed)
    multi = round(settings.questions * settings.multi)
    nothing = round(settings.questions * settings.unanswerable)
    pairs = related_pairs(ordered, multi)
    single = settings.questions - len(pairs) - nothing
    slots = _single(ordered, single, settings)
    slots += [Slot(kind="multi-document", chunks=pair, styles=("natural",)) for pair in pairs]
    later = ordered[len(slots) % len(ordered) :] + ordered[: len(slots) % len(ordered)]
    slots += [
        Slot(kind="unanswerable", chunks=(later[at % len(later)],), styles=("natural",))
        for at in range(nothing)
    ]
    return QuestionPlan(slots=tuple(slots), skipped=sample.skipped, usable=len(sample.chunks))


def _single(ordered: Sequence[Chunk], count: int, settings: Settings) -> list[Slot]:
    """Slots of one chunk each. More questions than the chunks carry at `per_chunk` are not asked for twice."""
    styles = _style_list(count, settings)
    slots: list[Slot] = []
    for at in range(0, count, settings.per_chunk):
        place = at // settings.per_chunk
        if place >= len(ordered):
            break
        slots.append(
            Slot(kind="lookup", chunks=(ordered[place],), styles=tuple(styles[at : at + settings.per_chunk]))
        )
    return slots


def _style_list(count: int, settings: Settings) -> list[str]:
    """`count` styles in the shares asked for (largest remainders), shuffled by the seed."""
    total = sum(settings.styles.values())
    exact = {name: count * share / total for name, share in settings.styles.items()}
    whole = {name: math.floor(share) for name, share in exact.items()}
    rest = sorted(exact, key=lambda name: (whole[name] - exact[name], name))
    for name in rest[: count - sum(whole.values())]:
        whole[name] += 1
    styles = [name for name in STYLES for _ in range(whole.get(name, 0))]
    random.Random(settings.seed).shuffle(styles)  # noqa: S311 - an order, not a secret
    return styles


def related_pairs(chunks: Sequence[Chunk], count: int) -> list[tuple[Chunk, Chunk]]:
    """Pairs of chunks of different documents that share rare words, so that one question can need both."""
    words = [set(content_tokens(chunk.text)) for chunk in chunks]
    places: dict[str, list[int]] = {}
    for at, own in enumerate(words):
        for word in sorted(own):
            places.setdefault(word, []).append(at)
    most = max(3, len(chunks) // 20)
    rare = {word: math.log(len(chunks) / len(at)) for word, at in places.items() if 2 <= len(at) <= most}
    used: set[int] = set()
    pairs: list[tuple[Chunk, Chunk]] = []
    for at, own in enumerate(words):
        if len(pairs) >= count:
            break
        if at in used:
            continue
        weights: dict[int, float] = {}
        for word in sorted(own & rare.keys()):
            for other in places[word]:
                weights[other] = weights.get(other, 0.0) + rare[word]
        free = [other for other in weights if other not in used and chunks[other].doc != chunks[at].doc]
        if free:
            best = max(free, key=lambda other: (weights[other], -other))
            used |= {at, best}
            pairs.append((chunks[at], chunks[best]))
    return pairs
