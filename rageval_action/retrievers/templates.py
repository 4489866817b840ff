"""JSON templates with placeholders, and values at dotted paths: how requests are made and answers are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rageval_action.core.model.types import Query


def values_of(query: Query, depth: int) -> dict[str, object]:
    """What the placeholders stand for."""
    acl = query.acl
    return {
        "{id}": query.id,
        "{query}": query.text,
        "{depth}": depth,
        "{acl.tenant}": acl.tenant if acl else "",
        "{acl.principal}": acl.principal if acl else "",
        "{acl.groups}": list(acl.groups) if acl else [],
    }


def fill_template(template: object, values: Mapping[str, object]) -> Any:
    """The template with its placeholders replaced, at any depth; one that stands alone keeps its value's type."""
    if isinstance(template, str):
        return values[template] if template in values else fill_text(template, values, str)
    if isinstance(template, list):
        return [fill_template(item, values) for item in template]
    if isinstance(template, dict):
        return {name: fill_template(item, values) for name, item in template.items()}
    return template


def fill_text(text: str, values: Mapping[str, object], escape: Callable[[str], str]) -> str:
    """Replace in one pass, so that a query which spells a placeholder stays a query."""
    pattern = "|".join(re.escape(name) for name in values)

    def written(match: re.Match[str]) -> str:
        value = values[match.group(0)]
        return escape(",".join(map(str, value)) if isinstance(value, list) else str(value))

    return re.sub(pattern, written, text)


def path(text: str) -> tuple[str, ...]:
    """`hits.0._id` -> its parts."""
    return tuple(part for part in text.split(".") if part)


def at(value: Any, parts: Sequence[str]) -> Any:
    """What lies at a path of names and list positions; None where there is nothing."""
    for part in parts:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
