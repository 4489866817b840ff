"""Access by hashed names decides as access by names does."""

from __future__ import annotations

import itertools

import pytest

from rageval_action.core.model.access_names import Asker, access_list_of, asker_of
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import ChunkAcl, QueryAcl

LISTS = [
    ChunkAcl(tenant=tenant, principals=principals, groups=groups)
    for tenant, principals, groups in itertools.product(("", "acme"), ((), ("ann", "ben")), ((), ("ops",)))
]
ASKERS = [
    QueryAcl(tenant=tenant, principal=principal, groups=groups)
    for tenant, principal, groups in itertools.product(
        ("", "acme", "other"), ("", "ann", "eve"), ((), ("ops",), ("dev", "ops"), ("dev",))
    )
]


@pytest.mark.parametrize("acl", LISTS)
def test_the_same_people_may_read(acl: ChunkAcl) -> None:
    found = access_list_of(acl)
    assert [found.admits(asker_of(who)) for who in ASKERS] == [acl.admits(who) for who in ASKERS]


def test_names_are_hashes_in_one_order() -> None:
    who = asker_of(QueryAcl(principal="ann", groups=("ops", "dev", "ops")))
    assert who == Asker(
        principal=text_hash("ann"), groups=tuple(sorted({text_hash("ops"), text_hash("dev")}))
    )
    assert asker_of(QueryAcl(principal="ann", groups=("dev", "ops"))) == who
