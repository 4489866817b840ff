"""Content hashes that a contract names. Text is hashed in NFC so that two spellings of one string agree."""

from __future__ import annotations

import hashlib
import unicodedata


def text_hash(text: str) -> str:
    """First 16 hex digits (64 bits) of the SHA-256 of `text` in NFC and UTF-8."""
    folded = text if text.isascii() else unicodedata.normalize("NFC", text)
    return hashlib.sha256(folded.encode()).hexdigest()[:16]


def query_key(*, model: str, revision: str, prefix: str, text: str) -> str:
    """Key of a cached query vector: SHA-256 over model, revision, prefix and text, each ended by NUL."""
    joined = "\0".join((model, revision, prefix, unicodedata.normalize("NFC", text), ""))
    return hashlib.sha256(joined.encode()).hexdigest()


def question_key(text: str, asker: object) -> str:
    """SHA-256 of a question as it is meant, and of who asks it (`repr` of an `Asker`, or None).

    The text is folded: NFKC, case, white space, and format characters such as a zero-width space.
    """
    plain = "".join(one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
    return hashlib.sha256(f"{' '.join(plain.casefold().split())}\0{asker!r}".encode()).hexdigest()
