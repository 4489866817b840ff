"""What a file or a user says about a golden set: known names, grades, access, provenance, nothing to find."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_action.core.labels.grade_scale import parse_grade_map, whole_grade
from rageval_action.core.model.types import Evidence, GoldenSet, QueryAcl
from rageval_action.errors import ConfigError, GoldenError
from rageval_action.golden.field_names import parse_map
from rageval_action.golden.formats import read_golden
from rageval_action.golden.reader_types import ReadOptions


@pytest.fixture
def read(tmp_path: Path):
    """Write one file under its name and read it."""

    def call(name: str, content: object, **options: object) -> GoldenSet:
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        (tmp_path / name).write_bytes(text.encode())
        return read_golden(tmp_path / name, options=ReadOptions(**options))

    return call


@pytest.fixture
def pair(tmp_path: Path):
    """Write queries and judgments and read them together."""

    def call(queries: str, qrels: str, **options: object) -> GoldenSet:
        (tmp_path / "queries.jsonl").write_text(queries)
        (tmp_path / "qrels.tsv").write_text(qrels)
        location = f"queries={tmp_path / 'queries.jsonl'},qrels={tmp_path / 'qrels.tsv'}"
        return read_golden(location, options=ReadOptions(**options))

    return call


def refused(call, *given: object, **options: object) -> GoldenError | ConfigError:
    with pytest.raises((GoldenError, ConfigError)) as caught:
        call(*given, **options)
    return caught.value


def note(golden: GoldenSet, code: str) -> str:
    return next(notice.text for notice in golden.notices if notice.code == f"golden.{code}")


@pytest.mark.parametrize(
    "name", ["relevance", "relevance_judgments", "expected_sources", "gold_id", "relevantDocs"]
)
def test_names_of_what_should_be_found(read, name: str) -> None:
    for row in (
        {"id": "a", "query": "w?", name: ["d"]},
        {"id": "a", "query": "w?", "tags": ["t"], name: ["d"]},
    ):
        assert read("set.jsonl", json.dumps(row) + "\n").queries[0].relevant == {"d": 1}


def test_other_names_after_a_canonical_first_row(read) -> None:
    rows = [
        {"id": "a", "query": "w?", "answerable": False},
        {"id": "b", "query": "v?", "expected_docs": ["d"]},
    ]
    golden = read("set.jsonl", "\n".join(map(json.dumps, rows)))
    assert golden.format == "jsonl"
    assert golden.queries[1].relevant == {"d": 1}


WHO = QueryAcl(tenant="acme", principal="u7", groups=("ops",))


@pytest.mark.parametrize(
    "said",
    [
        {"acl": {"tenant": "acme", "principal": "u7", "groups": ["ops"]}},
        {"acl": {"tenant_id": "acme", "principal_id": "u7", "group_ids": ["ops"]}},
        {"acl_context": {"tenant_id": "acme", "user_id": "u7", "groups": ["ops"]}},
        {"aclContext": {"tenant": "acme", "user": "u7", "user_groups": ["ops"]}},
    ],
)
@pytest.mark.parametrize("judged", ["relevant", "expected_docs"])
def test_names_of_access(read, judged: str, said: dict[str, object]) -> None:
    golden = read("set.jsonl", json.dumps({"id": "a", "query": "w?", judged: ["d"], **said}) + "\n")
    assert golden.queries[0].acl == WHO
    assert not [notice for notice in golden.notices if "acl" in notice.text.partition("Not used")[2]]


def test_access_beside_the_row_and_in_cells(read) -> None:
    row = {"id": "a", "query": "w?", "relevant": ["d"], "tenant_id": "acme", "principal_id": 7}
    for name, content in (("set.jsonl", json.dumps(row) + "\n"), ("set.json", [row])):
        assert read(name, content).queries[0].acl == QueryAcl(tenant="acme", principal="7")
    cells = 'id,query,relevant,acl\na,w?,d,"{""tenant_id"": ""acme""}"\n'
    assert read("set.csv", cells).queries[0].acl == QueryAcl(tenant="acme")


@pytest.mark.parametrize(
    "acl", [{"role": "r"}, {"tenant": "a", "tenant_id": "b"}, {"groups": "ops"}, ["ops"], "ops"]
)
@pytest.mark.parametrize("judged", ["relevant", "expected_docs"])
def test_access_that_is_not_understood_is_an_error(read, judged: str, acl: object) -> None:
    error = refused(
        read, "set.jsonl", json.dumps({"id": "a", "query": "w?", judged: ["d"], "acl": acl}) + "\n"
    )
    assert error.where.endswith(":1")
    assert "acl" in error.message


def test_the_query_file_beside_judgments_is_read_whole(pair) -> None:
    rows = [
        {
            "_id": "q1",
            "text": "w?",
            "lang": "en",
            "acl": {"tenant": "t"},
            "source": "human",
            "review": "accepted",
        },
        {"_id": "q2", "text": "v?", "answerable": False, "tags": ["x"]},
    ]
    golden = pair("\n".join(map(json.dumps, rows)), "q1\td\t1\n")
    first, second = golden.queries
    assert (first.lang, first.acl, first.source, first.review) == (
        "en",
        QueryAcl(tenant="t"),
        "human",
        "accepted",
    )
    assert (second.answerable, second.tags, second.source, second.review) == (
        False,
        ("x",),
        "unknown",
        "pending",
    )
    other = json.dumps({"nr": "q1", "soru": "w?"})
    assert pair(other, "q1\td\t1\n", fields=parse_map("id=nr,query=soru")).queries[0].text == "w?"
    assert "acl" in refused(pair, json.dumps({**rows[0], "acl": {"role": "r"}}), "q1\td\t1\n").message


def test_topics_in_more_than_two_columns(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("qid\tquery\tlang\nq1\tw?\ten\n")
    (tmp_path / "j.tsv").write_text("q1\td\t1\n")
    location = f"queries={tmp_path / 'q.tsv'},qrels={tmp_path / 'j.tsv'}"
    (query,) = read_golden(location).queries
    assert (query.text, query.lang) == ("w?", "en")
    (tmp_path / "q.tsv").write_text("q1\tw?\ten\n")
    assert "has 3 columns" in refused(read_golden, location).message


@pytest.mark.parametrize("nothing", [[], None, {}, [None]])
@pytest.mark.parametrize("field", ["any_of", "expected_docs", "retrieval_gt", "relevant"])
def test_a_row_that_says_that_nothing_is_to_be_found(read, field: str, nothing: object) -> None:
    first = {"id": "a", "query": "w?", field: [["d"]] if field == "any_of" else ["d"]}
    rows: list[dict[str, object]] = [first, {"id": "b", "query": "v?", field: nothing}]
    golden = read("set.jsonl", "\n".join(map(json.dumps, rows)) + "\n")
    assert [query.answerable for query in golden.queries] == [True, False]
    assert "1 rows name nothing to find" in note(golden, "nothing-to-find")
    rows[1]["answerable"] = True
    assert (
        "nothing says what should be found"
        in refused(read, "set.jsonl", "\n".join(map(json.dumps, rows)) + "\n").message
    )


def test_nested_fields_by_dotted_names(read) -> None:
    row = {"inputs": {"q": "w?"}, "outputs": {"expected": [{"id": "d1"}, {"id": "d2"}], "note": 1}}
    error = refused(read, "set.json", [row])
    assert "the file has: inputs, outputs; inside them: inputs.q, outputs.expected" in error.message
    for name in ("inputs.q", "outputs.expected", "outputs.expected.id", "outputs.note"):
        assert name in error.message
    mapped = parse_map("query=inputs.q,relevant=outputs.expected.id")
    golden = read("set.json", [row], fields=mapped)
    assert golden.queries[0].relevant == {"d1": 1, "d2": 1}
    assert "Not used: outputs.note" in note(golden, "detected")
    cells = 'inputs,outputs\n"{""q"": ""w?""}","{""expected"": [{""id"": ""d1""}]}"\n'
    assert read("set.csv", cells, fields=mapped).queries[0].relevant == {"d1": 1}
    wrong = refused(read, "set.json", [row], fields=parse_map("query=inputs.q,relevant=outputs.expcted"))
    assert wrong.code == "golden.no-field"
    assert "outputs.expected" in wrong.message + wrong.hint


@pytest.mark.parametrize(
    ("value", "grade"), [(2, 2), (2.0, 2), (True, 1), (False, 0), ("3", 3), ("1.0", 1), (-1, -1), ("0", 0)]
)
def test_whole_values_are_grades(value: object, grade: int) -> None:
    assert whole_grade(value, {}) == grade


@pytest.mark.parametrize("value", [0.5, "0.75", "high", "", None, float("nan"), "1_0", "9" * 5000, [1]])
def test_what_is_no_grade(value: object) -> None:
    with pytest.raises(ValueError, match="the grade") as caught:
        whole_grade(value, {}, "doc")
    assert len(str(caught.value)) < 250


def test_fractions_and_words_need_a_map_that_then_works(read, pair) -> None:
    scale = parse_grade_map("0.75=3, .25=1, high=2, true=5, -1=0")
    for written, grade in ((0.75, 3), ("0.750", 3), (0.25, 1), ("high", 2), (True, 5), (-1.0, 0)):
        assert whole_grade(written, scale) == grade
    row = {"id": "a", "query": "w?", "relevant": {"d": 0.75, "e": "high"}}
    error = refused(read, "set.jsonl", json.dumps(row))
    assert "--grade-map 0.75=1" in error.message
    assert read("set.jsonl", json.dumps(row), grades=scale).queries[0].relevant == {"d": 3, "e": 2}
    qrels = "query-id\tcorpus-id\tscore\nq1\td\t0.75\n"
    queries = '{"_id": "q1", "text": "w?"}\n'
    assert "--grade-map 0.75=1" in refused(pair, queries, qrels).message
    assert pair(queries, qrels, grades=scale).queries[0].relevant == {"d": 3}
    assert pair(queries, qrels.replace("0.75", "1.0")).queries[0].relevant == {"d": 1}
    four = "q1 0 d 0.75\n"
    assert pair(queries, four, grades=scale).queries[0].relevant == {"d": 3}
    assert pair(queries, "q1\td\tx\nq1\te\tx\n", grades={"x": 1}).queries[0].relevant == {"d": 1, "e": 1}


@pytest.mark.parametrize("text", ["1", "1=x", "=1", "1=1.5", "1=2,1.0=3"])
def test_a_bad_grade_map(text: str) -> None:
    with pytest.raises(ValueError, match=r"=|values"):
        parse_grade_map(text)


JUDGED = "query,doc_id,grade\nw?,d1,2\nw?,d2,0\nv?,d1,1\nw?,d1,2\n"


def test_rows_of_one_judgment_are_one_query_a_text(read) -> None:
    golden = read("set.csv", JUDGED)
    assert [(query.text, query.relevant) for query in golden.queries] == [
        ("w?", {"d1": 2, "d2": 0}),
        ("v?", {"d1": 1}),
    ]
    assert note(golden, "identical-judgments").startswith("1 judgments repeat")
    error = refused(read, "set.csv", JUDGED.replace("w?,d2,0", "w?,d1,0"))
    assert error.code == "golden.conflicting-judgments"
    assert error.where.endswith(":3")
    assert "on line 2" in error.message
    assert "--grade-map high=1" in refused(read, "set.csv", JUDGED.replace(",2", ",high")).message
    numbered = "id,query,doc_id,relevant\n1,w?,d1,1\n2,w?,d2,0\n"
    (query,) = read("set.csv", numbered).queries
    assert query.relevant == {"d1": 1, "d2": 0}
    assert query.id.startswith("q-")
    asked = "query_id,query,passage_id,relevance\nq1,w?,d1,true\nq1,w?,d2,false\nq2,w?,d3,true\n"
    assert [query.id for query in read("set.csv", asked).queries] == ["q1", "q2"]
    rows = [{"query": "w?", "doc": "d1", "label": 1}, {"query": "w?", "doc": "d2", "label": 0}]
    assert read("set.json", rows).queries[0].relevant == {"d1": 1, "d2": 0}


def test_judgments_in_a_file_that_repeat_or_contradict(pair) -> None:
    queries = '{"_id": "q1", "text": "w?"}\n'
    for line in ("q1\td\t{}\n", "q1 0 d {}\n"):
        same = pair(queries, line.format(1) * 2)
        assert note(same, "identical-judgments") == "1 judgment repeats an earlier one and count once."
        error = refused(pair, queries, line.format(1) + line.format(2))
        assert error.code == "golden.conflicting-judgments"
        assert error.where.endswith(":2")
        assert "on line 1" in error.message


def test_equal_questions_are_two_or_joined(read) -> None:
    rows = [
        {"id": "a", "query": "w?", "relevant": {"d": 2}, "tags": ["x"], "lang": "en"},
        {"id": "b", "query": "w?", "relevant": {"e": 1, "d": 2}, "tags": ["y"]},
        {"id": "c", "query": "w?", "relevant": ["d"], "acl": {"tenant": "t"}},
    ]
    text = "\n".join(map(json.dumps, rows))
    assert "1 rows repeat an earlier question but judge it otherwise" in note(
        read("set.jsonl", text), "conflicting-judgments"
    )
    joined = read("set.jsonl", text, merge_equal=True)
    assert [(query.id, query.relevant, query.tags) for query in joined.queries] == [
        ("a", {"d": 2, "e": 1}, ("x", "y")),
        ("c", {"d": 1}, ()),
    ]
    rows[1]["relevant"] = {"d": 1}
    error = refused(read, "set.jsonl", "\n".join(map(json.dumps, rows)), merge_equal=True)
    assert "grade 1 here and 2 on line 1" in error.message


def test_what_is_named_twice_in_a_row_counts_once(read) -> None:
    item = {"doc": "d", "quote": "A b"}
    row = {
        "id": "q",
        "query": "w?",
        "evidence": [item, {**item, "quote": "A  b"}, {"doc": "d", "quote": "B"}],
    }
    golden = read("set.jsonl", json.dumps(row))
    assert golden.queries[0].evidence == (Evidence(doc="d", quote="A b"), Evidence(doc="d", quote="B"))
    assert "counts once" in note(golden, "repeated-judgments")
    groups = {"id": "q", "query": "w?", "any_of": [["a", "b"], ["c"], ["b", "a"], ["c", "c"]]}
    assert read("set.jsonl", json.dumps(groups)).queries[0].any_of == (("a", "b"), ("c",))


def test_where_rows_come_from(read) -> None:
    row = {"id": "q", "query": "w?", "relevant": ["d"]}
    (canonical,) = read("set.jsonl", json.dumps(row)).queries
    assert (canonical.source, canonical.review) == ("unknown", "accepted")
    (foreign,) = read("set.json", [row]).queries
    assert (foreign.source, foreign.review) == ("unknown", "pending")
    (told,) = read("set.json", [row], source="human", review="accepted").queries
    assert (told.source, told.review) == ("human", "accepted")
    (said,) = read("set.json", [{**row, "source": "log", "review": "rejected"}]).queries
    assert (said.source, said.review) == ("log", "rejected")
    golden = read("set.json", [{**row, "source": "handbook.pdf"}])
    assert golden.queries[0].source == "unknown"
    assert "Not used: source" in note(golden, "detected")
    mixed = [{**row, "source": "human"}, {"id": "r", "query": "v?", "relevant": ["d"], "source": "robot"}]
    assert '"robot"' in refused(read, "set.json", mixed).message
    assert refused(read, "set.json", [{**row, "source": "log"}], source="human").code == "config.no-effect"


def test_declarations_work_on_a_canonical_file(read) -> None:
    row = {"id": "q", "query": "w?", "relevant": ["d"], "soru": "v?", "gold": [["a", 3]]}
    golden = read("set.jsonl", json.dumps(row), fields={"query": "soru"})
    assert golden.queries[0].text == "v?"
    golden = read("set.jsonl", json.dumps(row), fields={"relevant": "gold"}, id_template="{0}-{1}")
    assert golden.queries[0].relevant == {"a-3": 1}
    unused = refused(read, "set.jsonl", json.dumps(row), fields={"doc": "soru"})
    assert (unused.code, "--map doc=soru" in unused.message) == ("config.no-effect", True)
    assert "file" not in refused(read, "set.jsonl", json.dumps(row), grades={"1": 2}).message
