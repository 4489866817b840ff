"""Every shape of golden set that was seen in public repositories, on samples of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_action.core.labels.grade_scale import parse_grade_map
from rageval_action.core.model.types import Chunk, Evidence, GoldenSet
from rageval_action.errors import ConfigError, GoldenError
from rageval_action.golden.field_names import parse_map
from rageval_action.golden.formats import read_golden
from rageval_action.golden.reader_types import ReadOptions
from tests.real_corpora import shared

HARBOUR = (
    Chunk(
        id="tide:0", doc="tide.md", text="The harbour gate opens two hours before high tide.", start=0, end=50
    ),
    Chunk(id="tide:1", doc="tide.md", text="Boats over nine metres wait outside.", start=51, end=87),
    Chunk(id="fees:0", doc="fees.md", text="Mooring costs 12 crowns a night.", metadata={"page": 4}),
    Chunk(id="rule:7", doc="rules.md", text="No anchor in the fairway."),
    Chunk(id="rule:70", doc="rules.md", text="Lamps from dusk."),
)
"""Three small documents of a harbour office."""


@pytest.fixture
def read(tmp_path: Path):
    """Write one file under its name and read it."""

    def call(name: str, text: str | bytes | list | dict, **options: object) -> GoldenSet:
        if isinstance(text, list | dict):
            text = json.dumps(text, ensure_ascii=False)
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_golden(tmp_path / name, options=ReadOptions(**options))

    return call


@pytest.fixture
def pair(tmp_path: Path):
    """Write queries and judgments, each under its name, and read them together."""

    def call(queries: tuple[str, str], qrels: tuple[str, str], **options: object) -> GoldenSet:
        for name, text in (queries, qrels):
            (tmp_path / name).write_bytes(text.encode())
        location = f"queries={tmp_path / queries[0]},qrels={tmp_path / qrels[0]}"
        return read_golden(location, options=ReadOptions(**options))

    return call


def refused(call, *given: object, **options: object) -> GoldenError:
    with pytest.raises(GoldenError) as caught:
        call(*given, **options)
    return caught.value


def codes(golden: GoldenSet) -> set[str]:
    return {notice.code for notice in golden.notices}


def note(golden: GoldenSet, code: str) -> str:
    return next(notice.text for notice in golden.notices if notice.code == f"golden.{code}")


def test_a_json_array_with_url_ids(read) -> None:
    rows = [
        {
            "id": "a1",
            "question": "When does the gate open?",
            "correct_chunks": ["https://h/x#tide"],
            "correct_answer": "x",
        },
        {
            "id": "a2",
            "question": "What does a night cost?",
            "correct_chunks": ["https://h/y#fees", "https://h/z"],
        },
    ]
    golden = read("set.json", json.dumps(rows, indent=2))
    assert golden.format == "json"
    assert golden.queries[1].relevant == {"https://h/y#fees": 1, "https://h/z": 1}
    assert [query.line for query in golden.queries] == [2, 10]
    assert (
        note(golden, "detected")
        == "read as json: id=id, query=question, relevant=correct_chunks. Not used: correct_answer."
    )


def test_composite_ids_need_a_template(read) -> None:
    rows = '{"query": "a?", "golden_doc_uuids": ["u"], "golden_chunk_uuids": [["u", 3]]}\n'
    error = refused(read, "set.jsonl", rows)
    assert "`golden_chunk_uuids[0]` is an id of several parts (text, a whole number)" in error.message
    assert "--id-template" in error.message
    golden = read("set.jsonl", rows, id_template="{0}#{1}")
    assert golden.queries[0].relevant == {"u#3": 1}
    assert "template does not fit" in refused(read, "set.jsonl", rows, id_template="{0}{2}").message


def test_csv_with_json_lists_in_cells(read) -> None:
    text = 'query,correct_chunks,__expected\n"a, b?","[""c1"",""c2""]",python:file://x.py\n'
    golden = read("set.csv", text)
    assert golden.queries[0].relevant == {"c1": 1, "c2": 1}
    assert golden.queries[0].id.startswith("q-")
    assert "Not used: __expected" in note(golden, "detected")


def test_llamaindex_finetune_dataset(read) -> None:
    whole = {
        "queries": {"u1": "a?", "u2": "b?"},
        "corpus": {"n1": "text"},
        "relevant_docs": {"u1": ["n1"], "u2": ["n9"]},
    }
    golden = read("set.json", {**whole, "mode": "text"})
    assert golden.format == "llamaindex"
    assert golden.queries[0].relevant == {"n1": 1}
    assert "n9" in note(golden, "dangling-ids")
    del whole["queries"]["u2"]
    assert refused(read, "set.json", whole).code == "golden.no-topic"
    whole["queries"] = {"u1": "a?", "u2": "b?", "u3": "c?"}
    assert "u3" in note(read("set.json", whole), "unjudged-topics")


def test_ragas_contexts_are_texts(read) -> None:
    text = (
        ",question,contexts,ground_truth,evolution_type,metadata,episode_done\n"
        '0,When does the gate open?,"[\'The harbour gate opens two hours\\nbefore high tide.\']",nan,simple,"[{}]",True\n'
    )
    error = refused(read, "set.csv", text)
    assert error.code == "golden.needs-corpus"
    assert "`contexts` holds texts" in error.message
    golden = read("set.csv", text, corpus=HARBOUR)
    assert golden.queries[0].evidence == (Evidence(doc="tide.md", quote=HARBOUR[0].text),)
    assert "found in the snapshot" in note(golden, "found-texts")
    lost = text.replace("harbour", "airport")
    assert "no chunk of the snapshot holds" in refused(read, "set.csv", lost, corpus=HARBOUR).message


def test_beir_queries_and_judgments(pair, read, tmp_path: Path) -> None:
    queries = (
        "queries.jsonl",
        '{"_id": "t<::>1", "text": "|user|: open?"}\n{"_id": "t<::>2", "text": "and?"}\n',
    )
    qrels = ("qrels.tsv", "query-id\tcorpus-id\tscore\nt<::>1\tn-1\t1\nt<::>2\tn-1-0-9\t2\n")
    golden = pair(queries, qrels)
    assert golden.queries[1].relevant == {"n-1-0-9": 2}
    assert "BEIR" in note(golden, "detected")
    assert refused(read, *queries).code == "golden.no-relevance"
    assert "queries only" in refused(read, *queries).message
    assert refused(read, *qrels).code == "golden.no-queries"
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(qrels[1])
    (tmp_path / "corpus.jsonl").write_text('{"_id": "n-1", "title": "", "text": "x"}\n')
    folder = read_golden(tmp_path)
    assert len(folder.queries) == 2
    assert note(folder, "dangling-ids") == '1 judged documents are not in the corpus: "n-1-0-9".'


def test_a_folder_that_is_no_beir_set(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text("{}")
    assert refused(read_golden, tmp_path).code == "golden.not-found"


TOPICS = ("queries.tsv", "1\tgate\n40\tnight\n225\tlamp\n")


def test_trec_judgments_with_crlf_and_double_blanks(pair) -> None:
    golden = pair(TOPICS, ("qrels.txt", "1 0 184 1\r\n1 0 29 0\r\n40 0 85  3\r\n225 0 7 0\r\n"))
    assert golden.queries[1].relevant == {"85": 3}
    assert "TREC" in note(golden, "detected")


def test_smart_codes_are_never_read_as_gains(pair) -> None:
    smart = ("qrels.txt", "1 184 2 \r\n1 486 -1\r\n40 85  3 \r\n225 7 1 \r\n")
    error = refused(pair, TOPICS, smart)
    assert error.code == "golden.unclear-grades"
    assert "negative code on line 2" in error.message
    assert "--grade-map" in error.hint
    golden = pair(TOPICS, smart, grades=parse_grade_map("1=4,2=3,3=2,4=1,-1=0"))
    assert golden.queries[0].relevant == {"184": 3, "486": 0}
    assert "not in the grade map" in refused(pair, TOPICS, smart, grades={"1": 1}).message
    positive = ("qrels.txt", "1 184 2\n40 85 3\n225 7 1\n")
    assert refused(pair, TOPICS, positive).code == "golden.unclear-grades"


def test_three_columns_between_tabs(pair) -> None:
    golden = pair(("q.jsonl", '{"id": "q0", "query": "x"}\n'), ("qrels.tsv", "q0\td_2\t1\nq0\td_3\t0\n"))
    assert golden.queries[0].relevant == {"d_2": 1, "d_3": 0}
    negative = ("qrels.tsv", "q0\td_2\t-1\n")
    assert (
        refused(pair, ("q.jsonl", '{"id": "q0", "query": "x"}\n'), negative).code == "golden.unclear-grades"
    )


def test_comments_as_header_and_bare_integer_ids(pair) -> None:
    queries = (
        "queries.json",
        '[\n  { "qid": "q1", "query": "gate?" },\n  { "qid": "q2", "query": "lamp?" }\n]\n',
    )
    golden = pair(queries, ("qrels.tsv", "# qid<TAB>doc\n# 換成你的文件\nq1\t0\t2\nq1\t1\t1\nq2\t2\t2\n\n\n"))
    assert golden.queries[0].relevant == {"0": 2, "1": 1}


def test_queries_alone_ask_for_their_judgments(read) -> None:
    assert "queries only" in refused(read, "queries.json", [{"qid": "q1", "query": "a"}]).message


def test_ranx_judgments_need_queries(read, pair) -> None:
    ranx = '{"q_1": {"d_12": 5, "d_25": 3}, "q_2": {"d_11": 6}}'
    error = refused(read, "qrels.json", ranx)
    assert error.code == "golden.no-queries"
    assert "ranx" in error.message
    golden = pair(("q.tsv", "q_1\ta\nq_2\tb\n"), ("qrels.json", ranx))
    assert golden.queries[0].relevant == {"d_12": 5, "d_25": 3}


def test_unanswerable_rows_are_counted(read) -> None:
    rows = (
        '{"id": "f1", "question": "什麼時候可以退貨？", "expected_documents": ["policy.md"], "answerable": true}\n'
        '{"id": "n1", "question": "海外運費？", "reference_answer": null, "expected_documents": [], "answerable": false}\n'
    )
    golden = read("set.jsonl", rows)
    assert [query.answerable for query in golden.queries] == [True, False]
    assert note(golden, "unanswerable").startswith("1 rows are unanswerable")
    silent = rows.replace(', "answerable": false', "")
    told = read("set.jsonl", silent)
    assert [query.answerable for query in told.queries] == [True, False]
    assert "1 rows name nothing to find" in note(told, "nothing-to-find")


def test_rows_without_judgments_are_listed_not_dropped(read) -> None:
    rows = [
        {
            "id": "risk",
            "query": "營收？",
            "expected_routes": ["finance"],
            "expected_source_ids": ["d1", "d2"],
        },
        {"id": "missing", "query": "營收是多少？", "expected_error": "company_required"},
    ]
    golden = read("set.json", json.dumps(rows, indent=1, ensure_ascii=False))
    assert [query.id for query in golden.queries] == ["risk"]
    assert '"missing" (line 13)' in note(golden, "unjudged-rows")


def test_hash_ids_and_rows_without_query_ids(read) -> None:
    chunk = "0d" * 32 + ":L2:50"
    row = {
        "question": "What is OUT?",
        "category": "identifier",
        "doc_id": "0d" * 32,
        "gold_chunk_ids": [chunk],
        "gold_pages": [8],
        "source": "human",
    }
    golden = read("set.jsonl", json.dumps(row) + "\n")
    (query,) = golden.queries
    assert query.relevant == {chunk: 1}
    assert (query.tags, query.source) == (("identifier",), "human")
    assert "made-ids" in {code.removeprefix("golden.") for code in codes(golden)}
    again = read("set.jsonl", json.dumps({**row, "question": "Other?"}) + "\n" + json.dumps(row) + "\n")
    assert again.queries[1].id == query.id, "an id does not move when rows are inserted before it"


def test_yaml_with_alternatives_and_refusals(read) -> None:
    text = """# a comment
