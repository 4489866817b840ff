"""What the hashes of a corpus can still answer, and that nothing but three rows of uint64 is ever read."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from rageval_action.core.model.corpus import Corpus, Lookup, corpus_of, decode_corpus, encode_corpus, hash64
from rageval_action.core.model.hashing import text_hash
from rageval_action.core.model.types import Chunk, ChunkAcl
from rageval_action.errors import RecordError
from tests.synthetic_runs import chunks

TEXTS = {"a": ["one", "two"], "b": ["two"], "c": "three"}


def npz(**columns: np.ndarray) -> bytes:
    data = io.BytesIO()
    np.savez(data, **columns)
    return data.getvalue()


def row(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def npy(values: np.ndarray) -> bytes:
    data = io.BytesIO()
    np.save(data, values)
    return data.getvalue()


class TestHashes:
    def test_storage_order_does_not_show(self) -> None:
        made = chunks(TEXTS)
        assert encode_corpus(corpus_of(made)) == encode_corpus(corpus_of(made[::-1]))

    def test_rows_belong_together(self) -> None:
        found = corpus_of(chunks(TEXTS))
        rows = set(zip(found.ids.tolist(), found.docs.tolist(), found.texts.tolist(), strict=True))
        assert (hash64("a#1"), hash64("a"), hash64("two")) in rows
        assert len(rows) == 4
        assert found.ids.tolist() == sorted(found.ids.tolist())

    def test_hash_is_the_text_hash_of_the_contract(self) -> None:
        assert hash64("cafe\u0301") == int(text_hash("caf\u00e9"), 16)

    def test_an_empty_corpus(self) -> None:
        found = corpus_of(())
        assert found.ids.shape == found.docs.shape == found.texts.shape == (0,)
        again = decode_corpus(encode_corpus(found), where="x")
        assert again.ids.size == 0
        assert not Lookup(again).holds("a", "document")
        assert not Lookup(again).carries(text_hash("one"))


class TestLookup:
    @pytest.fixture
    def lookup(self) -> Lookup:
        return Lookup(corpus_of(chunks(TEXTS)))

    def test_holds_documents_and_chunks_apart(self, lookup: Lookup) -> None:
        assert lookup.holds("a", "document")
        assert not lookup.holds("a", "chunk")
        assert lookup.holds("a#1", "chunk")
        assert lookup.holds("a#1", "evidence")
        assert not lookup.holds("a#1", "document")
        assert not lookup.holds("zz", "document")

    def test_texts(self, lookup: Lookup) -> None:
        assert lookup.texts("a", "document") == {text_hash("one"), text_hash("two")}
        assert lookup.texts("a#1", "chunk") == {text_hash("two")}
        assert lookup.texts("zz", "chunk") == frozenset()

    def test_texts_keep_their_leading_zeros(self) -> None:
        corpus = Corpus(ids=row(hash64("x")), docs=row(1), texts=row(0xAB))
        assert Lookup(corpus).texts("x", "chunk") == {"00000000000000ab"}
        assert Lookup(corpus).carries("00000000000000ab")

    def test_carries_and_documents(self, lookup: Lookup) -> None:
        assert lookup.carries(text_hash("three"))
        assert not lookup.carries(text_hash("four"))
        assert lookup.documents("a#0", "chunk") == {hash64("a")}
        assert lookup.has_document(hash64("a"))
        assert not lookup.has_document(hash64("a#0"))

    def test_a_hash_above_all_others_is_not_there(self) -> None:
        assert not Lookup(Corpus(ids=row(1), docs=row(2), texts=row(3))).carries("f" * 16)

    def test_columns_of_a_record_need_not_be_sorted(self) -> None:
        names = ("x", "y", "z")
        order = sorted(names, key=hash64, reverse=True)
        corpus = Corpus(
            ids=row(*map(hash64, order)),
            docs=row(*map(hash64, order)),
            texts=row(*(hash64(f"t{n}") for n in order)),
        )
        for name in names:
            assert Lookup(corpus).texts(name, "chunk") == {text_hash(f"t{name}")}
            assert Lookup(corpus).carries(text_hash(f"t{name}"))


class TestNpz:
    def test_round_trip_is_byte_identical(self) -> None:
        data = encode_corpus(corpus_of(chunks(TEXTS)))
        assert encode_corpus(decode_corpus(data, where="x")) == data

    def test_a_compressed_one_is_read(self) -> None:
        data = io.BytesIO()
        np.savez_compressed(data, ids=row(1), docs=row(2), texts=row(3))
        assert decode_corpus(data.getvalue(), where="x").docs.tolist() == [2]

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"PK\x05\x06 not a zip",
            encode_corpus(corpus_of(chunks(TEXTS)))[:-40],
            npz(ids=row(1), docs=row(1)),
            npz(ids=row(1), docs=row(1), texts=row(1, 2)),
            npz(ids=row(1, 2), docs=row(1), texts=row(1)),
            npz(ids=row(1).astype(np.int64), docs=row(1), texts=row(1)),
            npz(ids=row(1).astype(np.float64), docs=row(1), texts=row(1)),
            npz(ids=row(1).reshape(1, 1), docs=row(1), texts=row(1)),
            npz(ids=np.array(["a"], dtype=object), docs=row(1), texts=row(1)),
            npz(ids=row(1).astype(">u8"), docs=row(1), texts=row(1)),
            zipped({"ids.npy": npy(row(1))[:-1], "docs.npy": npy(row(1)), "texts.npy": npy(row(1))}),
            zipped({"ids.npy": b"\x93NUMPY\x01\x00", "docs.npy": npy(row(1)), "texts.npy": npy(row(1))}),
            zipped(
                {"ids.npy": b"XNUMPY" + npy(row(1))[6:], "docs.npy": npy(row(1)), "texts.npy": npy(row(1))}
            ),
            zipped({f"{n}.npy": npy(row(1)).replace(b"(1,)", b"(9,)") for n in ("ids", "docs", "texts")}),
            zipped({f"{n}.npy": npy(row(1)) for n in ("ids", "docs", "texts")}, zipfile.ZIP_LZMA),
        ],
        ids=lambda data: f"{len(data)} bytes",
    )
    def test_anything_else_is_refused(self, data: bytes) -> None:
        with pytest.raises(RecordError) as caught:
            decode_corpus(data, where="run/corpus.npz")
        assert caught.value.code == "record.bad-corpus"
        assert caught.value.where == "run/corpus.npz"

    def test_an_object_array_is_never_unpickled(self, tmp_path: object) -> None:
        class Bomb:
            def __reduce__(self) -> tuple[object, ...]:
                return (pytest.fail, ("a record was unpickled",))

        bomb = np.empty(1, dtype=object)
        bomb[0] = Bomb()
        with pytest.raises(RecordError):
            decode_corpus(npz(ids=bomb, docs=row(1), texts=row(1)), where="x")

    def test_a_flipped_byte_anywhere_is_read_or_refused(self) -> None:
        data = bytearray(encode_corpus(corpus_of(chunks(TEXTS))))
        refused = 0
        for at in range(0, len(data), 3):
            broken = bytearray(data)
            broken[at] ^= 0xFF
            try:
                decode_corpus(bytes(broken), where="x")
            except RecordError:
                refused += 1
        assert refused > 100

    def test_a_size_that_no_corpus_has_is_refused_unread(self) -> None:
        data = npz(ids=row(*range(9)), docs=row(*range(9)), texts=row(*range(9)))
        assert decode_corpus(data, where="x", most=5 * (128 + 72)).ids.size == 9
        with pytest.raises(RecordError, match="unpacks to 200 bytes") as caught:
            decode_corpus(data, where="x", most=5 * (128 + 72) - 1)
        assert caught.value.code == "record.too-large"


class TestAccess:
    def test_lists_are_kept_once_each_and_in_one_order(self) -> None:
        ops, hr = ChunkAcl(groups=("ops",)), ChunkAcl(tenant="t", principals=("b", "a"))
        made = [
            Chunk(id="1", doc="d", text="x", acl=ops),
            Chunk(id="2", doc="d", text="y", acl=hr),
            Chunk(id="3", doc="d", text="z", acl=ops),
            Chunk(id="4", doc="d", text="w"),
        ]
        corpus = corpus_of(made)
        assert len(corpus.lists) == 2
        assert encode_corpus(corpus) == encode_corpus(corpus_of(made[::-1]))
        again = decode_corpus(encode_corpus(corpus), where="x")
        assert again.lists == corpus.lists
        assert again.access.tolist() == corpus.access.tolist()

    @pytest.mark.parametrize("numbers", [(7,), (7, 1), (7, 0), (7, 2, 5, 0), (0, 0, 3, 1)])
    def test_a_list_that_is_cut_short_is_refused(self, numbers: tuple[int, ...]) -> None:
        data = npz(ids=row(1), docs=row(1), texts=row(1), access=row(0), lists=row(*numbers))
        with pytest.raises(RecordError, match="cut short"):
            decode_corpus(data, where="x")

    @pytest.mark.parametrize("access", [(2,), (0, 0)])
    def test_a_number_of_no_list_is_refused(self, access: tuple[int, ...]) -> None:
        data = npz(ids=row(1), docs=row(1), texts=row(1), access=row(*access), lists=row(7, 0, 0))
        with pytest.raises(RecordError, match="do not fit"):
            decode_corpus(data, where="x")

    def test_a_record_of_an_older_version_keeps_no_lists(self) -> None:
        old = decode_corpus(npz(ids=row(1), docs=row(1), texts=row(1)), where="x")
        assert not Lookup(old).keeps_access
        assert Lookup(corpus_of([])).keeps_access
