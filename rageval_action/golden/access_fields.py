"""Who asks, under the names that files use for it. An unknown name is an error: it would switch access off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rageval_action.core.model.types import QueryAcl
from rageval_action.core.wording.field_checks import shown
from rageval_action.golden.query_builder import RowError
from rageval_action.golden.row_faults import kind

if TYPE_CHECKING:
    from collections.abc import Mapping

ACL_NAMES: dict[str, tuple[str, ...]] = {
    "tenant": ("tenant", "tenant_id"),
    "principal": ("principal", "principal_id", "user", "user_id"),
    "groups": ("groups", "group_ids", "user_groups"),
}
"""Our key inside `acl` -> names that files use for it."""


def read_acl(value: object) -> QueryAcl:
    """The access of a row.

    Raises:
        RowError: a key that is not known, a value of another kind, or two names for one thing.
    """
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError as fault:
            raise RowError(
                "`acl` is text; it is an object with `tenant`, `principal` or `groups`."
            ) from fault
    if not isinstance(value, dict):
        raise RowError(f"`acl` is {shown(value)}; it is an object with `tenant`, `principal` or `groups`.")
    table = {ours: _only(value, ours, names) for ours, names in ACL_NAMES.items()}
    known = {name for names in ACL_NAMES.values() for name in names}
    unknown = [str(name) for name in value if name not in known]
    if unknown:
        names = ", ".join(f"`acl.{name}`" for name in unknown)
        raise RowError(f"{names}: `acl` has only `tenant`, `principal` and `groups`.")
    groups = table["groups"]
    if groups is not None and not isinstance(groups, list | tuple):
        raise RowError(f"`acl.groups` is {kind(groups)}; it is a list.")
    return QueryAcl(
        tenant=_word(table["tenant"], "tenant"),
        principal=_word(table["principal"], "principal"),
        groups=tuple(_word(group, "groups") for group in groups or ()),
    )


def _only(value: Mapping[str, Any], ours: str, names: tuple[str, ...]) -> Any:
    present = [name for name in names if value.get(name) is not None]
    if len(present) > 1:
        raise RowError(f"`acl` names its {ours} twice: {', '.join(f'`{name}`' for name in present)}.")
    return value[present[0]] if present else None


def _word(value: object, field: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowError(f"`acl.{field}` is {shown(value)}; it is text.")
    return str(value)
