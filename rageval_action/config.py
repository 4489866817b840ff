"""One table of options. From it come the CLI's flags, the Action's inputs and the keys of `rageval.yml`.

Precedence: flag > input > file > default. The policy (`gates`, `waivers`, `fail-on`, `max-errors`) stands only in the
file: when a pull request is judged, the file is the base branch's (README, "The gate").
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from rageval_action.core.judging.policy import Policy, parse_policy
from rageval_action.core.model import lfs_pointer
from rageval_action.core.model.lfs_pointer import MARK, lfs_size
from rageval_action.errors import ConfigError, written
from rageval_action.option_values import Option, parse_value, read_input
from rageval_action.safe_yaml import YamlDocument, YamlError

FILE = "rageval.yml"

POLICY_KEYS = frozenset({"gates", "waivers", "fail-on", "max-errors", "cutoff"})


OPTIONS: tuple[Option, ...] = (
    Option(
        name="golden",
        kind="paths",
        help="Golden set: queries with what should be found. A file, folder or pattern; several are read as one set.",
    ),
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
        least=1,
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
        least=-1e12,
        most=1e12,
        help="Score from which a hit for an unanswerable query counts.",
    ),
    Option(
        name="threads",
        kind="integer",
        default="0",
        most=1024,  # the search library dies of more threads
        help="Threads of the search library; 0 leaves it its default.",
    ),
    Option(
        name="texts",
        kind="flag",
        default="true",
        help="Keep the questions' texts and quotes in the record."
        " Without them a later pull request can remove a question unseen.",
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
    return file_values(content(path), path, where=str(path))


def file_values(data: bytes, path: Path, *, where: str) -> dict[str, object]:
    """The values of a configuration file whose bytes are `data`, and whose relative paths start at `path`.

    Raises:
        ConfigError: `config.bad-yaml`, `config.unknown-key`.
    """
    values = parse_file(data, where=where)
    for name in ("golden", "snapshot"):
        value = values.get(name)
        if isinstance(value, str):
            values[name] = beside(path, value)
        elif isinstance(value, list):
            values[name] = [beside(path, item) if isinstance(item, str) else item for item in value]
    return values


MOST_BYTES = 16 << 20


def content(path: Path) -> bytes:
    """The bytes of a configuration file; a link may lead to a device that has no end.

    Raises:
        ConfigError: `config.not-found`, `config.too-large`, `config.lfs-pointer`.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise ConfigError("config.not-found", f"{text}.", where=str(path)) from error
    if data.startswith(MARK):
        text = f"this is a Git LFS pointer, not the file itself{lfs_size(data)}."
        hint = "Fetch it with `git lfs pull`; in a workflow give actions/checkout `lfs: true`."
        raise ConfigError("config.lfs-pointer", text, hint=hint, where=str(path))
    if len(data) > MOST_BYTES:
        raise ConfigError("config.too-large", f"it has more than {MOST_BYTES:,} bytes.", where=str(path))
    return data


def beside(file: Path, location: str) -> str:
    """A location named in the file, seen from the current folder; `scheme:path` and `role=path` stay as they are."""
    if ":" in location or "=" in location:
        return location
    return str(file.parent / location)


def parse_file(data: bytes, *, where: str, more: frozenset[str] = frozenset()) -> dict[str, object]:
    """The values of a configuration file; every key is known (or one of `more`) and stands there once."""
    if text := lfs_pointer.pointer_problem(data, "the configuration"):
        raise ConfigError("config.lfs-pointer", text, hint=lfs_pointer.HINT, where=where)
    try:
        document = YamlDocument(data)
        values = document.value(document.root)
    except YamlError as error:
        raise ConfigError("config.bad-yaml", f"{error.problem}.", where=error.place(where)) from error
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ConfigError("config.bad-yaml", "the file is not a mapping of names to values.", where=where)
    for key in values:
        if key not in BY_NAME and key not in POLICY_KEYS and key not in more:
            raise _unknown(key, where)
    return values


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
    if text := read_input(inputs, name):
        return text, f"input {name}"
    if name in file and file[name] is not None:
        return file[name], f"{where}: {name}"
    return "", ""


_ABSENT: dict[str, str | None] = {"text": "", "path": "", "paths": "", "number": None}
"""What an option without default is when nobody set it."""


def _typed(option: Option, value: object, place: str) -> Any:
    if option.name == "retriever" and isinstance(value, dict):
        return value
    try:
        return parse_value(option, value)
    except ValueError as error:
        raise ConfigError("config.bad-value", f"{error}.", where=place) from error


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
