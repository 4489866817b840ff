"""What models cost, as of a date, and how many tokens a text may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.core.labels.tokens import is_cjk
from rageval_action.errors import ConfigError
from rageval_action.option_values import Option, parse_value

if TYPE_CHECKING:
    from rageval_action.golden.generate.model_requests import Request

AS_OF = "2026-10"
"""When the table was taken from the vendor's published price list (platform.claude.com, Pricing)."""

BATCH_SHARE = 0.5
"""The Message Batches API charges half of the price of input and output."""

LONG_PROMPT = 100_000
"""Tokens from which some models charge more for the whole request."""


class Price(Struct, frozen=True, kw_only=True):
    """US dollars per million tokens.

    Attributes:
        long_input, long_output: for prompts over `LONG_PROMPT` tokens; 0 where they cost the same.
        effort: whether the model takes `output_config.effort`.
    """

    input: float
    output: float
    long_input: float = 0.0
    long_output: float = 0.0
    effort: bool = True


PRICES: dict[str, Price] = {
    "claude-haiku-5-5": Price(input=0.10, output=0.50, long_input=0.50, long_output=2.50),
    "claude-haiku-4-5": Price(input=1, output=5, effort=False),
    "claude-haiku-4-5-20251001": Price(input=1, output=5, effort=False),
    "claude-sonnet-5-5": Price(input=2, output=10),
    "claude-sonnet-5": Price(input=2, output=10),
    "claude-sonnet-4-6": Price(input=3, output=15),
    "claude-opus-5-5": Price(input=4, output=20),
    "claude-opus-5": Price(input=5, output=25),
    "claude-opus-4-8": Price(input=5, output=25),
    "claude-opus-4-7": Price(input=5, output=25),
    "claude-opus-4-6": Price(input=5, output=25),
    "claude-fable-5-1": Price(input=10, output=50),
    "claude-fable-5": Price(input=10, output=50),
}
"""Model -> price, as of `AS_OF`."""


_DOLLARS = Option(name="price", kind="number")


def price_of(model: str, given: str) -> Price:
    """The price of a model: what the user gave (`INPUT/OUTPUT` in dollars per million tokens), else the table's.

    Raises:
        ConfigError: `generate.no-price` for a model that is not in the table, `generate.bad-price`.
    """
    if given:
        try:
            into, out = (parse_value(_DOLLARS, piece) for piece in given.split("/"))
        except ValueError as fault:
            text = f'"{given}" is not INPUT/OUTPUT, such as 1/5, each from 0 to {_DOLLARS.most:,.0f}.'
            raise ConfigError("generate.bad-price", text, where="--price") from fault
        return Price(input=into, output=out, effort=PRICES[model].effort if model in PRICES else False)
    if model not in PRICES:
        raise ConfigError(
            "generate.no-price",
            f'the price of "{model}" is not known, so its cost could neither be estimated nor stopped.',
            hint=f"Say it in dollars per million tokens, --price INPUT/OUTPUT. Known as of {AS_OF}: "
            f"{', '.join(PRICES)}.",
            where="--model",
        )
    return PRICES[model]


def cost(price: Price, input_tokens: float, output_tokens: float, *, batch: bool) -> float:
    """US dollars of one request."""
    long = input_tokens > LONG_PROMPT
    into = price.long_input if long and price.long_input else price.input
    out = price.long_output if long and price.long_output else price.output
    return (input_tokens * into + output_tokens * out) / 1e6 * (BATCH_SHARE if batch else 1)


def likely_tokens(text: str) -> int:
    """An estimate of the tokens of a text: one for 3 Latin characters, 1.3 for a CJK character.

    Tokenizers of 2026 count about 30 % more than those before; a count that errs is to err upwards.
    """
    cjk = sum(is_cjk(character) for character in text)
    return round((len(text) - cjk) / 3 + cjk * 1.3)


def most_tokens(request: Request) -> int:
    """A bound on the input tokens of a request: a token is at least one byte, and the schema is sent as well."""
    return len(request.system.encode()) + len(request.prompt.encode()) + 4 * len(str(request.schema)) + 500
