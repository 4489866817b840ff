"""Hashes that a contract names: fixed bits, NFC, and no two keys that run into each other."""

from __future__ import annotations

from rageval_action.core.model.hashing import query_key, text_hash


def test_text_hash_is_the_start_of_sha256() -> None:
    assert text_hash("abc") == "ba7816bf8f01cfea"
    assert text_hash("cafe\u0301") == text_hash("caf\u00e9") != text_hash("cafe")


def test_query_key_knows_its_parts_apart() -> None:
    base = {"model": "m", "revision": "r", "prefix": "p", "text": "t"}
    keys = {query_key(**base), *(query_key(**{**base, name: value}) for name in base for value in ("", "x"))}
    assert len(keys) == 9
    assert query_key(model="a", revision="b", prefix="", text="") != query_key(
        model="ab", revision="", prefix="", text=""
    )
    assert query_key(**{**base, "text": "cafe\u0301"}) == query_key(**{**base, "text": "caf\u00e9"})
    assert len(query_key(**base)) == 64
