"""Queries written otherwise than the text they should find: each kind is a tag, so that it becomes a slice.

Lexical search loses exactly these queries, and some embedders do too; a slice shows it.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING

from rageval_action.core.labels.tokens import fold_case, has_cjk, is_cjk, tokens
from rageval_action.golden.audit.findings import Finding, about, row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rageval_action.core.model.types import Query
    from rageval_action.golden.audit.findings import Subject

KINDS: dict[str, str] = {
    "form:nfd": "are not in Unicode form NFC",
    "form:full-width": "hold full-width letters or digits",
    "variant:width": "write in full width what the text writes in half width, or the other way round",
    "script:traditional": "are written in Traditional Chinese",
    "script:simplified": "are written in Simplified Chinese",
    "variant:script": "use the other Chinese script than the text they should find",
    "variant:case": "write a name in another case than the text (vpn, VPN)",
    "variant:hyphen": "hyphenate or join words otherwise than the text (e-mail, email)",
    "variant:abbreviation": "abbreviate what the text spells out, or the other way round",
    "variant:synonym": "use a synonym, by the list given, of what the text says",
}
"""Tag -> what such queries do."""

_FULL_WIDTH = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_RAW_WORD = re.compile(r"[A-Za-z0-9][\w'’-]*")
_ACRONYM = re.compile(r"\b[A-Z][A-Z0-9]{1,5}\b")
_NUMERONYM = re.compile(r"\b([a-z])(\d{1,2})([a-z])\b")


class Variants:
    """Finds the tags of one query.

    Args:
        synonyms: groups of words that mean the same, given by the user.
    """

    def __init__(self, synonyms: Sequence[Sequence[str]] = ()) -> None:
        self._synonyms = [[fold_case(word) for word in group] for group in synonyms]
        self._scripts = chinese_scripts()

    @property
    def missing(self) -> bool:
        """True when Chinese scripts cannot be told apart, because OpenCC is not installed."""
        return self._scripts is None

    def tags(self, query: str, passages: Sequence[str]) -> list[str]:
        """Tags of `KINDS` that fit, in that order; those that compare need passages."""
        found = set(self._forms(query))
        passage = "\n".join(passages)
        if passage:
            found |= {f"variant:{name}" for name, differs in _COMPARISONS.items() if differs(query, passage)}
            found |= self._script_differs(query, passage)
            if self._has_synonym(query, passage):
                found.add("variant:synonym")
        return [tag for tag in KINDS if tag in found]

    def _forms(self, query: str) -> Iterator[str]:
        if not unicodedata.is_normalized("NFC", query):
            yield "form:nfd"
        if _FULL_WIDTH.search(query):
            yield "form:full-width"
        if self._scripts is not None and has_cjk(query):
            traditional, simplified = self._scripts(query)
            if traditional != simplified:
                yield "script:traditional" if traditional else "script:simplified"

    def _script_differs(self, query: str, passage: str) -> set[str]:
        if self._scripts is None or not (has_cjk(query) and has_cjk(passage)):
            return set()
        asked, given = self._scripts(query), self._scripts(passage)
        apart = asked[0] != asked[1] and given[0] != given[1] and asked != given
        return {"variant:script"} if apart else set()

    def _has_synonym(self, query: str, passage: str) -> bool:
        asked, given = f" {fold_case(query)} ", f" {fold_case(passage)} "
        for group in self._synonyms:
            used = [word for word in group if _holds(asked, word)]
            if (
                used
                and not any(_holds(given, word) for word in used)
                and any(_holds(given, word) for word in group)
            ):
                return True
        return False


def variants(subject: Subject, finder: Variants) -> tuple[dict[str, list[str]], list[Finding]]:
    """Query id -> tags, and one finding a kind."""
    tags = {query.id: finder.tags(query.text, subject.passages(query)) for query in subject.queries}
    findings: list[Finding] = []
    for kind, what in KINDS.items():
        rows = tuple(row(query) for query in subject.queries if kind in tags[query.id])
        whole = len(rows) == len(subject.queries) and kind.startswith("script:")
        hint = "" if whole else f"--tag-variants FILE writes the set with the tag `{kind}`: a slice."
        code = f"check.{kind.replace(':', '-')}"
        findings += about(rows, code, f"queries {what}.", hint=hint, severity="info")
    if finder.missing and any(has_cjk(query.text) for query in subject.queries):
        findings.append(
            Finding(
                code="check.scripts-not-looked-at",
                severity="info",
                text="Traditional and Simplified Chinese were not told apart.",
                hint='Install "rag-eval-action[han]".',
            )
        )
    return tags, findings


def chinese_scripts() -> Callable[[str], tuple[bool, bool]] | None:
    """A function that says whether a text has Traditional and whether it has Simplified characters.

    By OpenCC's tables; None when OpenCC is not installed.
    """
    try:
        import opencc
    except ImportError:
        return None
    to_simplified, to_traditional = opencc.OpenCC("t2s"), opencc.OpenCC("s2t")

    def scripts(text: str) -> tuple[bool, bool]:
        return to_simplified.convert(text) != text, to_traditional.convert(text) != text

    return scripts


def _case_differs(query: str, passage: str) -> bool:
    forms: dict[str, set[str]] = {}
    for word in _RAW_WORD.findall(passage):
        forms.setdefault(word.casefold(), set()).add(word)
    for word in _RAW_WORD.findall(query):
        known = forms.get(word.casefold(), set())
        names = [form for form in known if form[1:] != form[1:].lower()]
        if names and len(names) == len(known) and word not in known:
            return True
    return False


def _hyphen_differs(query: str, passage: str) -> bool:
    asked, given = _words(query), _words(passage)
    return _rejoined(asked, given) or _rejoined(given, asked)


def _rejoined(left: list[str], right: list[str]) -> bool:
    """True when a hyphenated word of `left` stands in `right` only joined or as separate words."""
    known = set(right)
    pairs = set(pairwise(right))
    for word in set(left):
        parts = word.split("-")
        if len(parts) < 2 or word in known or not all(part.isalpha() for part in parts):
            continue
        if "".join(parts) in known or (len(parts) == 2 and (parts[0], parts[1]) in pairs):
            return True
    return False


def _abbreviates(query: str, passage: str) -> bool:
    return _spelled_out(query, passage) or _spelled_out(passage, query)


def _spelled_out(short: str, long: str) -> bool:
    """True when `short` has an acronym or numeronym that `long` has only spelled out."""
    words = [word for word in _words(long) if word.isalpha()]
    known = set(_words(long))
    initials = "".join(word[0] for word in words)
    for acronym in set(_ACRONYM.findall(short)):
        name = acronym.lower()
        if len(name) > 2 and name.isalpha() and name not in known and _in_sequence(name, initials, words):
            return True
    for first, count, last in _NUMERONYM.findall(short.lower()):
        fits = (len(word) == int(count) + 2 and word[0] == first and word[-1] == last for word in words)
        if f"{first}{count}{last}" not in known and any(fits):
            return True
    return False


def _in_sequence(name: str, initials: str, words: list[str]) -> bool:
    """True when words with these initials follow each other, and are not all tiny."""
    at = initials.find(name)
    while at >= 0:
        if sum(len(word) > 3 for word in words[at : at + len(name)]) >= len(name) - 1:
            return True
        at = initials.find(name, at + 1)
    return False


def _width_differs(query: str, passage: str) -> bool:
    """True when a word of the query stands in the passage in the other width only."""
    given = set(re.findall(r"\w+", passage))
    folded = {unicodedata.normalize("NFKC", word).casefold() for word in given}
    plain = {word.casefold() for word in given}
    for word in re.findall(r"\w+", query):
        half = unicodedata.normalize("NFKC", word).casefold()
        wide = _FULL_WIDTH.search(word) is not None
        if half in folded and (word.casefold() not in plain if wide else half not in plain):
            return True
    return False


def _words(text: str) -> list[str]:
    return [token for token in tokens(text) if not is_cjk(token)]


def _holds(text: str, word: str) -> bool:
    return word in text if has_cjk(word) else f" {word} " in re.sub(r"[^\w\s-]", " ", text)


_COMPARISONS: Mapping[str, Callable[[str, str], bool]] = {
    "width": _width_differs,
    "case": _case_differs,
    "hyphen": _hyphen_differs,
    "abbreviation": _abbreviates,
}


def tagged(query: Query, tags: Sequence[str]) -> tuple[str, ...]:
    """The query's tags with the found ones added."""
    return tuple(dict.fromkeys((*query.tags, *tags)))
