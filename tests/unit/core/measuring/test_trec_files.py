"""TREC files: what is read alike, what is refused and where, and that what is written reads back the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_action.core.measuring import trec_files as trec
from rageval_action.core.measuring.trec_files import (
    TrecRanking,
    format_qrels,
    format_run,
    parse_qrels,
    parse_run,
)
from rageval_action.errors import GoldenError, RagevalError, RecordError

FIXED = settings(derandomize=True, deadline=None)

RUN = b"q1 Q0 d2 1 2.0 t\nq1 Q0 d1 2 1.0 t\nq2 Q0 d3 1 7.5 t\n"
QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n"


def plain(data: bytes) -> dict[str, list[tuple[str, float]]]:
    """Query -> (id, score) best first."""
    run = parse_run(data, where="run.txt")
    return {
        query: list(zip(ranking.ids, ranking.scores, strict=True)) for query, ranking in run.rankings.items()
    }


def refused(data: bytes, kind: str) -> RagevalError:
    with pytest.raises(RagevalError) as caught:
        parse_run(data, where="run.txt") if kind == "run" else parse_qrels(data, where="qrels.txt")
    assert type(caught.value) is {"run": RecordError, "qrels": GoldenError}[kind]
    return caught.value


READ_RUN = {"q1": [("d2", 2.0), ("d1", 1.0)], "q2": [("d3", 7.5)]}
READ_QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}


def reshaped(data: bytes) -> dict[str, bytes]:
    """The same file in every spelling that means the same."""
    lines = data.splitlines()
    return {
        "plain": data,
        "tabs": data.replace(b" ", b"\t"),
        "many blanks": data.replace(b" ", b" \t  "),
        "indented": b"".join(b"  " + line + b"  \n" for line in lines),
        "crlf": data.replace(b"\n", b"\r\n"),
        "cr": data.replace(b"\n", b"\r"),
        "no final newline": data.rstrip(),
        "no final newline, crlf": data.replace(b"\n", b"\r\n").rstrip(),
        "byte order mark": trec.BOM + data,
        "byte order mark inside": lines[0] + b"\n" + trec.BOM + b"\n".join(lines[1:]),
        "comment first": b"# note\n" + data,
        "comment of as many columns": lines[0] + b"\n" + b"#" + lines[0] + b"\n" + b"\n".join(lines[1:]),
        "blank lines": b"\n" + data.replace(b"\n", b"\n \n\t\r\n"),
        "blank line at the end": data + b"\n",
        "vertical blanks": data.replace(b" ", b"\v").replace(b"\v", b"\f", 1),
    }


@pytest.mark.parametrize("spelling", list(reshaped(RUN)))
def test_spellings_read_alike(spelling: str) -> None:
    assert plain(reshaped(RUN)[spelling]) == READ_RUN
    assert parse_qrels(reshaped(QRELS)[spelling], where="qrels.txt") == READ_QRELS


@pytest.mark.parametrize("extra", [b" note", b" note x"])
def test_a_run_may_have_more_columns(extra: bytes) -> None:
    assert plain(RUN.replace(b"\n", extra + b"\n")) == READ_RUN
    assert plain(RUN.replace(b"\n", extra + b"\n", 1)) == READ_RUN


def test_the_order_is_by_score_and_then_by_id_whatever_the_file_says() -> None:
    data = b"q Q0 a 1 1.0 t\nq Q0 c 2 1.0 t\nq Q0 b 3 1 t\nq Q0 d 4 5e-1 t\nq Q0 e 5 10 t\n"
    assert plain(data) == {"q": [("e", 10.0), ("c", 1.0), ("b", 1.0), ("a", 1.0), ("d", 0.5)]}


def test_scores_are_64_bit_numbers() -> None:
    data = b"q Q0 a 1 0.87654321012 t\nq Q0 b 2 0.87654321001 t\n"
    assert [name for name, _ in plain(data)["q"]] == ["a", "b"]


def test_lines_of_a_query_need_not_stand_together() -> None:
    assert plain(b"q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\nq1 Q0 c 2 3 t\n") == {
        "q1": [("c", 3.0), ("a", 1.0)],
        "q2": [("b", 1.0)],
    }


def test_ids_are_text_of_any_kind() -> None:
    assert plain("問 Q0 https://é/#文_1 1 -1 t\n".encode()) == {"問": [("https://é/#文_1", -1.0)]}
    assert plain("q Q0 a\u3000b 1 1 t\n".encode()) == {"q": [("a\u3000b", 1.0)]}


@pytest.mark.parametrize(
    "score", [b"+1", b"1.", b".5", b"-0", b"01", b"1E+3", b"-1e-400", b"123456789012345678901"]
)
def test_scores_of_every_spelling(score: bytes) -> None:
    assert plain(b"q Q0 a 1 " + score + b" t\n")["q"][0][1] == float(score)


@pytest.mark.parametrize(
    ("grade", "value"), [(b"+1", 1), (b"-2", -2), (b"007", 7), (b"2147483647", 2**31 - 1)]
)
def test_grades_of_every_spelling(grade: bytes, value: int) -> None:
    assert parse_qrels(b"q 0 a " + grade + b"\n", where="x") == {"q": {"a": value}}


@pytest.mark.parametrize(
    ("data", "kind", "code", "where", "told"),
    [
        (b"", "run", "trec.empty", "run.txt", "the run file is empty"),
        (b"\n# only notes\n", "run", "trec.empty", "run.txt", "the run file is empty"),
        (trec.BOM, "qrels", "trec.empty", "qrels.txt", "the qrels file is empty"),
        (b"q Q0 a 1 2.0\n", "run", "trec.columns", "run.txt:1", "5 columns where a run line has 6 or more"),
        (RUN + b"q3 Q0 a 1 2.0\n", "run", "trec.columns", "run.txt:4", "5 columns"),
        (RUN + b"x\n", "run", "trec.columns", "run.txt:4", "1 columns"),
        (b"q a 1\n", "qrels", "trec.columns", "qrels.txt:1", "3 columns where a qrels line has 4:"),
        (QRELS + b"q3 0 a 1 x\n", "qrels", "trec.columns", "qrels.txt:4", "5 columns"),
        (b"q 0 a 1 x\n", "qrels", "trec.columns", "qrels.txt:1", "5 columns"),
        (b"q1 Q0 a 1 2.0\nq2 Q0 b 1 1.0 t extra\n", "run", "trec.columns", "run.txt:1", "5 columns"),
        (b"q Q0 a 1 high t\n", "run", "trec.score", "run.txt:1", 'the score "high" is not a finite number'),
        (b"\n\nq Q0 a 1 nan t\n", "run", "trec.score", "run.txt:3", '"nan"'),
        (b"q Q0 a 1 inf t\n", "run", "trec.score", "run.txt:1", '"inf"'),
        (b"q Q0 a 1 -1e999 t\n", "run", "trec.score", "run.txt:1", '"-1e999"'),
        (b"q Q0 a 1 1_0 t\n", "run", "trec.score", "run.txt:1", '"1_0"'),
        (b"q Q0 a 1 1,5 t\n", "run", "trec.score", "run.txt:1", '"1,5"'),
        (b"q Q0 a 1 0x1 t\n", "run", "trec.score", "run.txt:1", '"0x1"'),
        (b"q Q0 a 1 . t\n", "run", "trec.score", "run.txt:1", '"."'),
        (b"q Q0 a 1 null t\n", "run", "trec.score", "run.txt:1", '"null"'),
        (b"q 0 a 0.5\n", "qrels", "trec.grade", "qrels.txt:1", 'the grade is "0.5", not a whole number'),
        (b"q 0 a high\n", "qrels", "trec.grade", "qrels.txt:1", '"high"'),
        (b"q 0 a 1_0\n", "qrels", "trec.grade", "qrels.txt:1", '"1_0"'),
        (b"q 0 a 2147483648\n", "qrels", "trec.grade", "qrels.txt:1", '"2147483648"'),
        (b"q 0 a -2147483648\n", "qrels", "trec.grade", "qrels.txt:1", '"-2147483648"'),
        (b"q 0 a 99999999999\n", "qrels", "trec.grade", "qrels.txt:1", '"99999999999"'),
        (b"q 0 a " + b"9" * 5000 + b"\n", "qrels", "trec.grade", "qrels.txt:1", '"999'),
        (
            RUN + b"q1 Q0 d2 9 0.5 t\n",
            "run",
            "trec.duplicate",
            "run.txt:4",
            'document "d2" of query "q1" was in line 1 already',
        ),
        (
            b"# note\n" + QRELS + b"q2 0 d3 2\n",
            "qrels",
            "trec.duplicate",
            "qrels.txt:5",
            'document "d3" of query "q2" was in line 4 already',
        ),
        (b"q Q0 \xff 1 1 t\n", "run", "trec.encoding", "run.txt:1", "an id is not UTF-8"),
        (b"\xffq 0 a 1\n", "qrels", "trec.encoding", "qrels.txt:1", "an id is not UTF-8"),
        (b"q Q0 a 1 \xff t\n", "run", "trec.score", "run.txt:1", '"\ufffd"'),
        (b"\x1f\x8b\x08\x00", "run", "trec.not-text", "run.txt", "compressed with gzip"),
        (b"PK\x03\x04rest", "qrels", "trec.not-text", "qrels.txt", "a zip archive"),
        ("q 0 a 1\n".encode("utf-16"), "qrels", "trec.not-text", "qrels.txt", "is UTF-16"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
            "run",
            "trec.not-text",
            "run.txt",
            "a Git LFS pointer",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(
    data: bytes, kind: str, code: str, where: str, told: str
) -> None:
    error = refused(data, kind)
    assert (error.code, error.where) == (code, where)
    assert told in error.message


def test_the_empty_file_is_told_what_a_line_is() -> None:
    assert refused(b"", "run").hint == "A line is: query Q0 document rank score tag."
    assert refused(b"", "qrels").hint == "A line is: query 0 document grade."


def test_a_repeated_document_is_one_of_the_same_query_only() -> None:
    assert parse_qrels(b"q1 0 d 1\nq2 0 d 1\n", where="x") == {"q1": {"d": 1}, "q2": {"d": 1}}


def test_all_faults_come_in_one_error() -> None:
    error = refused(b"q Q0 a 1 high t\nq Q0 b\nq Q0 c 1 1 t\nq Q0 c 2 1 t\n", "run")
    assert (error.code, error.where) == ("trec.score", "run.txt:1")
    assert error.message.splitlines() == [
        'the score "high" is not a finite number.',
        "  run.txt:2: 3 columns where a run line has 6 or more: query Q0 document rank score tag.",
        '  run.txt:4: document "c" of query "q" was in line 3 already.',
    ]


@pytest.mark.parametrize(
    ("count", "listed", "rest"), [(20, 20, ""), (21, 20, "  … and 1 more."), (50, 20, "  … and 30 more.")]
)
def test_twenty_faults_are_shown_and_the_rest_counted(count: int, listed: int, rest: str) -> None:
    lines = refused(b"bad line\n" * count, "qrels").message.splitlines()
    assert len([line for line in lines if "2 columns" in line]) == listed
    assert lines[listed:] == ([rest] if rest else [])


def test_a_file_of_many_blocks_is_read_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(b"q%d Q0 d%d %d %d t\n" % (at // 7, at, at, -at) for at in range(200))
    whole = plain(data)
    for size in (1, 16, 100):
        monkeypatch.setattr(trec, "BLOCK", size)
        assert plain(data) == whole
    assert sum(map(len, whole.values())) == 200


def test_a_fault_in_a_late_block_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec, "BLOCK", 64)
    data = b"".join(b"q%d Q0 d 1 1 t\n" % at for at in range(50))
    assert refused(data + b"q Q0 d 1 1\n", "run").where == "run.txt:51"
    assert refused(data + b"q49 Q0 d 1 1 t\n", "run").where == "run.txt:51"


def test_the_quick_path_takes_usual_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speed rests on it: these must not fall back to reading line by line."""

    def careful(*_: object) -> None:
        raise AssertionError("fell back")

    monkeypatch.setattr(trec, "_careful", careful)
    for spelling in ("plain", "tabs", "many blanks", "crlf", "no final newline", "byte order mark"):
        assert plain(reshaped(RUN)[spelling]) == READ_RUN
        assert parse_qrels(reshaped(QRELS)[spelling], where="x") == READ_QRELS
    assert plain(RUN.replace(b" t\n", b" t note\n")) == READ_RUN


