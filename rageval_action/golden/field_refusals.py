"""Refusals of golden files that cannot be measured: each names the field at fault and the way out."""

from __future__ import annotations

import difflib
import re
import shlex
from typing import TYPE_CHECKING

from rageval_action.core.wording.lists import listed
from rageval_action.errors import GoldenError
from rageval_action.golden.field_names import FILE_NAMES, NO_WAY, normalise
from rageval_action.golden.nested_fields import nested_names

if TYPE_CHECKING:
    from rageval_action.golden.containers import Line

_CITATION = re.compile(r"\[[^\[\]\n]+\.[A-Za-z]{2,5}(?:#page=\d+)?\]")
_LOOKED_AT = 50
_MOST_NESTED = 20
_CHATS = ("messages", "conversation", "conversations", "turns", "chat", "dialog", "dialogue")


def by_map(pairs: str, path: str = "FILE", more: str = "") -> str:
    """The command that reads the file with fields named, quoted for a shell: only `golden import` has `--map`."""
    command = f"rageval golden import {shlex.quote(path)} --map {shlex.quote(pairs)}"
    return f"`{command}{more} --out golden.jsonl`"


def no_such_field(mapped: str, theirs: str, names: list[str], path: str) -> GoldenError:
    """`--map` names a field that no row has."""
    near = difflib.get_close_matches(theirs, names, n=1)
    return GoldenError(
        "golden.no-field",
        f'no row has the field "{theirs}" (--map {mapped}); the file has: {", ".join(names)}.',
        hint=f'Did you mean "{near[0]}"?' if near else "",
        where=path,
    )


def no_query(names: list[str], path: str, lines: list[Line]) -> GoldenError:
    """No field is known to hold the query."""
    if turns := next((name for name in names if normalise(name) in _CHATS), ""):
        return GoldenError(
            "golden.no-query",
            f"this is a chat transcript: `{turns}` holds the turns of a conversation, not one question.",
            hint="Write a row for each question, with the ids of what should be found.",
            where=path,
        )
    likely = next((name for name in names if _is_text(name, lines)), "FIELD")
    pairs = f"query={likely},relevant=FIELD"
    return GoldenError(
        "golden.no-query",
        f"no field is known to hold the query; the file has: {_all(names, lines)}.",
        hint=f"Name it, and the field that says what should be found: {by_map(pairs, path)}.",
        where=path,
    )


def no_relevance(names: list[str], path: str, lines: list[Line], rivals: list[str]) -> GoldenError:
    """No field is known to say what should be found, or several are and they may not mean the same."""
    if rivals:
        return GoldenError(
            "golden.ambiguous-relevance",
            f"several fields may say what should be found: {', '.join(rivals)}.",
            hint=f"Choose one: {by_map(f'relevant={rivals[0]}', path)}.",
            where=path,
        )
    reason, hint = _reason(names, path, lines)
    return GoldenError(
        "golden.no-relevance",
        f"no field says by id what should be found; the file has: {_all(names, lines)}.{reason}",
        hint=hint,
        where=path,
    )


def _all(names: list[str], lines: list[Line]) -> str:
    """Every field of the file, and those inside its objects by dotted names."""
    nested = nested_names(line.row for line in lines)
    inside = f"; inside them: {listed(nested, _MOST_NESTED)}" if nested else ""
    return f"{', '.join(names)}{inside}"


def _reason(names: list[str], path: str, lines: list[Line]) -> tuple[str, str]:
    """Why the likeliest field will not do, and what would."""
    by_normal = {normalise(name): name for name in names}
    for normal, why in NO_WAY.items():
        if normal in by_normal:
            return (
                f" `{by_normal[normal]}` {why}.",
                "Add a field that lists the ids of the documents or chunks.",
            )
    expected = [
        name for normal, name in by_normal.items() if normal.startswith(("expect", "gold", "relevant"))
    ]
    for name in expected:
        if any(isinstance(line.row.get(name), list) for line in lines):
            return (
                f" `{name}` may list ids, or beginnings of ids.",
                (
                    f"If they are ids: {by_map(f'relevant={name}', path)}. If chunk ids begin with them: "
                    f"{by_map(f'relevant_prefix={name}', path, ' --snapshot DIR')}."
                ),
            )
    cited = next((name for name in names if _cites(name, lines)), "")
    if cited:
        return (
            f" `{cited}` cites files in brackets, as [handbook.pdf#page=3], but that is part of an answer.",
            "Copy the cited names into a field of their own and run again.",
        )
    files = [by_normal[normal] for normal in FILE_NAMES if normal in by_normal]
    if files:
        quote = next((name for name in names if normalise(name) in ("quote", "passage", "excerpt")), "")
        also = (
            f" Or by evidence, which survives re-chunking: {by_map(f'doc={files[0]},quote={quote}', path)}."
            if quote
            else ""
        )
        return (
            f" `{files[0]}` may name a document.",
            f"If it does, measure by document: {by_map(f'relevant={files[0]}', path)}.{also}",
        )
    if set(by_normal) <= {"id", "_id", "qid", "query_id", "query", "text", "question", "title"}:
        return " These are queries only.", "Name their judgments too: --golden queries=FILE,qrels=FILE."
    hint = "Add the ids of the documents that should be found, or name their field"
    return "", f"{hint}: {by_map('relevant=FIELD', path)}."


def _cites(name: str, lines: list[Line]) -> bool:
    texts = (line.row.get(name) for line in lines[:_LOOKED_AT])
    return any(isinstance(text, str) and _CITATION.search(text) for text in texts)


def _is_text(name: str, lines: list[Line]) -> bool:
    """True when the field holds sentences rather than ids."""
    texts = [line.row.get(name) for line in lines[:_LOOKED_AT]]
    return all(isinstance(text, str) for text in texts) and any(" " in str(text) for text in texts)
