"""Wording that gives a question away: text of the model around it, and words that point at a passage nobody sees.

These are patterns, so they find the plain cases only; whether a question is vague or answerable is a judgment for
the critic or a person.
"""

from __future__ import annotations

import re

from rageval_action.core.labels.tokens import fold_case

_PREAMBLES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(sure|certainly|of course|absolutely|okay|ok|great)\s*[,!:.]",
        r"^here (is|are|'s|’s)\b.{0,60}\b(question|query|example)",
        r"^(the )?(following|generated) (is|are|question|questions|query)\b.{0,40}:",
        r"^(question|query|q|user|search query|q\d+|question \d+)\s*[:：.]\s",
        r"^(\d{1,2}[.)]|[-*•])\s+\S",
        r"^(based on|according to|given) (the|this) (\w+ )?(passage|context|text|document|excerpt|information|chunk)\b",
        r"^as an ai\b",
        r"^(i('m| am) sorry|i can(not|'t|’t)|unfortunately)\b",
        r"^(當然|好的|沒問題|当然|没问题|沒有問題)\s*[,，!！:：。]",
        r"^(以下|下面)(是|為|为).{0,20}(問題|问题|查詢|查询)",
        r"^(問題|问题|提問|提问|查詢|查询)\s*\d*\s*[:：]",
        r"^(根據|根据|依據|依据)(以上|上述|這段|这段|本文|該|该|此|文中|所提供的).{0,8}(內容|内容|段落|文章|資料|资料|文本|文)",
    )
)

_WRAPPERS = re.compile(r"^(```|<question>|<query>|\{\s*\"|\*\*)|(```|</question>|</query>)$")

_PLACES = (
    "passage|text|document|excerpt|section|paragraph|article|context|chunk|page|snippet|chapter|table|figure"
)

_POINTERS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(this|that|the given|the provided|the above|the following|the present) ({_PLACES})\b",
        r"\b(according to|based on|in|from) the (passage|text|excerpt|context|chunk|snippet|paragraph|article)\b",
        r"\b(mentioned|described|listed|shown|given|discussed|stated) (above|below|earlier|previously|here)\b",
        r"\b(the author|the speaker|the writer)('s|’s)?\b(?! of\b)",
        r"\bthe (passage|excerpt|snippet) (says|mentions|describes|states|discusses)\b",
        r"(本文|文中|上文|下文|前文|該文|该文|此文|本段|本節|本节|這段|这段|該段|该段|這篇|这篇|該篇|该篇)",
        r"(上述|前述|如上所述|以上)(內容|内容|段落|文章|文字|資料|资料|提到)",
        r"(?<!的)(作者|筆者|笔者)(認為|认为|提到|指出|說|说)",
    )
)

_BARE_SUBJECT = re.compile(
    r"^(what|how|when|where|why|who|which|is|are|was|were|does|do|did|can|could|should|will)\b(?:\W+\w+){0,2}?\W+"
    r"(it|they|them|he|she|this|these|those)\b(?!\s+\w*(?:setting|option|command|step)s?\b)"
)
_BARE_ZH = re.compile(
    r"^(它|他|她|他們|他们|它們|它们|這個|这个|那個|那个|此)(?:的|是|有|在|如何|怎|為|为|何)"
)
_NEXT_QUESTION = re.compile(r"\?\s+[^\s\"'”’)\]]|？\s*[^\s」』”’）]")
_FEW_WORDS = 9


def preamble(text: str) -> str:
    """The part of the text that a model wrote around its question; empty when there is none."""
    folded = fold_case(text)
    for pattern in (*_PREAMBLES, _WRAPPERS):
        match = pattern.search(folded)
        if match:
            return match[0].strip()
    return ""


def pointer(text: str) -> str:
    """The words that point at something only the writer saw; empty when there are none.

    `this passage` and its like always count; a bare `it` or `they` counts in a short question that names nothing
    before it.
    """
    folded = fold_case(text)
    for pattern in _POINTERS:
        match = pattern.search(folded)
        if match:
            return match[0].strip()
    for pattern in (_BARE_SUBJECT, _BARE_ZH):
        match = pattern.search(folded)
        if match and len(folded.split()) <= _FEW_WORDS:
            return match[0].strip()
    return ""


def is_joined(text: str) -> bool:
    """True when one text holds several questions."""
    return _NEXT_QUESTION.search(text.strip()) is not None or "\n" in text.strip()
