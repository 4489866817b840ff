"""From text to index terms, by steps that are named, recorded, and the same for queries and chunks.

Nothing here is silent: every folding is an option with a name, and the run says which were in force.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rageval_action.core.labels.tokens import CJK, CJK_RUN, HAN, cut
from rageval_action.errors import ConfigError

if TYPE_CHECKING:
    from rageval_action.retrievers.options import Options

ANALYSIS = 2
"""Version of `mixed` and `bigrams` in a run's parameters. 2: the characters of each script are those of Unicode 16
(half-width and small katakana, Hangul jamo and rare ideographs are new), and kana and Hangul are runs of their own."""

WORD = re.compile(r"(?u)\b\w\w+\b")
"""Words of two characters or more: bm25s's own default (as scikit-learn's CountVectorizer has it)."""

BIGRAMS = re.compile(f"([{HAN}]+)|[a-z0-9]+")
"""Runs of Han characters, and runs of ASCII letters and digits (after lower-casing); all else separates."""

MIXED = re.compile(f"({CJK_RUN})|[^\\W{CJK}]{{2,}}")
"""Runs of Han, kana or Hangul, and Unicode words of two characters or more between them."""

HAN_FOLDINGS = ("none", "t2s", "s2t", "tw2s", "s2tw", "hk2s", "s2hk", "tw2sp", "s2twp")
STEMMERS = (
    "none", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french",
    "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali",
    "norwegian", "porter", "portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil",
    "turkish", "yiddish",
)  # fmt: skip
STOPWORDS = {
    "none": "", "chinese": "CHINESE", "danish": "DANISH", "dutch": "DUTCH", "english": "EN",
    "english-plus": "EN_PLUS", "french": "FRENCH", "german": "GERMAN", "italian": "ITALIAN",
    "korean": "KOREAN", "norwegian": "NORWEGIAN",
    "portuguese": "PORTUGUESE", "russian": "RUSSIAN", "spanish": "SPANISH",
    "swedish": "SWEDISH", "turkish": "TURKISH",
}  # fmt: skip

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}


class Analyzer:
    """Turns text into terms: fold characters, split, drop stop words, stem.

    Options: `tokens` (mixed, words, bigrams), `normalise` (none, nfc, nfkc), `fold_width`, `fold_han`,
    `lower`, `stopwords`, `stemmer`. With `tokens: words` the defaults are those of
    `bm25s.tokenize`.

    Raises:
        ConfigError: an unknown value, or an option whose library is not installed.
    """

    def __init__(self, options: Options) -> None:
        cutting = options.text("tokens", "mixed", choices=tuple(_SPLITTERS))
        self._split = _SPLITTERS[cutting]
        if cutting != "words":
            options.recorded["analysis"] = ANALYSIS
        form = options.text("normalise", "none", choices=("none", "nfc", "nfkc"))
        wide = options.flag("fold_width", default=False)
        han = options.text("fold_han", "none", choices=HAN_FOLDINGS)
        lower = options.flag("lower", default=True)
        stop = options.text("stopwords", "english", choices=tuple(STOPWORDS))
        stem = options.text("stemmer", "none", choices=STEMMERS)
        self._steps = list(_foldings(form=form, wide=wide, han=han, lower=lower))
        self._stop = _stop_words(stop)
        self._stem = _stemmer(stem)

    def fold(self, text: str) -> str:
        """The text after character folding, before it is split."""
        for step in self._steps:
            text = step(text)
        return text

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order, repetitions kept."""
        found = [term for term in self._split(self.fold(text)) if term not in self._stop]
        return self._stem(found) if self._stem else found


def words(text: str) -> list[str]:
    """Unicode words of two characters or more; a run of Chinese is one word."""
    return WORD.findall(text)


def bigrams(text: str) -> list[str]:
    """Overlapping pairs of Han characters (a lone one stands for itself) and runs of `a-z0-9`."""
    return cut(BIGRAMS, text)


def mixed(text: str) -> list[str]:
    """Overlapping pairs inside Han, kana and hangul runs; Unicode words between them."""
    return cut(MIXED, text)


_SPLITTERS: dict[str, Callable[[str], list[str]]] = {"mixed": mixed, "words": words, "bigrams": bigrams}


def _foldings(*, form: str, wide: bool, han: str, lower: bool) -> Iterable[Callable[[str], str]]:
    if form == "nfc":
        yield lambda text: unicodedata.normalize("NFC", text)
    if form == "nfkc":
        yield lambda text: unicodedata.normalize("NFKC", text)
    if wide:
        yield lambda text: text.translate(_WIDE)
    if han != "none":
        try:
            import opencc  # only who asks for it pays for it
        except ImportError:
            raise _missing("fold_han", "opencc", "han") from None
        convert: Callable[[str], str] = opencc.OpenCC(han).convert
        yield convert
    if lower:
        yield str.lower


def _stop_words(language: str) -> frozenset[str]:
    if language == "none":
        return frozenset()
    from bm25s import stopwords

    return frozenset(getattr(stopwords, f"STOPWORDS_{STOPWORDS[language]}"))


def _stemmer(language: str) -> Callable[[list[str]], list[str]] | None:
    if language == "none":
        return None
    try:
        import snowballstemmer  # uses the compiled PyStemmer by itself where that is installed
    except ImportError:
        raise _missing("stemmer", "snowballstemmer", "stem") from None
    stem: Callable[[list[str]], list[str]] = snowballstemmer.stemmer(language).stemWords
    return stem


def _missing(option: str, library: str, extra: str) -> ConfigError:
    return ConfigError(
        "config.missing-extra",
        f"the option {option} needs {library}, which is not installed.",
        hint=f'Install it: pip install "rag-eval-action[{extra}]".',
    )
