"""The nouns: frozen everywhere, and the one rule of access that lives beside them."""

from __future__ import annotations

import importlib
import pkgutil

import msgspec
import pytest

import rageval_action.core
from rageval_action.core.model.types import ChunkAcl, QueryAcl

MODULES = [module.name for module in pkgutil.iter_modules(rageval_action.core.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_every_type_of_the_core_is_frozen(name: str) -> None:
    module = importlib.import_module(f"rageval_action.core.{name}")
    for found in vars(module).values():
        if (
            isinstance(found, type)
            and issubclass(found, msgspec.Struct)
            and found.__module__ == module.__name__
        ):
            assert found.__struct_config__.frozen or found.__name__ == "_Head", found


@pytest.mark.parametrize(
    ("chunk", "who", "admitted"),
    [
        (ChunkAcl(), QueryAcl(), True),
        (ChunkAcl(tenant="acme"), QueryAcl(tenant="acme"), True),
        (ChunkAcl(tenant="acme"), QueryAcl(), False),
        (ChunkAcl(tenant="acme"), QueryAcl(tenant="globex"), False),
        (ChunkAcl(), QueryAcl(tenant="globex"), True),
        (ChunkAcl(principals=("u",)), QueryAcl(principal="u"), True),
        (ChunkAcl(principals=("u",)), QueryAcl(principal="v"), False),
        (ChunkAcl(principals=("",)), QueryAcl(), False),
        (ChunkAcl(groups=("ops", "dev")), QueryAcl(groups=("hr", "dev")), True),
        (ChunkAcl(groups=("ops",)), QueryAcl(groups=()), False),
        (ChunkAcl(principals=("u",), groups=("ops",)), QueryAcl(principal="v", groups=("ops",)), True),
        (ChunkAcl(tenant="acme", groups=("ops",)), QueryAcl(tenant="globex", groups=("ops",)), False),
    ],
)
def test_who_may_see_a_chunk(chunk: ChunkAcl, who: QueryAcl, admitted: bool) -> None:
    assert chunk.admits(who) is admitted