version: 1
questions:
  # -- first --
  - id: q1
    question: Which database?
    must_cite:
      [
        "a/README.md",
        "a/db.py",
      ]
  - id: r1
    question: Which certificates?
    expect_refusal: true
"""
    golden = read("set.yaml", text)
    assert golden.queries[0].any_of == (("a/README.md", "a/db.py"),)
    assert [query.line for query in golden.queries] == [5, 12]
    assert not golden.queries[1].answerable
    assert "any one of them" in note(golden, "any-of")


def test_id_prefixes_only_when_asked_for_and_with_borders(read) -> None:
    text = (
        "cases:\n  - id: a\n    question: Was gilt?\n    expect_articles: ['rule:7']\n    answerable: true\n"
    )
    error = refused(read, "set.yaml", text)
    assert "`expect_articles` may list ids, or beginnings of ids" in error.message
    assert "relevant_prefix=expect_articles" in error.hint
    fields = {"relevant_prefix": "expect_articles"}
    assert refused(read, "set.yaml", text, fields=fields).code == "golden.needs-corpus"
    golden = read("set.yaml", text, fields=fields, corpus=HARBOUR)
    assert golden.queries[0].relevant == {"rule:7": 1}, "rule:70 starts with the text, not with the id"
    whole = text.replace("rule:7", "rule:")
    assert set(read("set.yaml", whole, fields=fields, corpus=HARBOUR).queries[0].relevant) == {
        "rule:7",
        "rule:70",
    }
    gone = text.replace("rule:7", "law:1")
    assert "no chunk id starts" in refused(read, "set.yaml", gone, fields=fields, corpus=HARBOUR).message


def test_character_spans_become_evidence(read) -> None:
    row = {
        "id": "q1",
        "question": "Who waits?",
        "required_passages": [
            {
                "doc_id": "tide.md",
                "char_start": 51,
                "char_end": 87,
                "text": "Boats over nine metres wait outside.",
            }
        ],
    }
    (query,) = read("set.jsonl", json.dumps(row) + "\n").queries
    assert query.evidence == (
        Evidence(doc="tide.md", quote="Boats over nine metres wait outside.", start=51),
    )
    del row["required_passages"][0]["text"]
    assert "golden import" in refused(read, "set.jsonl", json.dumps(row) + "\n").message
    (query,) = read("set.jsonl", json.dumps(row) + "\n", corpus=HARBOUR).queries
    assert query.evidence[0].quote == "Boats over nine metres wait outside."
    row["required_passages"][0].update(char_start=900, char_end=950)
    assert "covers characters" in refused(read, "set.jsonl", json.dumps(row) + "\n", corpus=HARBOUR).message


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            {"query": "fusion", "expect_path_contains": "retrieval.py", "intent": "x"},
            "recall has no denominator",
        ),
        (
            {"q": "什麼是錨定？", "lang": "zh", "expect": {"kind": "book", "section_contains": "錨定"}},
            "`expect` holds a nested",
        ),
        (
            {"question": "What is billed?", "truth": "The rest.[Benefits.pdf#page=7]"},
            "`truth` cites files in brackets",
        ),
        ({"input": "Tallest tower?", "expected": "North"}, "no field says by id"),
    ],
)
def test_what_cannot_be_measured_by_id_is_refused_by_name(read, row: dict, words: str) -> None:
    error = refused(read, "set.jsonl", json.dumps(row) + "\n")
    assert error.code == "golden.no-relevance"
    assert words in error.message
    assert error.hint


def test_a_cell_of_joined_ids_is_never_one_id(read) -> None:
    text = 'question,expected_work_id,notes\nWhat plan?,work-a|work-b,"a, b"\nLesser?,work-b,x\n'
    error = refused(read, "set.csv", text)
    assert error.where.endswith("set.csv:2")
    assert '--list-separator "|"' in error.message
    golden = read("set.csv", text, separator="|")
    assert golden.queries[0].relevant == {"work-a": 1, "work-b": 1}
    assert read("set.csv", text, separator="none").queries[0].relevant == {"work-a|work-b": 1}
    either = read("set.csv", text, separator="|", fields={"any_of": "expected_work_id"})
    assert either.queries[0].any_of == (("work-a", "work-b"),)
    known = (Chunk(id="work-a|work-b", doc="d", text=""), Chunk(id="work-b", doc="d", text=""))
    assert read("set.csv", text, corpus=known).queries[0].relevant == {"work-a|work-b": 1}


def test_minimal_csv_without_a_last_line_end(read) -> None:
    golden = read("set.csv", 'query,expected_id\n"What for?","273b-uuid"\n"Who?","76b2-uuid"')
    assert [list(query.relevant) for query in golden.queries] == [["273b-uuid"], ["76b2-uuid"]]


def test_deepeval_goldens(read) -> None:
    text = "input,expected_output,retrieval_context,context,source_file\r\nTallest?,Everest,Heights|List,Geo|Rocks,geo.txt\r\n"
    error = refused(read, "set.csv", text)
    assert "`context` holds texts" in error.message
    assert "set.csv --map relevant=source_file --out golden.jsonl`" in error.hint
    assert read("set.csv", text, fields={"relevant": "source_file"}).queries[0].relevant == {"geo.txt": 1}
    row = {
        "input": "Tallest?",
        "retrieval_context": ["x"],
        "context": ["Geography"],
        "name": None,
        "source_file": "geo.txt",
    }
    assert refused(read, "set.json", [row]).code == "golden.needs-corpus"
    assert read("set.json", [row], fields={"relevant": "source_file"}).queries[0].relevant == {"geo.txt": 1}


def test_autorag_lists_of_alternatives_stay_nested(read, tmp_path: Path) -> None:
    row = {"qid": "1o", "query": "a?", "generation_gt": ["x"], "retrieval_gt": [["id6", "id2"], ["id5"]]}
    assert read("qa.json", [row]).queries[0].any_of == (("id6", "id2"), ("id5",))
    pa = pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "qa.parquet")
    golden = read_golden(tmp_path / "qa.parquet")
    assert golden.format == "parquet"
    assert golden.queries[0].any_of == (("id6", "id2"), ("id5",))
    assert refused(read, "qa.parquet", b"PAR1 cut short").code == "golden.bad-parquet"


def test_parquet_without_its_extra_says_what_to_install(read, monkeypatch) -> None:
    import builtins

    real = builtins.__import__

    def absent(name: str, *rest: object, **named: object) -> object:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    error = refused(read, "qa.parquet", b"PAR1....PAR1")
    assert error.code == "golden.needs-extra"
    assert "[parquet]" in error.hint


def test_squad_nesting_needs_its_paragraphs_found(read) -> None:
    paragraph = {
        "context": HARBOUR[2].text,
        "id": "1-1",
        "qas": [{"id": "1-1-1", "question": "一晚多少？", "answers": [{"text": "12", "answer_start": 14}]}],
    }
    whole = {"version": "1.3", "data": [{"title": "港", "id": "1", "paragraphs": [paragraph]}]}
    error = refused(read, "set.json", whole)
    assert error.code == "golden.needs-corpus"
    assert "convert to rows" in error.hint
    golden = read("set.json", whole, corpus=HARBOUR)
    assert golden.queries[0].id == "1-1-1"
    assert golden.queries[0].evidence == (Evidence(doc="fees.md", quote=HARBOUR[2].text),)


def test_foreign_field_names_are_listed_with_the_way_to_map_them(read) -> None:
    rows = [
        {"id": "d1", "category": "DB", "soru": "Kaç öğrenci var?", "ground_truth": "6"},
        {"id": "r1", "category": "RAG", "soru": "Kaçta kapanır?", "kaynak_dosya": "el.pdf"},
    ]
    error = refused(read, "set.json", rows)
    assert "id, category, soru, ground_truth, kaynak_dosya" in error.message
    assert "--map query=soru,relevant=FIELD" in error.hint
    golden = read("set.json", rows, fields=parse_map("query=soru, relevant=kaynak_dosya"))
    assert golden.queries[0].relevant == {"el.pdf": 1}
    assert '"d1" (line 1)' in note(golden, "unjudged-rows")


def test_file_and_quote_become_evidence_when_mapped(read) -> None:
    row = {
        "essay": "hub.txt",
        "question": "What makes a hub?",
        "answer": "Two kinds.",
        "quote": "two kinds of people",
    }
    error = refused(read, "set.json", [row])
    assert "--map relevant=essay" in error.hint
    spaced = refused(read, "set.json", [{"Source File": "hub.txt", "question": "What makes a hub?"}])
    assert "--map 'relevant=Source File' --out" in spaced.hint
    assert "--map doc=essay,quote=quote" in error.hint
    assert read("set.json", [row], fields={"relevant": "essay"}).queries[0].relevant == {"hub.txt": 1}
    (query,) = read("set.json", [row], fields={"doc": "essay", "quote": "quote"}).queries
    assert query.evidence == (Evidence(doc="hub.txt", quote="two kinds of people"),)


def test_trec_comments_are_skipped(pair) -> None:
    golden = pair(("t.tsv", "301\tx\n"), ("qrels", "# here\n301 0 CR-1 0\n# and there\n301 0 CR#2 1\n"))
    assert golden.queries[0].relevant == {"CR-1": 0, "CR#2": 1}


def test_a_git_lfs_pointer(read) -> None:
    error = refused(read, "set.json", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    assert (error.code, "lfs: true" in error.hint) == ("golden.lfs-pointer", True)


def test_queries_under_text(read) -> None:
    golden = read("set.jsonl", '{"query_id": "q-0", "text": "badge", "relevant_doc_ids": ["kb-1", "kb-2"]}\n')
    assert (golden.queries[0].text, golden.queries[0].id) == ("badge", "q-0")


def test_camel_case(read) -> None:
    rows = (
        '[\n\t{\n\t\t"query": "Refund?",\n\t\t"expectedCitations": ["p-1"],\n\t\t"category": "policy"\n\t}\n]'
    )
    assert read("set.json", rows).queries[0].relevant == {"p-1": 1}


def test_uuid_ids_of_several_hops(read) -> None:
    row = {
        "question_id": "58e6",
        "question": "誰較早？",
        "gold_answer": "甲",
        "gold_doc_ids": ["164a", "abd4"],
        "question_type": "multi-hop",
    }
    (query,) = read("set.json", [row]).queries
    assert (query.id, query.type, set(query.relevant)) == ("58e6", "multi-hop", {"164a", "abd4"})


def test_cacm_columns_are_not_trecs(pair) -> None:
    error = refused(
        pair, ("t.tsv", "1\ta\n2\tb\n"), ("qrels.text", "01 1410  0 0\n01 1572  0 0\n02 2434  0 0\n")
    )
    assert error.code == "golden.other-columns"
    assert "01 is not 1" in error.hint


def test_row_numbers_of_a_corpus(read, tmp_path: Path) -> None:
    rows = [{"query": "Lamps?", "gold_id": 4}]
    assert "ids or row numbers" in refused(read, "set.json", rows).message
    assert read("set.json", rows, corpus=HARBOUR).queries[0].relevant == {"rule:70": 1}
    assert read("set.json", rows, fields={"relevant": "gold_id"}).queries[0].relevant == {"4": 1}
    outside = [{"query": "Lamps?", "row": 5}]
    fields = {"relevant_row": "row"}
    assert "outside the corpus" in refused(read, "set.json", outside, fields=fields, corpus=HARBOUR).message
    (tmp_path / "corpus.jsonl").write_text(
        '{"doc_id": "a", "content": "x"}\n{"doc_id": "b", "content": "y"}\n'
    )
    (tmp_path / "rows.json").write_text('[{"query": "y?", "gold_id": 1}]')
    beside = read_golden(f"rows={tmp_path / 'rows.json'},corpus={tmp_path / 'corpus.jsonl'}")
    assert beside.queries[0].relevant == {"b": 1}


def test_pages_are_found_in_chunk_metadata(read) -> None:
    row = {"question": "What does a night cost?", "gold_pages": [4], "file": "fees.md"}
    assert refused(read, "set.json", [row]).code == "golden.needs-corpus"
    assert refused(read, "set.json", [row], corpus=HARBOUR).code == "golden.needs-map"
    golden = read("set.json", [row], corpus=HARBOUR, fields={"doc": "file"})
    assert golden.queries[0].relevant == {"fees:0": 1}


def test_graded_maps_and_objects_with_grades(read) -> None:
    golden = read("set.json", [{"query": "a", "qrels": {"d": 3, "e": 0}}])
    assert golden.queries[0].relevant == {"d": 3, "e": 0}
    rows = [{"query": "b", "relevant_docs": [{"doc_id": "d", "score": 2}, {"id": "e"}]}]
    assert read("set.json", rows).queries[0].relevant == {"d": 2, "e": 1}


def test_two_fields_that_may_both_be_meant(read) -> None:
    apart = [{"query": "a", "qrels": {"d": 3}}, {"query": "b", "relevant_docs": ["d"]}]
    assert refused(read, "set.json", apart).code == "golden.ambiguous-relevance"
    error = refused(read, "set.json", [{"query": "a", "expected_id": "x", "target_id": "y"}])
    assert error.code == "golden.ambiguous-relevance"
    assert "expected_id, target_id" in error.message
    assert read("set.json", [{"query": "a", "gold_doc_ids": ["x"], "gold_chunk_ids": ["y"]}]).queries[
        0
    ].relevant == {"y": 1}


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("a;a\n1;2\n", ":1", "two columns have one name"),
        ('query;relevant_ids\n"x";d;e\n', ":2", "3 cells under 2 columns"),
        ('query,relevant_ids\n"x"y",d\n', "set.csv", "not regular CSV"),
    ],
)
def test_irregular_csv(read, text: str, where: str, words: str) -> None:
    error = refused(read, "set.csv", text)
    assert error.where.endswith(where)
    assert words in error.message


def test_csv_with_bom_semicolons_and_cells_over_lines(read) -> None:
    long = "x" * 200_000
    text = f'\ufeffquery;expected_ids;notes\n"first\nquestion";d1;{long}\nsecond;d2;\n'
    golden = read("set.csv", text)
    assert [(query.text, query.line) for query in golden.queries] == [("first\nquestion", 2), ("second", 4)]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("set.json", '{"version": 1, "stuff": [1]}', "golden.no-rows"),
        ("set.json", '[{"query": "a"', "golden.bad-json"),
        ("set.json", '[{"query": "a", "relevant": ["d"]}, 3]', "golden.bad-row"),
        ("set.yaml", "questions:\n  - query: a\n    relevant: [d\n", "golden.bad-yaml"),
        ("set.yaml", "- query: a\n  relevant: [d]\n- 3\n", "golden.bad-row"),
        ("set.yaml", "- query: a\n  relevant: [d]\n  relevant: [e]\n", "golden.bad-row"),
        ("set.txt", "nothing here", "golden.unknown-format"),
        ("set.xlsx", "PK\x03\x04zip", "golden.packed"),
        ("set.json", "[]", "golden.empty"),
    ],
)
def test_broken_containers(read, name: str, text: str, code: str) -> None:
    assert refused(read, name, text).code == code


@pytest.mark.parametrize("text", ["query", "colour=x", "query=a,query=b", "query="])
def test_a_bad_map_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_map(text)


ACCEPTED = {
    "01_json_array_url_ids.json", "03_csv_json_string_cell.csv", "04_llamaindex_embedding_qa.json",
    "15_jsonl_unanswerable.jsonl", "16_json_mixed_rows_zh_tw.json", "18_jsonl_hash_chunk_ids.jsonl",
    "20_yaml_must_cite.yaml", "22_jsonl_char_spans.jsonl", "29_csv_minimal_no_eol.csv", "32_autorag_qa_equivalent.json",
    "32_autorag_qa.parquet", "43_jsonl_bm_query_text.jsonl", "44_json_camel_case.json",
    "45_json_uuid_zh_tw_multihop.json",
}  # fmt: skip
PAIRED = {
    "08_beir_queries.jsonl": "08_beir_qrels_dev.tsv", "13_queries_array.json": "13_qrels_comment_header.tsv",
}  # fmt: skip
REFUSED = {
    "02_jsonl_composite_ids.jsonl": "golden.bad-row", "06_ragas01_testset.csv": "golden.needs-corpus",
    "21_yaml_prefix_ids.yaml": "golden.no-relevance", "24_jsonl_path_substring.jsonl": "golden.no-relevance",
    "25_jsonl_nested_expect.jsonl": "golden.no-relevance", "26_jsonl_citation_in_answer.jsonl": "golden.no-relevance",
    "28_csv_pipe_list.csv": "golden.bad-row", "31_deepeval_goldens.csv": "golden.needs-corpus",
    "31_deepeval_goldens.json": "golden.needs-corpus", "34_squad_nested_zh_tw.json": "golden.needs-corpus",
    "35_json_foreign_field_names.json": "golden.no-query", "37_answer_only.json": "golden.no-relevance",
    "37_answer_quote.json": "golden.no-relevance", "40_git_lfs_pointer.json": "golden.lfs-pointer",
}  # fmt: skip
JUDGMENTS = {
    "09_trec_qrels_crlf.txt": "", "10_smart_qrels_3col.txt": "golden.unclear-grades",
    "11_qrels_3col_headerless.tsv": "", "14_ranx_qrels.json": "", "39_qrels_with_comments.txt": "",
    "47_cacm_qrels_zero_padded.txt": "golden.other-columns",
}  # fmt: skip


def test_the_samples_from_public_repositories(tmp_path: Path) -> None:
    folder = shared("golden_shapes")
    for name in ACCEPTED:
        if name.endswith("parquet"):
            pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
        assert read_golden(folder / name).queries, name
    for queries, qrels in PAIRED.items():
        assert read_golden(f"queries={folder / queries},qrels={folder / qrels}").queries, qrels
    for name, code in REFUSED.items():
        error = refused(read_golden, folder / name)
        assert error.code == code, name
        assert error.hint or "--" in error.message, name
    for name, code in JUDGMENTS.items():
        ids = ["1", "40", "225", "q0", "q1", "q2", "q_1", "q_2", "301", "01", "02"]
        if not code:
            text = (folder / name).read_text()
            ids = [
                name
                for name in ids
                if f"\n{name} " in f"\n{text}" or f"\n{name}\t" in f"\n{text}" or f'"{name}"' in text
            ]
        (tmp_path / "queries.tsv").write_text("".join(f"{id_}\ttext of {id_}\n" for id_ in ids))
        location = f"queries={tmp_path / 'queries.tsv'},qrels={folder / name}"
        if code:
            assert refused(read_golden, location).code == code, name
        else:
            assert len(read_golden(location).queries) == len(ids), name
    seen = ACCEPTED | set(PAIRED) | set(PAIRED.values()) | set(REFUSED) | set(JUDGMENTS)
    assert seen == {path.name for path in folder.iterdir()} - {"README.md", "index.json"}


ODD = ('!!timestamp "x"', "!!bool x", '!!int ""', '!!float ""', "!!float abc", "2024-13-45", "9" * 5000)


@pytest.mark.parametrize("value", ODD)
def test_a_value_that_yaml_cannot_read_is_a_fault_of_its_row(read, value: str) -> None:
    rows = f"- {{id: a, query: b, relevant: [c]}}\n- {{id: d, query: e, relevant: [f], note: {value}}}\n"
    assert refused(read, "set.yml", rows).where.endswith("set.yml:2")


def test_aliases_are_not_written_out_without_end(read) -> None:
    layers = "".join(f"  - &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 9))
    rows = f"- id: a\n  query: b\n  relevant: [c]\n  note:\n  - &a0 [x, x]\n{layers}"
    error = refused(read, "set.yml", f"{rows}- {{id: d, query: e, relevant: [f], tags: *a8}}\n")
    assert "too many values" in error.message


@pytest.mark.parametrize("tags", [5, 1.5, True])
def test_tags_that_are_no_texts(read, tags: object) -> None:
    error = refused(read, "set.json", [{"id": "a", "question": "b", "relevant": ["c"], "tags": tags}])
    assert "`tags` is" in error.message


def test_a_number_that_nothing_holds_is_a_fault_of_its_row(read) -> None:
    text = '[{"id": 1, "query": "a", "relevant": ["b"]},\n{"id": ' + "9" * 5000 + "}]"
    assert refused(read, "set.json", text).where.endswith("set.json:2")


@pytest.mark.parametrize("name", ["set.jsonl", "set.json"])
def test_what_is_nested_without_end(read, name: str) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    error = refused(read, name, f'{{"id": "a", "query": "b", "relevant": ["c"], "note": {deep}}}\n')
    assert error.code == "golden.too-deep"
    assert error.where.endswith(name)


def test_a_device_has_no_end(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("rageval_action.golden.input_files.MAX_BYTES", 1000)
    (tmp_path / "set.jsonl").symlink_to("/dev/zero")
    assert refused(read_golden, tmp_path / "set.jsonl").code == "golden.too-large"


@pytest.mark.parametrize("number", ["x", [1], "²", "9" * 5000, -5, True])
def test_what_is_no_offset(read, number: object) -> None:
    quoted = {"id": "a", "question": "b", "quote": "c", "doc": "d", "start": number}
    by_field = {"quote": "quote", "doc": "doc", "start": "start"}
    assert "whole number from 0" in refused(read, "set.json", [quoted], fields=by_field).message


@pytest.mark.parametrize("number", ["x", "²", "9" * 5000, -5, True])
def test_what_is_no_row_number(read, number: object) -> None:
    row = {"id": "a", "question": "b", "row": number}
    error = refused(read, "set.json", [row], fields={"relevant_row": "row"}, corpus=HARBOUR)
    assert "whole number from 0" in error.message


def test_a_grade_that_nothing_holds(pair) -> None:
    judged = "query-id\tcorpus-id\tscore\nq1\td1\t" + "9" * 5000 + "\n"
    error = refused(pair, ("queries.tsv", "q1\twhat\n"), ("qrels.tsv", judged))
    assert error.where.endswith("qrels.tsv:2")
    assert len(error.message) < 200
