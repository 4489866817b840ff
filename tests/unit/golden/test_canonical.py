from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from rageval_action.core.model.types import Evidence, GoldenSet, QueryAcl
from rageval_action.errors import ConfigError, GoldenError
from rageval_action.golden.formats import read_golden

if TYPE_CHECKING:
    from pathlib import Path

GOOD = '{"id": "q1", "query": "where is it?", "relevant": ["d1"]}'


@pytest.fixture
def golden(tmp_path: Path):
    """Write lines (text or objects) to a file and read them as a golden set."""

    def read(*lines: object, raw: bytes | None = None) -> GoldenSet:
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        file = tmp_path / "golden.jsonl"
        file.write_bytes(text.encode() if raw is None else raw)
        return read_golden(file)

    return read


def problem(read, *lines: object, raw: bytes | None = None) -> GoldenError:
    with pytest.raises(GoldenError) as caught:
        read(*lines, raw=raw)
    assert caught.value.exit_code == 2
    return caught.value


def test_every_field_arrives(golden) -> None:
    row = {
        "id": "q001",
        "query": "How do I rotate the certificate?",
        "relevant": {"vpn": 3, "kb": 1, "old": 0},
        "any_of": [["a", "b"], ["c"]],
        "evidence": [{"doc": "vpn", "quote": "Run the command", "start": 10}],
        "tags": ["net", "critical"],
        "type": "lookup",
        "lang": "en",
        "acl": {"tenant": "acme", "principal": "u-7", "groups": ["ops"]},
        "answerable": True,
        "source": "synthetic",
        "review": "pending",
        "group": "g1",
        "provenance": {"model": "m"},
    }
    read = golden(row)
    (query,) = read.queries
    assert (query.id, query.text, query.line) == ("q001", row["query"], 1)
    assert query.relevant == {"vpn": 3, "kb": 1, "old": 0}
    assert query.any_of == (("a", "b"), ("c",))
    assert query.evidence == (Evidence(doc="vpn", quote="Run the command", start=10),)
    assert query.acl == QueryAcl(tenant="acme", principal="u-7", groups=("ops",))
    assert (query.tags, query.type, query.lang) == (("net", "critical"), "lookup", "en")
    assert (query.source, query.review, query.group) == ("synthetic", "pending", "g1")
    assert read.notices == ()
    assert read.format == "canonical"


def test_a_list_of_ids_has_grade_one(golden) -> None:
    assert golden(GOOD).queries[0].relevant == {"d1": 1}


def test_bom_crlf_and_blank_lines_change_nothing_but_the_line_numbers(golden) -> None:
    raw = (
        b"\xef\xbb\xbf\r\n"
        + GOOD.encode()
        + b"\r\n\r\n"
        + GOOD.replace("q1", "q2").replace("it", "that").encode()
    )
    read = golden(raw=raw)
    assert [(query.id, query.line) for query in read.queries] == [("q1", 2), ("q2", 4)]
    assert read.sha256 == hashlib.sha256(raw).hexdigest()


def test_ids_are_compared_in_nfc(golden) -> None:
    read = golden({"id": "cafe\u0301", "query": "x", "relevant": {"re\u0301sume\u0301": 2}})
    assert read.queries[0].id == "caf\u00e9"
    assert read.queries[0].relevant == {"r\u00e9sum\u00e9": 2}
    assert [notice.code for notice in read.notices] == ["golden.ids-to-nfc"]


def test_integer_ids_are_text_with_one_notice(golden) -> None:
    read = golden(
        {"id": 1, "query": "a", "relevant": [7, "8"]}, {"id": 2, "query": "b", "any_of": [[9], ["x", 10]]}
    )
    assert [query.id for query in read.queries] == ["1", "2"]
    assert read.queries[0].relevant == {"7": 1, "8": 1}
    assert read.queries[1].any_of == (("9",), ("x", "10"))
    (notice,) = read.notices
    assert notice.code == "golden.integer-ids"
    assert notice.where.endswith("golden.jsonl:1")
    assert "5 of them" in notice.text


