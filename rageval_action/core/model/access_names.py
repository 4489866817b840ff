"""Who asks and who may read, with names as 64-bit hashes: what a record keeps of access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rageval_action.core.model.hashing import text_hash

if TYPE_CHECKING:
    from rageval_action.core.model.types import ChunkAcl, QueryAcl


class Asker(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A `QueryAcl` whose names are `text_hash`es (16 hex digits); an empty string names nobody.

    Attributes:
        groups: sorted, each once, so that equal askers are equal values.
    """

    tenant: str = ""
    principal: str = ""
    groups: tuple[str, ...] = ()


class AccessList(Struct, frozen=True, kw_only=True):
    """A `ChunkAcl` whose names are `text_hash`es; empty fields do not restrict."""

    tenant: str = ""
    principals: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def admits(self, who: Asker) -> bool:
        """True when `who` may see the chunk, by the rule of `ChunkAcl.admits`."""
        if self.tenant and self.tenant != who.tenant:
            return False
        if not self.principals and not self.groups:
            return True
        if who.principal and who.principal in self.principals:
            return True
        return any(group in self.groups for group in who.groups)


def _hashed(name: str) -> str:
    return text_hash(name) if name else ""


def _sorted(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({text_hash(name) for name in names}))


def asker_of(acl: QueryAcl) -> Asker:
    """The asker of a query as a record keeps it."""
    return Asker(tenant=_hashed(acl.tenant), principal=_hashed(acl.principal), groups=_sorted(acl.groups))


def access_list_of(acl: ChunkAcl) -> AccessList:
    """The list of a chunk as a record keeps it."""
    return AccessList(
        tenant=_hashed(acl.tenant), principals=_sorted(acl.principals), groups=_sorted(acl.groups)
    )