IDS = st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\r\v\f"), min_size=1, max_size=4).filter(
    lambda name: not name.startswith(("#", "\ufeff"))
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.slow
@FIXED
@given(st.dictionaries(IDS, st.dictionaries(IDS, FINITE, min_size=1, max_size=5), min_size=1, max_size=4))
def test_a_run_reads_back_as_it_was_written(run: dict[str, dict[str, float]]) -> None:
    data = format_run(
        {query: TrecRanking(list(docs), list(docs.values())) for query, docs in run.items()}
    ).encode()
    ranked = {
        query: sorted(docs.items(), key=lambda item: (item[1], item[0].encode()), reverse=True)
        for query, docs in run.items()
    }
    assert plain(data) == ranked
    # The careful path gives the same.
    assert plain(b"# note\n" + data) == ranked


@FIXED
@given(
    st.dictionaries(
        IDS,
        st.dictionaries(IDS, st.integers(-trec.LARGEST_GRADE, trec.LARGEST_GRADE), min_size=1, max_size=5),
        min_size=1,
        max_size=4,
    )
)
def test_qrels_read_back_as_they_were_written(qrels: dict[str, dict[str, int]]) -> None:
    data = format_qrels(qrels).encode()
    assert parse_qrels(data, where="x") == qrels
    assert parse_qrels(b"# note\n" + data, where="x") == qrels


