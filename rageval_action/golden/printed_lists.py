"""Lists as Python and NumPy print them, in cells: `['a', 'b']`, `['a' 'b']`, `array(['a'], dtype=object)`.

Nothing is evaluated, since Python joins `'a' 'b'` to one text and reads `1_000` as a number. What could be read in
two ways is refused.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import Any

_ARRAY = re.compile(r"(np\.|numpy\.|pd\.)?(array|Index|Series)\(")
_WHOLE = re.compile(r"0|[1-9][0-9]{0,30}")
_DECIMAL = re.compile(r"[0-9]+\.[0-9]*|\.[0-9]+")
_WORDS = {"True": True, "False": False, "None": None, "nan": None, "null": None, "true": True, "false": False}
_SKIPPED = (
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.COMMENT,
)
_CLOSING = {"[": "]", "(": ")", "{": "}"}


def is_printed(text: str) -> bool:
    """True for a cell that starts like a list, an object, a tuple of texts or a printed array."""
    return text.startswith(("[", "{", "('", '("')) or _ARRAY.match(text) is not None


def parse_printed(text: str) -> Any:
    """The lists, maps, texts and numbers that a printed value holds.

    Raises:
        ValueError: what is wrong, as the rest of a sentence.
    """
    try:
        tokens = [
            token
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in _SKIPPED
        ]
    except (tokenize.TokenError, SyntaxError, IndentationError) as fault:
        raise ValueError("it is neither JSON nor a list as Python prints it") from fault
    parser = _Parser(tokens)
    value = parser.value()
    if parser.left():
        raise ValueError(f"nothing may follow the list, but {parser.peek()!r} does")
    return value


class _Parser:
    """Recursive descent over Python's tokens; texts are unquoted one by one and never joined."""

    def __init__(self, tokens: list[tokenize.TokenInfo]) -> None:
        self._tokens = tokens
        self._at = 0

    def left(self) -> bool:
        """True before the end."""
        return self._at < len(self._tokens)

    def peek(self) -> str:
        """The next token as written; empty at the end."""
        return self._tokens[self._at].string if self.left() else ""

    def value(self) -> Any:
        """One value of any kind."""
        if not self.left():
            raise ValueError("it ends too soon")
        token = self._tokens[self._at]
        self._at += 1
        if token.string in _CLOSING:
            return self._items(_CLOSING[token.string])
        if token.string == "-" and self.left():
            number = self.value()
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise ValueError("a minus stands before something that is no number")
            return -number
        if token.type == tokenize.STRING:
            return _unquoted(token.string)
        if token.type == tokenize.NUMBER:
            return _number(token.string)
        if token.type == tokenize.NAME:
            return self._named(token.string)
        if token.string in ("...", "…"):
            raise ValueError("it was cut short with … when it was printed")
        raise ValueError(f"{token.string!r} stands where a value is expected")

    def _named(self, name: str) -> Any:
        """`None`, `True`, or an array with its arguments."""
        if name in ("np", "numpy", "pd") and self.peek() == ".":
            self._at += 1
            name, self._at = self.peek(), self._at + 1
        if self.peek() == "(" and name in ("array", "Index", "Series", "list", "tuple", "set", "frozenset"):
            self._at += 1
            found = self.value() if self.peek() != ")" else []
            while self.left() and self.peek() != ")":
                self._at += 1  # dtype=object and its like
            self._close(")")
            return found
        if self.peek() == "(" and name in ("str_", "int64", "int32"):
            self._at += 1
            found = self.value()
            self._close(")")
            return found
        if name in _WORDS:
            return _WORDS[name]
        raise ValueError(f"{name!r} has no quotes")

    def _close(self, mark: str) -> None:
        if self.peek() != mark:
            raise ValueError(f"the closing {mark} is missing")
        self._at += 1

    def _check_apart(self) -> None:
        """Entries without a blank between them are one spelling of something else (`010`, `1_0`)."""
        before, here = self._tokens[self._at - 1], self._tokens[self._at]
        if before.end == here.start:
            raise ValueError(f"{before.string}{here.string} is not a plain number or text")

    def _items(self, closing: str) -> Any:
        """The entries up to `closing`: between commas, or between blanks as NumPy prints them, never both."""
        items: list[Any] = []
        pairs: dict[str, Any] = {}
        commas = blanks = 0
        while self.left() and self.peek() != closing:
            if items or pairs:
                if self.peek() == ",":
                    commas, self._at = commas + 1, self._at + 1
                    if self.peek() == closing:
                        break
                else:
                    self._check_apart()
                    blanks += 1
            item = self.value()
            if closing == "}" and self.peek() == ":":
                self._at += 1
                if str(item) in pairs:
                    raise ValueError(f"{str(item)!r} occurs twice")
                pairs[_key(item)] = self.value()
            else:
                items.append(item)
        self._close(closing)
        if commas and blanks:
            raise ValueError("commas part some of its entries and only blanks part others")
        if blanks and closing != "]":
            raise ValueError("a comma is missing between its entries")
        if pairs and items:
            raise ValueError("it mixes keys and entries")
        return items if items or closing != "}" else pairs


def _key(item: object) -> str:
    if isinstance(item, str) or (isinstance(item, int) and not isinstance(item, bool)):
        return str(item)
    raise ValueError(f"{item!r} is no key")


def _unquoted(written: str) -> str:
    if written[:1] not in "'\"" or written.startswith(("'''", '"""')):
        raise ValueError(f"{written!r} is no plain text between quotes")
    try:
        text = ast.literal_eval(written)
    except (ValueError, SyntaxError) as fault:
        raise ValueError(f"{written!r} cannot be read") from fault
    return str(text)


def _number(written: str) -> int | float:
    """A number whose text survives being read; `1_000`, `0x1F` and `1e3` do not."""
    if _WHOLE.fullmatch(written):
        return int(written)
    if _DECIMAL.fullmatch(written):
        return float(written)
    raise ValueError(f"{written} is not a plain number; put quotes around it if it is an id")
