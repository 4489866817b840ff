"""One table of options. From it come the CLI's flags, the Action's inputs and the keys of `rageval.yml`.

Precedence: flag > input > file > default. The policy (`gates`, `waivers`, `fail-on`, `max-errors`) stands only in the
file: when a pull request is judged, the file is the base branch's (design §8).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from rageval_action.core.judging.policy import Policy, parse_policy
from rageval_action.core.wording.field_checks import check_value, shown
from rageval_action.errors import ConfigError, written

FILE = "rageval.yml"

Kind: TypeAlias = Literal["text", "path", "integer", "number", "flag", "list", "choice"]

POLICY_KEYS = frozenset({"gates", "waivers", "fail-on", "max-errors"})


UNREADABLE = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError)
"""What the YAML library raises, beside its own errors, for values that are not what their form or tag says."""


class Option(Struct, frozen=True, kw_only=True):
    """One option in all its spellings.

    Attributes:
        name: kebab-case; `--name`, `INPUT_NAME` (hyphens or underscores), `name:` in the file.
        default: as written by a user; empty = not set.
        choices: for `choice`.
    """

    name: str
    kind: Kind
    help: str
    default: str = ""
    choices: tuple[str, ...] = ()


OPTIONS: tuple[Option, ...] = (
    Option(name="golden", kind="path", help="Golden set: queries with what should be found."),
    Option(name="snapshot", kind="path", help="Index snapshot to search."),
    Option(
        name="unit",
        kind="choice",
        choices=("auto", "document", "chunk", "evidence"),
        default="auto",
        help="What the judgments name; auto looks where their ids are found.",
    ),
    Option(
        name="k",
        kind="integer",
        default="5",
        help="How many results your application uses: the headline cutoff.",
    ),
    Option(
        name="measures",
        kind="list",
        help="Measures, e.g. recall@1,3,5,10,mrr; repeatable. Default: a ladder around k.",
    ),
    Option(
        name="depth",
        kind="integer",
        default="100",
        help="How many distinct documents to rank per query, at least.",
    ),
    Option(name="retriever", kind="text", default="dense", help="Which retriever to measure."),
    Option(
        name="access",
        kind="choice",
        choices=("auto", "enforce", "audit"),
        default="auto",
        help="enforce: search only what the query may see; audit: judge every hit as returned; "
        "auto: audit for retrievers that are not ours, else enforce.",
    ),
    Option(
        name="model",
        kind="text",
        help="Folder or name of the embedding model, where query vectors are not cached.",
    ),
    Option(
        name="no-answer-threshold",
        kind="number",
        help="Score from which a hit for an unanswerable query counts.",
    ),
    Option(
        name="threads",
        kind="integer",
        default="0",
        help="Threads of the search library; 0 leaves it its default.",
    ),
    Option(
        name="texts",
        kind="flag",
        default="true",
        help="Keep query texts in the record (up to 300 characters).",
    ),
    Option(
        name="review",
        kind="choice",
        choices=("optional", "required"),
        default="optional",
        help="required: rows that nobody accepted take no part, and are counted.",
    ),
    Option(name="region", kind="text", help="Where the run took place, for latency comparisons."),
)

BY_NAME: dict[str, Option] = {option.name: option for option in OPTIONS}


class Config(Struct, frozen=True, kw_only=True):
    """Everything an evaluation is told, checked.

    Attributes:
        measures: as written; empty = the default ladder around `k`.
        no_answer_threshold: None = the no-answer track is not measured.
        file: the configuration file's name, for messages; also where there is none.
        retriever_place: where the retriever was named: the file, a flag or an input; empty for the default.
        retriever_options: the retriever's own options (`retriever:` as a mapping in the file).
    """

    file: str = FILE
    golden: str
    snapshot: str
    unit: Literal["auto", "document", "chunk", "evidence"]
    k: int
    measures: tuple[str, ...]
    depth: int
    retriever: str
    retriever_place: str = ""
    retriever_options: dict[str, str | int | float | bool]
    access: Literal["auto", "enforce", "audit"]
    model: str
    no_answer_threshold: float | None
    threads: int
    texts: bool
    review: Literal["optional", "required"]
    region: str
    policy: Policy


def read_file(path: Path) -> dict[str, object]:
    """`rageval.yml` as plain values. Relative paths in it are relative to its folder.

    Raises:
        ConfigError: `config.not-found`, `config.bad-yaml`, `config.unknown-key`.
    """
    values = parse_file(content(path), where=str(path))
    for name in ("golden", "snapshot"):
        if isinstance(values.get(name), str):
            values[name] = _beside(path, str(values[name]))
    return values


MOST_BYTES = 16 << 20


def content(path: Path) -> bytes:
    """The bytes of a configuration file; a link may lead to a device that has no end.

    Raises:
        ConfigError: `config.not-found`, `config.too-large`.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise ConfigError("config.not-found", f"{text}.", where=str(path)) from error
    if len(data) > MOST_BYTES:
        raise ConfigError("config.too-large", f"it has more than {MOST_BYTES:,} bytes.", where=str(path))
    return data