@FIXED
@given(
    st.binary(max_size=60)
    | st.from_regex(re.compile(rb"(q 0 [ab#] [-+0-9._,e]{1,4}[\r\n]*){1,3}"), fullmatch=True)
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (parse_run, parse_qrels):
        refusals: list[RagevalError] = []
        try:
            assert read(data, where="x")
        except RagevalError as error:
            refusals.append(error)
        assert all(one.code.startswith("trec.") and one.where.startswith("x") for one in refusals)


def test_what_is_written_looks_like_trec() -> None:
    written = format_run({"q": TrecRanking(["a", "b"], [0.1, -2.0])}, tag="mine")
    assert written == "q Q0 a 1 0.1 mine\nq Q0 b 2 -2.0 mine\n"
    assert format_run({"q": TrecRanking(["a"], [1])}) == "q Q0 a 1 1.0 rageval\n"
    assert format_qrels({"q": {"a": 1, "b": 0}}) == "q 0 a 1\nq 0 b 0\n"
    assert format_run({}) == format_qrels({}) == format_run({"q": TrecRanking([], [])}) == ""


@pytest.mark.parametrize("name", ["", "a b", "a\tb", "a\n", "\r", "a\vb", "\f", "#a", "\ufeffa"])
def test_an_id_that_would_read_back_otherwise_is_not_written(name: str) -> None:
    for write in (
        lambda: format_run({name: TrecRanking(["a"], [1.0])}),
        lambda: format_run({"q": TrecRanking([name], [1.0])}),
        lambda: format_run({"q": TrecRanking(["a"], [1.0])}, tag=name),
        lambda: format_qrels({name: {"a": 1}}),
        lambda: format_qrels({"q": {name: 1}}),
    ):
        with pytest.raises(RecordError, match=r" id | tag ") as caught:
            write()
        assert caught.value.code == "trec.id"
        assert f'"{name}"' in caught.value.message


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite_is_not_written(score: float) -> None:
    with pytest.raises(RecordError, match='query "q", document "a"') as caught:
        format_run({"q": TrecRanking(["a"], [score])})
    assert caught.value.code == "trec.score"


@pytest.mark.parametrize(
    ("ranks", "scores", "found"),
    [
        ("1 2 3", "3 2 1", ("falling", "rank")),
        ("1 2 3", "1 2 3", ("rising", "rank")),
        ("1 2 3", "3 2 2", ("falling", "rank")),
        ("1 2 3", "2 2 2", ("level", "rank")),
        ("0 1 2", "3 2 1", ("falling", "rank")),
        ("3 2 1", "1 2 3", ("falling", "rank")),
        ("3 2 1", "3 2 1", ("rising", "rank")),
        ("1 1 1", "1 2 3", ("rising", "list")),
        ("- - -", "1 3 2", ("mixed", "list")),
        ("nan 1 2", "3 2 1", ("falling", "list")),
    ],
)
@pytest.mark.parametrize("extra", ["", "# note\n", "q2 Q0 x 7 1 t\n"])
def test_how_scores_run_by_rank(ranks: str, scores: str, found: tuple[str, str], extra: str) -> None:
    lines = [
        f"q1 Q0 d{at} {rank} {score} t\n"
        for at, (rank, score) in enumerate(zip(ranks.split(), scores.split(), strict=True))
    ]
    assert parse_run((extra + "".join(lines)).encode(), where="run").trends["q1"] == found


def test_ranks_are_counted_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec, "BLOCK", 40)
    lines = "".join(f"q1 Q0 d{at} {at} {at / 8} t\n" for at in range(1, 30))
    assert parse_run(lines.encode(), where="run").trends == {"q1": ("rising", "rank")}
