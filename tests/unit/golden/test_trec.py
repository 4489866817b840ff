from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rageval_action.errors import GoldenError
from rageval_action.golden.formats import read_golden
from tests.real_corpora import shared

if TYPE_CHECKING:
    from rageval_action.core.model.types import GoldenSet

QRELS = "1 0 d1 2\n1 0 d2 0\n2 0 d3 1\n"


@pytest.fixture
def join(tmp_path: Path):
    """Write topics and qrels and read them as one golden set."""

    def read(topics: str, qrels: str = QRELS) -> GoldenSet:
        (tmp_path / "topics.txt").write_bytes(topics.encode())
        (tmp_path / "qrels.txt").write_bytes(qrels.encode())
        return read_golden(f"topics={tmp_path / 'topics.txt'},qrels={tmp_path / 'qrels.txt'}")

    return read


TAGGED = """
<top>
<num> Number: 1
<title> Topic: wing
 flutter &amp; drag
<desc> Description:
What is known?
</top>
<TOP><num>2</num><title>heat</title></TOP>
"""


@pytest.mark.parametrize(
    ("topics", "lines"),
    [
        ("1\twing flutter & drag\n2\theat\n", (1, 2)),
        ("\ufeff# a comment\r\nqid\tquery\r\n1\twing flutter & drag\r\n2\theat", (3, 4)),
        (TAGGED, (2, 9)),
        ('{"_id": "1", "text": "wing flutter & drag"}\n\n{"_id": 2, "text": "heat"}\n', (1, 3)),
        ('[{"qid": "1", "query": "wing flutter & drag"},\n {"qid": "2", "query": "heat"}]', (1, 2)),
    ],
)
def test_topics_join_their_judgments(join, topics: str, lines: tuple[int, int]) -> None:
    golden = join(topics)
    assert [(query.id, query.text) for query in golden.queries] == [
        ("1", "wing flutter & drag"),
        ("2", "heat"),
    ]
    assert golden.queries[0].relevant == {"d1": 2, "d2": 0}
    assert tuple(query.line for query in golden.queries) == lines
    assert golden.format == "trec"


def test_topics_nobody_judged_are_left_out_and_named(join) -> None:
    golden = join("1\ta\n2\tb\n3\tc\n4\td\n")
    assert [query.id for query in golden.queries] == ["1", "2"]
    notice = next(notice for notice in golden.notices if notice.code == "golden.unjudged-topics")
    assert '2 topics have no judgments and are left out: "3", "4".' in notice.text


def test_a_judged_query_without_a_topic_is_an_error(join) -> None:
    with pytest.raises(GoldenError, match=r'1 of 2 judged queries have no topic: "2"') as caught:
        join("1\ta\n3\tc\n")
    assert caught.value.code == "golden.no-topic"
    assert caught.value.where.endswith("qrels.txt")


def test_ids_that_never_meet_name_a_near_miss(join) -> None:
    with pytest.raises(GoldenError) as caught:
        join("1\ta\n2\tb\n", "01 0 d1 1\n02 0 d2 1\n")
    assert caught.value.code == "golden.no-overlap"
    assert '"01" is judged; did you mean the topic "1"?' in caught.value.hint


def test_a_repeated_text_is_noted_and_a_repeated_id_refused(join) -> None:
    codes = [notice.code for notice in join("1\ta\n2\ta\n").notices]
    assert "golden.conflicting-judgments" in codes
    codes = [notice.code for notice in join("1\ta\n2\ta\n", "1 0 d 1\n2 0 d 1\n").notices]
    assert "golden.repeated-queries" in codes
    with pytest.raises(GoldenError) as caught:
        join("1\ta\n2\tb\n1\tc\n")
    assert caught.value.code == "golden.duplicate-id"
    assert caught.value.where.endswith("topics.txt:3")


@pytest.mark.parametrize(
    ("topics", "where", "words"),
    [
        ("1\ta\n2 b\n", ":2", "no tab"),
        ("<top><num>1</num></top>\n<top><num>2<title>x</top>", ":1", "no <title>"),
        ("<top><num>1<title>x</top>\n<top><num>2<title>x", "topics.txt", "not closed"),
        ('{"_id": "1", "text": "a"}\n{"_id": "2"}', ":2", "`_id`"),
        ('{"_id": "1", "text": "a"}\n{"_id": ', ":2", "not JSON"),
        ('["a"]', ":1", "a row is an object"),
    ],
)
def test_bad_topics_are_named_with_their_line(join, topics: str, where: str, words: str) -> None:
    with pytest.raises(GoldenError) as caught:
        join(topics)
    assert caught.value.code == "golden.bad-row"
    assert caught.value.where.endswith(where)
    assert words in caught.value.message


def test_bad_judgments_are_named_with_their_line(join) -> None:
    with pytest.raises(GoldenError) as caught:
        join("1\ta\n2\tb\n", "1 0 d1 1\n2 0 d2 high\n")
    assert caught.value.where.endswith("qrels.txt:2")


@pytest.mark.parametrize(
    "location", ["topics=a.txt", "qrels=a.txt,topics=", "topics=a,topics=b", "topics=a,runs=b"]
)
def test_a_location_needs_both_files_by_name(location: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("1\ta\n")
    with pytest.raises(GoldenError) as caught:
        read_golden(location)
    assert caught.value.code == "golden.bad-location"


def test_a_format_that_wants_other_files_says_so(tmp_path: Path) -> None:
    file = tmp_path / "golden.jsonl"
    file.write_text('{"id": "q", "query": "a", "relevant": ["d"]}')
    with pytest.raises(GoldenError, match=r"topics=FILE,qrels=FILE"):
        read_golden(file, format="trec")


@pytest.mark.parametrize(
    ("name", "queries", "repeated"),
    [
        ("anthropic_docs", 100, 0),
        ("anthropic_codebases", 248, 2),
        ("cranfield", 225, 0),
        ("drcd_zh_tw", 3493, 1),
    ],
)
def test_the_real_corpora_are_read_whole(name: str, queries: int, repeated: int) -> None:
    folder = shared(name)
    golden = read_golden(f"topics={folder / 'queries.jsonl'},qrels={folder / 'qrels.tsv'}")
    assert len(golden.queries) == queries
    notes = {notice.code: notice.text for notice in golden.notices}
    assert ("golden.conflicting-judgments" in notes) == bool(repeated)
    if repeated:
        assert notes["golden.conflicting-judgments"].startswith(f"{repeated} rows repeat an earlier question")