def _beside(file: Path, location: str) -> str:
    """A location named in the file, seen from the current folder; `scheme:path` and `role=path` stay as they are."""
    if ":" in location or "=" in location:
        return location
    return str(file.parent / location)


def parse_file(data: bytes, *, where: str, more: frozenset[str] = frozenset()) -> dict[str, object]:
    """The values of a configuration file; every key is known (or one of `more`) and stands there once."""
    import yaml

    kind: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = kind(data)
        node = loader.get_single_node()
        _refuse_repeats(node, where)
        if written_out(node, {}) > MOST_VALUES:
            raise ConfigError("config.bad-yaml", "its aliases stand for too many values.", where=where)
        _refuse_unreadable(loader, node, where)
        values = loader.construct_document(node) if node is not None else None
    except (yaml.YAMLError, *UNREADABLE) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}" if mark else where
        problem = getattr(error, "problem", None) or "not readable"
        raise ConfigError("config.bad-yaml", f"not valid YAML: {problem}.", where=place) from error
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ConfigError("config.bad-yaml", "the file is not a mapping of names to values.", where=where)
    for key in values:
        if key not in BY_NAME and key not in POLICY_KEYS and key not in more:
            raise _unknown(key, where)
    return values


MOST_VALUES = 100_000
"""Values that a YAML file may hold (a golden set: each row), its aliases written out."""


def written_out(node: Any, known: dict[int, int]) -> int:
    """How many values a node holds when each alias is put where it stands; one that holds itself has no end."""
    if node is None or node.id == "scalar":
        return 1
    if id(node) not in known:
        known[id(node)] = MOST_VALUES + 1
        parts = (part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,)))
        known[id(node)] = 1 + sum(written_out(part, known) for part in parts)
    return known[id(node)]


def _refuse_repeats(root: Any, where: str) -> None:
    """YAML libraries keep the last of two equal keys: a gate would vanish without a word."""
    seen: set[int] = set()
    left = [root] if root is not None else []
    while left:
        node = left.pop()
        if id(node) in seen or node.id == "scalar":
            continue
        seen.add(id(node))
        if node.id == "sequence":
            left += node.value
            continue
        keys: set[object] = set()
        for key, value in node.value:
            left.append(value)
            if key.id == "scalar" and key.value in keys:
                place = f"{where}:{key.start_mark.line + 1}"
                raise ConfigError("config.bad-yaml", f'"{key.value}" occurs twice.', where=place)
            keys.add(key.value if key.id == "scalar" else id(key))


_READ_BY_FORM = ("timestamp", "int", "float", "bool")
"""Kinds of YAML values that look like one and may be none (`2024-13-45`, `!!bool maybe`)."""


def _refuse_unreadable(loader: Any, root: Any, where: str) -> None:
    """The YAML library falls over a value that is not what it looks like, and does not say where it stands."""
    left, seen = [root] if root is not None else [], set()
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if node.id != "scalar":
            left += [
                part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,))
            ]
        elif kind in _READ_BY_FORM:
            try:
                loader.construct_object(node)
            except UNREADABLE:
                place = f"{where}:{node.start_mark.line + 1}"
                what = "date of the calendar" if kind == "timestamp" else kind
                raise ConfigError(
                    "config.bad-yaml", f"{shown(node.value)} is no {what}.", where=place
                ) from None


def _unknown(key: str, where: str) -> ConfigError:
    import difflib

    near = difflib.get_close_matches(key, [*BY_NAME, *POLICY_KEYS], n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join([*BY_NAME, *sorted(POLICY_KEYS)])}."
    return ConfigError("config.unknown-key", f'there is no option "{key}".', hint=hint, where=where)


def load(
    flags: Mapping[str, object], inputs: Mapping[str, str], file: Mapping[str, object], *, where: str = FILE
) -> Config:
    """Join the sources of options into one checked configuration.

    Args:
        flags: option name -> value as given on the command line; absent, None or () = not given.
        inputs: environment, of which `INPUT_*` is read in both spellings; empty strings = not given.
        file: plain values of the configuration file.
        where: the file's name, for messages.
    """
    values = {option.name: _pick(option, flags, inputs, file, where) for option in OPTIONS}
    retriever, options = _retriever(values["retriever"], where)
    policy = parse_policy(
        {**{key: file[key] for key in POLICY_KEYS if key in file}, "k": values["k"]}, where=where
    )
    if values["depth"] < values["k"]:
        text = f"depth is {values['depth']}, less than k = {values['k']}."
        raise ConfigError("config.bad-value", text, hint="Rank at least k documents.", where="depth")
    named = {name.replace("-", "_"): value for name, value in values.items()}
    _, place = _given(BY_NAME["retriever"], flags, inputs, file, where)
    named["region"] = written(named["region"])
    about = {"file": where, "retriever": retriever, "retriever_place": place, "retriever_options": options}
    return Config(**{**named, **about, "policy": policy})


