"""Access under both exams."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rageval_action.core.comparing.access_audit import AccessAudit, audit_access
from rageval_action.core.comparing.exams import base_exam, corpora
from rageval_action.core.comparing.pairing import pair_questions
from rageval_action.core.labels.label_transfer import Side
from rageval_action.core.model.access_names import Asker, asker_of
from rageval_action.core.model.corpus import Lookup
from rageval_action.core.model.record import QueryRow, RunRecord
from rageval_action.core.model.types import Chunk, ChunkAcl, QueryAcl
from tests.synthetic_runs import plain_chunks, row, run

ANN, BEN = asker_of(QueryAcl(principal="ann")), asker_of(QueryAcl(principal="ben"))
PLAIN = plain_chunks("abc")


def listed(*guarded: str, reader: str = "ann") -> tuple[Chunk, ...]:
    acl = ChunkAcl(principals=(reader,))
    return tuple(replace(chunk, acl=acl) if chunk.doc in guarded else chunk for chunk in PLAIN)


def asked(
    who: Asker | None, corpus: Sequence[Chunk], *, allowed: bool | None = True, **more: object
) -> QueryRow:
    made = row("q", ["a", "b"], ["b"], corpus, acl=who, **more)
    return replace(made, results=tuple(replace(hit, acl_allowed=allowed) for hit in made.results))


def audited(before: RunRecord, after: RunRecord) -> AccessAudit:
    pairs = pair_questions(before.queries, after.queries, by_asker=True)
    old, new = (Side(Lookup(one.corpus), "document") for one in (before, after))
    pair = corpora(after, old, new, rechunked=False)
    return audit_access(after, base_exam(before, after, pairs, pair, by_asker=True), old.lookup)


def names(found: AccessAudit) -> tuple[list[str], list[str]]:
    return [hit.id for hit in found.head], [hit.id for hit in found.base_only]


def test_lists_that_a_pull_request_took_off_still_stand_for_the_base() -> None:
    before = run([asked(BEN, listed("a"))], listed("a"))
    assert names(audited(before, run([asked(BEN, PLAIN)], PLAIN))) == ([], ["a#0"])


def test_a_list_edited_to_admit_the_asker_does_too() -> None:
    widened = listed("a", reader="ben")
    before = run([asked(BEN, listed("a"))], listed("a"))
    assert names(audited(before, run([asked(BEN, widened)], widened))) == ([], ["a#0"])


def test_by_the_heads_own_lists_it_is_the_heads_hit_alone() -> None:
    before = run([asked(BEN, listed("a"))], listed("a"))
    after = run([asked(BEN, listed("a"), allowed=False)], listed("a"))
    assert names(audited(before, after)) == (["a#0", "b#0"], [])


def test_the_bases_asker_is_asked_where_the_head_names_nobody() -> None:
    before = run([asked(BEN, listed("a"))], listed("a"))
    again = asked(BEN, listed("a"), allowed=False)
    after = run([asked(None, listed("a"), allowed=None)], listed("a"), asked_for_base=[again])
    assert names(audited(before, after)) == ([], ["a#0", "b#0"])


def test_a_renamed_chunk_keeps_the_list_of_its_text_and_a_new_text_that_of_its_document() -> None:
    before = run([asked(BEN, listed("a"))], listed("a"))
    moved = (Chunk(id="x#7", doc="x", text="text of a"), *PLAIN[1:])
    after = run([row("q", ["x#7"], ["b"], moved, acl=BEN)], moved)
    assert names(audited(before, after)) == ([], ["x#7"])
    added = (Chunk(id="a#9", doc="a", text="something new"), *PLAIN)
    after = run([row("q", ["a#9"], ["b"], added, acl=BEN)], added)
    assert names(audited(before, after)) == ([], ["a#9"])


def test_what_the_base_did_not_have_was_not_forbidden() -> None:
    before = run([asked(BEN, listed("a"))], listed("a"))
    added = (Chunk(id="new#0", doc="new", text="something new"), *PLAIN)
    assert names(audited(before, run([row("q", ["new#0"], ["b"], added, acl=BEN)], added))) == ([], [])


def test_a_record_without_lists_forbids_nothing() -> None:
    before = run([asked(BEN, listed("a"))], listed("a"))
    before = replace(before, corpus=replace(before.corpus, access=before.corpus.access[:0], lists=()))
    assert names(audited(before, run([asked(BEN, PLAIN)], PLAIN))) == ([], [])
