from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_action.core.labels.tokens import CJK, HAN, HANGUL, KANA, fold_case, has_cjk, is_cjk, tokens

SCRIPTS = {
    HAN: ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "CJK RADICAL", "KANGXI RADICAL"),
    KANA: ("HIRAGANA LETTER", "KATAKANA LETTER", "HALFWIDTH KATAKANA LETTER", "HENTAIGANA LETTER"),
    HANGUL: ("HANGUL SYLLABLE", "HANGUL LETTER", "HANGUL CHOSEONG", "HANGUL JUNGSEONG", "HALFWIDTH HANGUL"),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ETLのデータセットとは", ["etl", "のデ", "デー", "ータ", "タセ", "セッ", "ット", "トと", "とは"]),
        ("重設VPN閘道", ["重設", "vpn", "閘道"]),
        ("第3章 ２０２６年", ["第", "3", "章", "2026", "年"]),
        ("割合は漢", ["割合", "は", "漢"]),
        ("ﾃﾞｰﾀ", ["デー", "ータ"]),
        ("서울특별시 서", ["서울", "울특", "특별", "별시", "서"]),
        ("𠮷野家𰻞", ["𠮷野", "野家", "家𰻞"]),
        ("STG-8815 os.path C++ it's a_b", ["stg-8815", "os.path", "c++", "it's", "a_b"]),
        ("STG-8815の", ["stg-8815", "の"]),
        ("データ・セット", ["デー", "ータ", "セッ", "ット"]),
        (" .-_ ", []),
    ],
)
def test_tokens_end_at_the_borders_of_scripts(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_every_letter_is_of_the_script_that_its_name_says() -> None:
    for code in range(0x110000):
        character = chr(code)
        name = unicodedata.name(character, "")
        for script, starts in SCRIPTS.items():
            if name.startswith(starts):
                assert re.fullmatch(f"[{script}]", character), name


@given(st.text())
def test_no_token_joins_a_script_without_blanks_to_another(text: str) -> None:
    for token in tokens(text):
        assert is_cjk(token) or not has_cjk(token)
        assert not is_cjk(token) or len(token) <= 2


@given(st.text(alphabet=st.characters(max_codepoint=0x2FF)), st.sampled_from(["データ", "重設", "서울"]))
def test_what_stands_beside_a_run_keeps_its_tokens(text: str, run: str) -> None:
    assert [token for token in tokens(f"{run}{text}{run}") if not is_cjk(token)] == tokens(text)


def test_folding_is_done_once() -> None:
    assert fold_case("  Ｒotate\n\tＡ  ") == "rotate a"
    assert not re.search(f"[{CJK}]", "・")
