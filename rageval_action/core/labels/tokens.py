"""Text cut into tokens at the borders of scripts: words, and pairs of characters where a script writes no blanks.

The ranges are those of the Unicode property Script (Scripts.txt, 16.0), rounded up to whole blocks where the rest of a
block is kept for the same script.
"""

from __future__ import annotations

import re
import unicodedata

HAN = (
    "\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00016ff0-\U00016ff6\U00020000-\U0003fffd"
)
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"
"""Hiragana and katakana with the sign for long vowels; not the middle dot, which separates."""
HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc"

CJK = HAN + KANA + HANGUL
"""Characters of the scripts that are cut into pairs, as they stand in a character class of `re`."""

CJK_RUN = f"[{HAN}]+|[{KANA}]+|[{HANGUL}]+"
"""A run of one script."""

_CJK_TEXT = re.compile(f"[{CJK}]+")
_LETTER = f"[^\\W_{CJK}]"
_TOKEN = re.compile(rf"({CJK_RUN})|{_LETTER}+(?:[-_.:/#@'’+]{_LETTER}+)*\+*")
_BLANKS = re.compile(r"\s+")


def fold_case(text: str) -> str:
    """NFKC, case-folded, every run of white space one blank: two spellings that a reader takes for one text."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def tokens(text: str) -> list[str]:
    """Tokens of the text after `fold_case`, in order.

    Words keep inner hyphens, dots, colons and the like, so that an identifier (`STG-8815`, `os.path`) is one token.
    """
    return cut(_TOKEN, fold_case(text))


def cut(pattern: re.Pattern[str], text: str) -> list[str]:
    """What the pattern finds; a match of its first group, a run of a script without blanks, as overlapping pairs."""
    found: list[str] = []
    for match in pattern.finditer(text):
        run = match[0]
        if match[1] is None or len(run) == 1:
            found.append(run)
        else:
            found.extend(run[at : at + 2] for at in range(len(run) - 1))
    return found


def has_cjk(text: str) -> bool:
    """True when the text holds Chinese, Japanese or Korean characters."""
    return _CJK_TEXT.search(text) is not None


def is_cjk(token: str) -> bool:
    """True for a text of Chinese, Japanese or Korean characters alone."""
    return _CJK_TEXT.fullmatch(token) is not None