def test_unknown_keys_are_named_once_and_ignored(golden) -> None:
    read = golden(
        GOOD,
        {"id": "q2", "query": "b", "relevant": ["d"], "colour": 1, "acl": {"tenant": "t"}},
        {"id": "q3", "query": "c", "evidence": [{"doc": "d", "quote": "q", "page": 3}], "colour": 2},
    )
    (notice,) = read.notices
    assert notice.code == "golden.unknown-keys"
    assert "Not used: `colour`, `evidence.page`." in notice.text
    assert notice.where.endswith(":2")
    assert len(read.queries) == 3


def test_negative_grades_repeats_and_nothing_relevant_are_noted(golden) -> None:
    read = golden(
        {"id": "a", "query": "a", "relevant": {"d": -1, "e": 1}},
        {"id": "b", "query": "b", "relevant": ["d", "d"]},
        {"id": "c", "query": "c", "relevant": {"d": 0}},
    )
    assert read.queries[0].relevant == {"d": -1, "e": 1}
    assert read.queries[1].relevant == {"d": 1}
    assert [notice.code for notice in read.notices] == [
        "golden.negative-grades",
        "golden.repeated-judgments",
        "golden.nothing-relevant",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "q2", "query": "b"', "not JSON"),
        ("[1, 2]", "this is a list"),
        ("null", "this is null"),
        ({"query": "b", "relevant": ["d"]}, "no `id` (it has: `query`, `relevant`)"),
        ({"id": "q2", "relevant": ["d"]}, "no `query`"),
        ({"id": "q2", "query": " \t", "relevant": ["d"]}, "query is empty"),
        ({"id": "", "query": "b", "relevant": ["d"]}, "`id` is empty"),
        ({"id": "q2", "query": "b", "relevant": [""]}, "`relevant` is empty"),
        ({"id": 1.5, "query": "b", "relevant": ["d"]}, "`id`"),
        ({"id": "q2", "query": ["b"], "relevant": ["d"]}, "`query`: expected text, got a list"),
        ({"id": "q2", "query": "b", "relevant": "d"}, "`relevant` is text"),
        ({"id": "q2", "query": "b", "relevant": {"d": 1.5}}, 'grade of "d" is 1.5'),
        ({"id": "q2", "query": "b", "relevant": {"d": "high"}}, 'grade of "d" is "high"'),
        ('{"id": "q2", "query": "b", "relevant": {"d": 1, "d": 2}}', '"d" stands twice'),
        ('{"id": "q2", "query": "b", "query": "c", "relevant": ["d"]}', '"query" stands twice'),
        ({"id": "q2", "query": "b", "relevant": {"d": None}}, 'grade of "d" is null'),
        ({"id": "q2", "query": "b", "relevant": {"d": 10**7}}, "outside"),
        ({"id": "q2", "query": "b", "relevant": [["d"]]}, "one entry is a list"),
        ({"id": "q2", "query": "b", "relevant": {"e\u0301": 1, "\u00e9": 2}}, "two grades, 1 and 2"),
        ({"id": "q2", "query": "b"}, "nothing says what should be found"),
        ({"id": "q2", "query": "b", "relevant": [], "answerable": True}, "nothing says what should be found"),
        ({"id": "q2", "query": "b", "any_of": [["a"], []]}, "group in `any_of` is empty"),
        ({"id": "q2", "query": "b", "relevant": ["d"], "answerable": False}, "`answerable: false`"),
        ({"id": "q2", "query": "b", "answerable": "no"}, "`answerable`"),
        ({"id": "q2", "query": "b", "evidence": [{"doc": "d", "quote": " "}]}, "empty `quote`"),
        ({"id": "q2", "query": "b", "evidence": [{"doc": " ", "quote": "x"}]}, "no `doc`"),
        ({"id": "q2", "query": "b", "evidence": [{"doc": "d", "quote": "x", "start": -3}]}, "starts at -3"),
        ({"id": "q2", "query": "b", "evidence": [{"doc": "d"}]}, "quote"),
        ({"id": "q2", "query": "b", "relevant": ["d"], "tags": "net"}, "`tags`: expected a list, got text"),
        ({"id": "q2", "query": "b", "relevant": ["d"], "source": "robot"}, "`source`"),
        ({"id": "q2", "query": "b", "relevant": ["d"], "acl": {"groups": "ops"}}, "`acl.groups`"),
        ({"id": "q2", "query": "b", "relevant": ["d"], "acl": {"role": "r"}}, "`acl.role`"),
        ({"id": "q2", "query": "b", "relevant": ["d"], "acl": {}, "tenant_id": "t"}, "named twice"),
    ],
)
def test_a_bad_row_is_named_with_its_line(golden, line: object, words: str) -> None:
    error = problem(golden, GOOD, line)
    assert error.code == "golden.bad-row"
    assert error.where.endswith("golden.jsonl:2")
    assert words in error.message


