from __future__ import annotations

import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_action.errors import ConfigError
from rageval_action.retrievers.options import Options
from rageval_action.retrievers.text import Analyzer, bigrams, mixed, words


def analyzer(**given_options: str | bool) -> Analyzer:
    options = Options("bm25", given_options)
    made = Analyzer(options)
    options.finish()
    return made


def test_mixed_text_gives_bigrams_for_chinese_and_words_for_the_rest() -> None:
    assert analyzer(stopwords="none").terms("重設VPN閘道憑證 rotate it") == [
        "重設", "vpn", "閘道", "道憑", "憑證", "rotate", "it",
    ]  # fmt: skip


def test_a_lone_han_character_stands_for_itself_and_punctuation_separates() -> None:
    assert bigrams("水，火。ab-1") == ["水", "火", "ab", "1"]
    assert mixed("ひらカナ・漢") == ["ひら", "らカ", "カナ", "漢"]
    assert mixed("서울 특별시") == ["서울", "특별", "별시"]


def test_han_outside_the_basic_plane_is_han() -> None:
    assert bigrams("𠮷野家") == ["𠮷野", "野家"]
    assert words("𠮷野家") == ["𠮷野家"]


def test_words_are_those_of_the_library() -> None:
    text = "The cost of rotating a key, e.g. naïve Größe 42 x über_all"
    expected = bm25s.tokenize([text], return_ids=False, show_progress=False)[0]
    assert analyzer(tokens="words").terms(text) == expected


@given(st.text())
def test_mixed_agrees_with_words_where_no_east_asian_script_occurs(text: str) -> None:
    latin = text.encode("latin-1", "ignore").decode("latin-1")
    assert mixed(latin) == words(latin)


def test_nothing_is_folded_unless_asked_for() -> None:
    assert analyzer(stopwords="none").terms("ＶＰＮ ①②") == ["ｖｐｎ", "①②"]
    assert analyzer(stopwords="none", fold_width=True).terms("ＶＰＮ　①②") == ["vpn", "①②"]
    assert analyzer(stopwords="none", normalise="nfkc").terms("ＶＰＮ ①②") == ["vpn", "12"]
    assert analyzer(normalise="nfc").fold("e\u0301") == "\u00e9"
    assert analyzer(lower=False, tokens="words").terms("VPN") == ["VPN"]


def test_stemming_is_by_language() -> None:
    pytest.importorskip("snowballstemmer")
    assert analyzer(stemmer="english").terms("rotating certificates") == ["rotat", "certif"]
    assert analyzer(stemmer="german", stopwords="german").terms("der Häuser") == ["haus"]


def test_traditional_and_simplified_meet_when_asked_to() -> None:
    pytest.importorskip("opencc")
    folded = analyzer(fold_han="t2s", stopwords="none")
    assert folded.terms("網路") == folded.terms("网路")
    assert analyzer(stopwords="none").terms("網路") != analyzer(stopwords="none").terms("网路")


@pytest.mark.parametrize(
    ("module", "options"), [("opencc", {"fold_han": "t2s"}), ("snowballstemmer", {"stemmer": "english"})]
)
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, options: dict[str, str | bool]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ConfigError) as caught:
        analyzer(**options)
    assert caught.value.code == "config.missing-extra"
    assert "pip install" in caught.value.hint


def test_every_option_is_recorded() -> None:
    options = Options("bm25", {"normalise": "nfkc"})
    Analyzer(options)
    assert options.recorded == {
        "tokens": "mixed", "analysis": 2, "normalise": "nfkc", "fold_width": False, "fold_han": "none", "lower": True,
        "stopwords": "english", "stemmer": "none",
    }  # fmt: skip
    plain = Options("bm25", {"tokens": "words"})
    Analyzer(plain)
    assert "analysis" not in plain.recorded  # its cutting is the library's, and has not changed


def test_scripts_end_a_run_and_rare_characters_belong_to_theirs() -> None:
    assert mixed("ﾃｰﾀ㐂𠮷서울カナ") == ["ﾃｰ", "ｰﾀ", "㐂𠮷", "서울", "カナ"]
    assert bigrams("etlのデータ漢字") == ["etl", "漢字"]
