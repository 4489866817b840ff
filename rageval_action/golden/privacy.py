"""Possible personal data and keys in a text.

E-mail addresses are found always; phone numbers by phonenumbers and keys by detect-secrets (extra `[check]`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+(?!\w)")
_DIGITS = re.compile(r"\d(?:\D{0,2}\d){6,}")
_KEY_LIKE = re.compile(r"[A-Za-z0-9_\-/+=.]{16,}")
_PLACEHOLDER = re.compile(r"@(example\.|test\.|localhost)|@\w+\.(example|test|invalid)\b", re.IGNORECASE)


_MODEL_KEY = re.compile(r"(?<![\w-])sk-[A-Za-z0-9_-]{20,}")
"""Keys of model vendors, newer than the detectors."""

_KEY_DETECTORS = (
    "ArtifactoryDetector",
    "AWSKeyDetector",
    "AzureStorageKeyDetector",
    "BasicAuthDetector",
    "DiscordBotTokenDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "JwtTokenDetector",
    "MailchimpDetector",
    "NpmDetector",
    "OpenAIDetector",
    "PrivateKeyDetector",
    "PypiTokenDetector",
    "SendGridDetector",
    "SlackDetector",
    "SquareOAuthDetector",
    "StripeDetector",
    "TelegramBotTokenDetector",
    "TwilioKeyDetector",
)
"""Detectors of keys with a form of their own. Those that guess by entropy would take every long word for a key."""


class Found(Struct, frozen=True):
    """A piece of a text that may be personal: `kind` is `email`, `phone` or `key`; [start, end) is its place."""

    kind: str
    start: int
    end: int


class Detector:
    """Finds personal data.

    Args:
        regions: countries whose national way of writing phone numbers is known, as ISO 3166 letters.
    """

    def __init__(self, regions: tuple[str, ...] = ("US", "GB", "TW", "CN")) -> None:
        self._regions = regions
        self._phones = _phone_finder()
        self._keys = _key_finder()

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not looked for, because its library is not installed."""
        gone = (("phone numbers", self._phones is None), ("keys", self._keys is None))
        return tuple(name for name, absent in gone if absent)

    def find(self, text: str) -> list[Found]:
        """Pieces in order; where two overlap, the first kind found is kept."""
        found = [
            Found("email", *match.span())
            for match in _EMAIL.finditer(text)
            if not _PLACEHOLDER.search(match[0])
        ]
        if self._phones is not None and _DIGITS.search(text):
            for region in self._regions:
                found += [Found("phone", start, end) for start, end in self._phones(text, region)]
        found += [Found("key", *match.span()) for match in _MODEL_KEY.finditer(text)]
        if self._keys is not None and _KEY_LIKE.search(text):
            found += [Found("key", start, end) for start, end in self._keys(text)]
        return _without_overlaps(found)

    def redact(self, text: str) -> tuple[str, list[str]]:
        """The text with every piece replaced by its kind in brackets, and the kinds replaced."""
        pieces, kinds, at = [], [], 0
        for found in self.find(text):
            pieces += [text[at : found.start], f"[{found.kind}]"]
            kinds.append(found.kind)
            at = found.end
        return "".join([*pieces, text[at:]]), kinds


def _without_overlaps(found: list[Found]) -> list[Found]:
    kept: list[Found] = []
    for one in found:
        if all(one.end <= other.start or one.start >= other.end for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)


def _phone_finder() -> Callable[[str, str], Iterator[tuple[int, int]]] | None:
    try:
        import phonenumbers
    except ImportError:
        return None

    def find(text: str, region: str) -> Iterator[tuple[int, int]]:
        for match in phonenumbers.PhoneNumberMatcher(text, region, leniency=phonenumbers.Leniency.VALID):
            yield match.start, match.end

    return find


def _key_finder() -> Callable[[str], Iterator[tuple[int, int]]] | None:
    try:
        from detect_secrets.core.scan import scan_line
        from detect_secrets.settings import transient_settings
    except ImportError:
        return None

    def find(text: str) -> Iterator[tuple[int, int]]:
        with transient_settings({"plugins_used": [{"name": name} for name in _KEY_DETECTORS]}):
            values = [secret.secret_value for secret in scan_line(text) if secret.secret_value]
        for value in values:
            # Some detectors report the prefix of a key only; what is removed is the whole word around it.
            start = text.find(value)
            for word in _KEY_LIKE.finditer(text):
                if word.start() <= start < word.end():
                    yield word.span()

    return find