def test_a_repeated_id_names_the_first_line(golden) -> None:
    error = problem(golden, GOOD, "", '{"id": "q1", "query": "other", "relevant": ["d"]}')
    assert error.code == "golden.duplicate-id"
    assert error.where.endswith(":3")
    assert "line 1" in error.message


def test_the_same_text_is_another_query_only_for_another_acl(golden) -> None:
    def row(id_: str, relevant: list[str], **acl: object) -> dict[str, object]:
        return {"id": id_, "query": "same", "relevant": relevant} | ({"acl": acl} if acl else {})

    kept = golden(
        row("a", ["d"]), row("b", ["d"], tenant="x"), row("c", ["d"], tenant="x", groups=["g", "h"])
    )
    assert len(kept.queries) == 3
    assert kept.notices == ()
    (other,) = golden(row("a", ["d"], groups=["g", "h"]), row("b", ["e"], groups=["h", "g"])).notices
    assert other.code == "golden.conflicting-judgments"
    assert other.where.endswith(":2")
    (same,) = golden(row("a", ["d"]), row("b", ["d"])).notices
    assert same.code == "golden.repeated-queries"


def test_every_problem_is_listed_to_twenty_and_the_rest_counted(golden, tmp_path: Path) -> None:
    lines: list[object] = [{"id": f"q{n}", "query": ""} for n in range(25)]
    error = problem(golden, GOOD, *lines)
    assert error.where.endswith("golden.jsonl:2")
    assert error.message.count("the query is empty") == 20
    assert "golden.jsonl:21: the query is empty" in error.message
    assert "golden.jsonl:22" not in error.message
    assert "5 more problems (25 in all)" in error.message


def test_the_first_problem_decides_the_code(golden) -> None:
    error = problem(golden, GOOD, GOOD, {"id": "x"})
    assert error.code == "golden.duplicate-id"
    assert "`query`" in error.message


@pytest.mark.parametrize(
    ("raw", "code", "where"),
    [
        (b"", "golden.empty", "golden.jsonl"),
        (b"\xef\xbb\xbf \r\n\n", "golden.empty", "golden.jsonl"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 3\n",
            "golden.lfs-pointer",
            "golden.jsonl:1",
        ),
        (GOOD.encode() + b'\n{"id": "\xff"}', "golden.bad-encoding", "golden.jsonl:2"),
        (GOOD.encode("utf-16"), "golden.bad-encoding", "golden.jsonl:1"),
    ],
)
def test_a_file_that_is_no_text_is_refused(golden, raw: bytes, code: str, where: str) -> None:
    error = problem(golden, raw=raw)
    assert error.code == code
    assert error.where.endswith(where)


def test_a_missing_file_and_a_folder_are_not_found(tmp_path: Path) -> None:
    for path in (tmp_path / "no.jsonl", tmp_path):
        with pytest.raises(GoldenError) as caught:
            read_golden(path)
        assert caught.value.code == "golden.not-found"
        assert caught.value.where == str(path)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no golden-set format"):
        read_golden(tmp_path / "golden.jsonl", format="excel")
