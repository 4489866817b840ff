from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rageval_action.core.model.types import Chunk, ChunkAcl, Query, QueryAcl
from rageval_action.retrievers.ranking import Corpus, ordered


def chunks(count: int, per_document: int = 1) -> list[Chunk]:
    return [Chunk(id=f"é{at % 7}-{at}", doc=f"d{at // per_document}", text=f"t{at}") for at in range(count)]


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=150),
    st.integers(1, 40),
    st.integers(1, 4),
)
def test_the_best_are_a_prefix_of_a_plain_sort(scores: list[float], depth: int, per_document: int) -> None:
    rows = chunks(len(scores), per_document)
    hits = Corpus(rows).best(np.array(scores), depth)
    plain = sorted(range(len(rows)), key=lambda row: (scores[row], rows[row].id.encode()), reverse=True)
    assert [hit.id for hit in hits] == [rows[row].id for row in plain[: len(hits)]]
    documents = {chunk.doc for chunk in rows}
    assert len({hit.doc for hit in hits}) == min(depth, len(documents))
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


def test_a_large_tie_is_cut_by_id() -> None:
    rows = chunks(5000)
    hits = Corpus(rows).best(np.zeros(5000), 10)
    assert [hit.id for hit in hits] == sorted((chunk.id for chunk in rows), reverse=True)[:10]


def test_access_decides_what_is_visible() -> None:
    rows = [
        Chunk(id="open", doc="1", text=""),
        Chunk(id="acme", doc="2", text="", acl=ChunkAcl(tenant="acme")),
        Chunk(id="ops", doc="3", text="", acl=ChunkAcl(tenant="acme", groups=("ops",))),
    ]
    corpus = Corpus(rows)
    ana = Query(id="q", text="", acl=QueryAcl(tenant="acme", groups=("ops",)))
    eve = Query(id="q", text="", acl=QueryAcl(tenant="else"))
    assert corpus.visible(Query(id="q", text="")) is None
    assert corpus.visible(ana).tolist() == [True, True, True]  # type: ignore[union-attr]
    assert corpus.visible(eve).tolist() == [True, False, False]  # type: ignore[union-attr]
    assert [corpus.sees(eve, row) for row in range(3)] == [True, False, False]
    hits = corpus.best(np.array([0.0, 2.0, 1.0]), 3, corpus.visible(eve))
    assert [hit.id for hit in hits] == ["open"]


def test_ids_are_ordered_by_bytes() -> None:
    pairs = [("a", 1.0), ("é", 1.0), ("𠮷", 1.0), ("\uffff", 1.0), ("b", 2.0)]
    expected = sorted(pairs, key=lambda pair: (pair[1], pair[0].encode()), reverse=True)
    assert ordered(pairs) == expected