def _pick(
    option: Option,
    flags: Mapping[str, object],
    inputs: Mapping[str, str],
    file: Mapping[str, object],
    where: str,
) -> Any:
    value, place = _given(option, flags, inputs, file, where)
    if place:
        return _typed(option, value, place)
    if option.default or option.kind == "list":
        return _typed(option, option.default, option.name)
    return _ABSENT[option.kind]


def _given(
    option: Option,
    flags: Mapping[str, object],
    inputs: Mapping[str, str],
    file: Mapping[str, object],
    where: str,
) -> tuple[object, str]:
    """What somebody set an option to, and where; an empty place when nobody did."""
    name = option.name
    given = flags.get(name, flags.get(name.replace("-", "_")))
    if given is not None and given != ():
        return given, f"--{name}"
    for spelling in (f"INPUT_{name.upper()}", f"INPUT_{name.upper().replace('-', '_')}"):
        if inputs.get(spelling, "").strip():
            return inputs[spelling].strip(), f"input {name}"
    if name in file and file[name] is not None:
        return file[name], f"{where}: {name}"
    return "", ""


_ABSENT: dict[str, str | None] = {"text": "", "path": "", "number": None}
"""What an option without default is when nobody set it."""

_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


def _typed(option: Option, value: object, place: str) -> Any:
    try:
        match option.kind:
            case "integer":
                return _integer(value, least=1 if option.name == "k" else 0, most=_MOST.get(option.name))
            case "number":
                return _number(value)
            case "flag":
                return _flag(value)
            case "list":
                return _list(value)
            case "choice":
                return _choice(option, value)
            case _:
                if option.name == "retriever" and isinstance(value, dict):
                    return value
                check_value(option.name, value, "text")
                return value
    except ValueError as error:
        raise ConfigError("config.bad-value", f"{error}.", where=place) from error


_MOST = {"threads": 1024}
"""The largest number that an option may be: the search library dies of more threads."""


def _integer(value: object, *, least: int, most: int | None) -> int:
    try:
        number = msgspec.convert(value, int, strict=False)
    except msgspec.ValidationError:
        raise ValueError(f"{shown(value)} is not a whole number") from None
    if number < least:
        raise ValueError(f"{number} is less than {least}")
    if most is not None and number > most:
        raise ValueError(f"{number} is more than {most}")
    return number


def _number(value: object) -> float:
    try:
        number = msgspec.convert(value, float, strict=False)
    except msgspec.ValidationError:
        raise ValueError(f"{shown(value)} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a number")
    return number


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(f'"{value}" is neither true nor false')
    return word in _TRUE


def _list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.replace("\n", ",").split(",") if part.strip())
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{shown(value)} is not a list of names")
    return tuple(value)


def _choice(option: Option, value: object) -> str:
    if value not in option.choices:
        raise ValueError(f'"{value}" is none of {", ".join(option.choices)}')
    return str(value)


def _retriever(value: object, where: str) -> tuple[str, dict[str, str | int | float | bool]]:
    """`retriever: bm25` or `retriever: {name: bm25, k1: 1.2}`."""
    if isinstance(value, str):
        return value, {}
    options = flatten(value, where=f"{where}: retriever") if isinstance(value, Mapping) else {}
    name = options.pop("name", "")
    if not isinstance(name, str) or not name:
        hint = "Write `retriever: NAME` or `retriever: {name: NAME, OPTION: VALUE}`."
        raise ConfigError("config.bad-value", "retriever: it has no name.", hint=hint, where=where)
    return name, options


def flatten(
    options: Mapping[str, object], prefix: str = "", *, where: str = ""
) -> dict[str, str | int | float | bool]:
    """Nested option tables, as YAML gives them, to one level: `{"dense": {"k": 3}}` -> `{"dense.k": 3}`.

    Lists of plain values become comma-separated strings, a program's words (`command`) one line quoted as for a shell.

    Raises:
        ConfigError: `config.bad-value` for a value that is no plain value.
    """
    flat: dict[str, str | int | float | bool] = {}
    for key, value in options.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{name}.", where=where))
        elif isinstance(value, (str, int, float, bool)):
            flat[name] = value
        elif isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
            words = [str(item) for item in value]
            flat[name] = shlex.join(words) if key == "command" else ",".join(words)
        else:
            raise ConfigError(
                "config.bad-value", f"{name}: {value!r} is not a value an option can have.", where=where
            )
    return flat
