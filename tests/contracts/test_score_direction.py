"""Whether a larger score is better: asked of the user for the four retrievers of one's own, known for every store."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from rageval_action.core.model.types import Query, Run
from rageval_action.errors import ConfigError
from rageval_action.retrievers.interface import EXTERNAL, OptionValue, build
from rageval_action.retrievers.options import Options
from tests.contracts import retriever_setups as setups
from tests.fakes import search_servers
from tests.fakes.databases import fill_chroma, fill_lancedb, fill_postgres, fill_sqlite_vec
from tests.fakes.interpreter import interpreter
from tests.fakes.server import FakeService
from tests.unit.retrievers.text_corpora import context, snapshot, texts

CHUNKS = texts("one", "two", "three", "four")
VECTORS = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 1, 0], [0.96, 0.28, 0]], dtype=np.float32)
NEAREST_FIRST = ["c1", "c4", "c2", "c3"]
QUERIES = [Query(id="q1", text="one"), Query(id="q2", text="two"), Query(id="q3", text="three")]
Answers = dict[str, list[dict[str, object]]]


def encode(asked: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[1, 0, 0]] * len(asked), dtype=np.float32)


def ask(name: str, options: dict[str, OptionValue]) -> Run:
    return build(name, context(snapshot(CHUNKS, VECTORS), encode=encode, access="audit", **options)).retrieve(
        QUERIES, 10
    )


# Retrievers of one's own


def results(*scores: float, **more: Sequence[object]) -> list[dict[str, object]]:
    """Results in the order listed, `c1` first."""
    rows: list[dict[str, object]] = [{"id": f"c{at}", "score": score} for at, score in enumerate(scores, 1)]
    for field, values in more.items():
        for row, value in zip(rows, values, strict=True):
            row[field] = value
    return rows


RISING, FALLING = results(0.1, 0.2, 0.3), results(0.3, 0.2, 0.1)
Asked = Callable[[Answers, dict[str, OptionValue]], Run]


def by_text(answers: Answers) -> dict[str, list[dict[str, object]]]:
    return {query.text: answers[query.id] for query in QUERIES}


def by_run_file(folder: Path) -> Asked:
    def asked(answers: Answers, options: dict[str, OptionValue]) -> Run:
        lines = [json.dumps({"query_id": name, "results": found}) for name, found in answers.items()]
        (folder / "run.jsonl").write_text("\n".join(lines))
        return ask("run-file", {"file": str(folder / "run.jsonl"), **options})

    return asked


def by_http(_: Path) -> Asked:
    def asked(answers: Answers, options: dict[str, OptionValue]) -> Run:
        found = by_text(answers)

        def search(request: object, match: object) -> object:
            return {"results": found[msgspec.json.decode(request.body)["query"]]}  # type: ignore[attr-defined]

        with FakeService({"POST /": search}) as service:
            return ask("http", {"url": f"{service.url}/", **options})

    return asked


PROGRAM = """
    import json, sys
    ANSWERS = json.load(open("answers.json"))
    def search(query, depth):
        return ANSWERS[query]
    if __name__ == "__main__":
        for line in sys.stdin:
            asked = json.loads(line)
            print(json.dumps({"id": asked["id"], "results": ANSWERS[asked["query"]]}), flush=True)
"""


def program(folder: Path, answers: Answers) -> dict[str, OptionValue]:
    folder.chmod(0o755)
    (folder / "mine.py").write_text(textwrap.dedent(PROGRAM))
    (folder / "answers.json").write_text(json.dumps(by_text(answers)))
    return {"cwd": str(folder)}


def by_command(folder: Path) -> Asked:
    return lambda answers, options: ask(
        "command", {"command": f"{interpreter()} mine.py", **program(folder, answers), **options}
    )


def by_python(folder: Path) -> Asked:
    more: dict[str, OptionValue] = {"function": "mine:search", "path": str(folder), "python": interpreter()}
    return lambda answers, options: ask("python", {**more, **program(folder, answers), **options})


OWN: dict[str, Callable[[Path], Asked]] = {
    "command": by_command,
    "http": by_http,
    "python": by_python,
    "run-file": by_run_file,
}


@pytest.fixture(params=sorted(OWN))
def own(request: pytest.FixtureRequest) -> Asked:
    """Each retriever of one's own in turn, answering as a test says."""
    return OWN[request.param](setups._folder())


def answers(*found: list[dict[str, object]]) -> Answers:
    return {query.id: rows for query, rows in zip(QUERIES, found, strict=True)}


def ids(run: Run) -> list[list[str]]:
    assert [ranking.error for ranking in run.rankings] == [""] * len(run.rankings)
    return [[hit.id for hit in ranking.hits] for ranking in run.rankings]


def codes(run: Run) -> list[str]:
    return [notice.code for notice in run.notices if notice.code.startswith("retriever.")]


def test_distances_are_refused_with_the_cure_and_right_with_it(own: Asked) -> None:
    with pytest.raises(ConfigError) as caught:
        own(answers(RISING, RISING, RISING), {})
    assert caught.value.code == "retriever.score-direction"
    assert "rise in 3 of 3 queries" in caught.value.message
    assert "`scores: distance`" in caught.value.hint
    cured = own(answers(RISING, RISING, RISING), {"scores": "distance"})
    assert ids(cured) == [["c1", "c2", "c3"]] * 3
    assert [hit.score for hit in cured.rankings[0].hits] == [-0.1, -0.2, -0.3]
    assert (cured.parameters["scores"], codes(cured)) == ("distance", [])
    kept = own(answers(RISING, RISING, RISING), {"scores": "similarity"})
    assert ids(kept) == [["c3", "c2", "c1"]] * 3
    assert codes(kept) == ["retriever.order-contradicts"]


def test_similarities_are_taken_as_they_are(own: Asked) -> None:
    run = own(answers(FALLING, FALLING, FALLING), {})
    assert ids(run) == [["c1", "c2", "c3"]] * 3
    assert (run.parameters["scores"], codes(run)) == ("similarity", [])


def test_a_minority_is_told_and_the_scores_decide(own: Asked) -> None:
    run = own(answers(FALLING, FALLING, RISING), {})
    assert ids(run) == [["c1", "c2", "c3"]] * 2 + [["c3", "c2", "c1"]]
    (notice,) = [notice for notice in run.notices if notice.code == "retriever.order-contradicts"]
    assert "in 1 of 3 queries" in notice.text


def test_another_order_than_that_of_the_scores_is_refused(own: Asked) -> None:
    mixed = results(0.1, 0.3, 0.2)
    with pytest.raises(ConfigError, match="have another order in 2 of 3 queries"):
        own(answers(mixed, mixed, FALLING), {})


def test_ties_and_single_results_decide_nothing(own: Asked) -> None:
    run = own(answers(results(0.5), results(0.5, 0.5), FALLING), {})
    assert codes(run) == []
    with pytest.raises(ConfigError, match="in 1 of 1 query"):
        own(answers(results(0.5), results(0.5, 0.5), RISING), {})


def test_ranks_are_the_order_whatever_the_list(own: Asked) -> None:
    ranked = results(0.1, 0.3, 0.2, rank=[3, 1, 2])
    assert codes(own(answers(ranked, ranked, ranked), {})) == []
    against = results(0.3, 0.2, 0.1, rank=[3, 2, 1])
    with pytest.raises(ConfigError, match="ordered by rank, but their scores rise in 3 of 3"):
        own(answers(against, against, against), {})


def test_ranks_without_scores_order_the_results(own: Asked) -> None:
    ranked: list[dict[str, object]] = [
        {"id": "c1", "rank": 2},
        {"id": "c2", "rank": 1},
        {"id": "c3", "rank": 2},
    ]
    run = own(answers(ranked, ranked, ranked), {})
    assert ids(run) == [["c2", "c3", "c1"]] * 3
    assert [hit.score for hit in run.rankings[0].hits] == [1.0, 0.5, 0.5]


def test_the_rank_column_of_a_trec_run_is_compared_with_its_scores(tmp_path: Path) -> None:
    def run(*lines: str, **options: OptionValue) -> Run:
        (tmp_path / "run").write_text("".join(f"q1 Q0 {line} t\n" for line in lines))
        return ask("run-file", {"file": str(tmp_path / "run"), **options})

    for distances in (
        ["c1 1 0.1", "c2 2 0.2"],
        ["c2 1 0.2", "c1 0 0.1"],
        ["c1 - 0.1", "c2 - 0.2"],
        ["c1 0 1", "c2 0 2"],
    ):
        with pytest.raises(ConfigError, match="rise in 1 of 1"):
            run(*distances)
        assert [hit.id for hit in run(*distances, scores="distance").rankings[0].hits] == ["c1", "c2"]
    assert codes(run("c2 2 0.1", "c1 1 0.2")) == [], "lines may stand in any order"


@pytest.mark.parametrize("rank", [["a", "b", "c"], [True, 1, 2], [1, None, 2]])
def test_a_rank_that_cannot_be_used_costs_its_query(own: Asked, rank: list[object]) -> None:
    run = own(answers(FALLING, FALLING, results(0.3, 0.2, 0.1, rank=rank)), {})
    assert "rank" in run.rankings[2].error or "float" in run.rankings[2].error
    assert [ranking.error for ranking in run.rankings[:2]] == ["", ""]


def test_the_option_without_any_score_is_refused(own: Asked) -> None:
    bare: list[dict[str, object]] = [{"id": "c1"}, {"id": "c2"}]
    with pytest.raises(ConfigError, match="has no effect") as caught:
        own(answers(bare, bare, bare), {"scores": "distance"})
    assert caught.value.code == "config.no-effect"


# Stores


def _postgres() -> Iterator[dict[str, OptionValue]]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DATABASE_URL", fill_postgres("directions", CHUNKS, VECTORS))
        for operator in ("<=>", "<->", "<#>", "<+>"):
            yield {"table": "directions", "operator": operator}


def _sqlite() -> Iterator[dict[str, OptionValue]]:
    path = str(fill_sqlite_vec(setups._folder() / "v.db", CHUNKS, VECTORS))
    for metric in ("cosine", "l2"):
        yield {"file": path, "table": "vec", "texts": "chunks", "id": "chunk_id", "metric": metric}


def _lancedb() -> Iterator[dict[str, OptionValue]]:
    path = str(fill_lancedb(setups._folder() / "db", CHUNKS, VECTORS))
    for metric in ("l2", "cosine", "dot"):
        yield {"path": path, "table": "docs", "metric": metric}


def _chroma() -> Iterator[dict[str, OptionValue]]:
    for space in ("l2", "cosine", "ip"):
        folder = setups._folder() / "db"
        setups.KEPT_OPEN.append(fill_chroma(folder, CHUNKS, VECTORS, space))
        yield {"path": str(folder), "collection": "docs"}


def _qdrant() -> Iterator[dict[str, OptionValue]]:
    pytest.importorskip("qdrant_client")
    for distance in ("Cosine", "Dot", "Euclid", "Manhattan"):
        with search_servers.qdrant(CHUNKS, VECTORS, distance) as service:
            yield {
                "url": service.url, "collection": "docs", "id": "payload.chunk_id", "distance": distance.lower(),
            }  # fmt: skip


def _server(
    start: Callable[[search_servers.Index], FakeService],
) -> Callable[[], Iterator[dict[str, OptionValue]]]:
    def served() -> Iterator[dict[str, OptionValue]]:
        with start(search_servers.Index(CHUNKS, VECTORS)) as service:
            yield {"url": service.url, "index": "docs"}

    return served


STORES: dict[str, Callable[[], Iterator[dict[str, OptionValue]]]] = {
    "chroma": _chroma,
    "elasticsearch": _server(search_servers.elasticsearch),
    "lancedb": _lancedb,
    "meilisearch": _server(search_servers.meilisearch),
    "opensearch": _server(search_servers.opensearch),
    "pgvector": _postgres,
    "qdrant": _qdrant,
    "sqlite-vec": _sqlite,
}
"""Store -> its options under every way that it can measure."""

WAYS = ("metric", "operator", "distance")
"""Options that say how a store measures."""


def test_every_foreign_retriever_is_asked_or_known() -> None:
    assert {*OWN, *STORES} == EXTERNAL


@pytest.mark.parametrize("name", sorted(STORES))
def test_the_nearest_comes_first_however_a_store_measures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    choices: set[tuple[str, str]] = set()
    real = Options.text

    def text(options: Options, option: str, *more: object, **rest: object) -> str:
        if option in WAYS:
            choices.update((option, choice) for choice in rest["choices"])  # type: ignore[attr-defined]
        return real(options, option, *more, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Options, "text", text)
    tried: set[tuple[str, str]] = set()
    for options in STORES[name]():
        run = ask(name, options)
        assert ids(run) == [NEAREST_FIRST] * 3, options
        assert codes(run) == []
        scores = [hit.score for hit in run.rankings[0].hits]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] > scores[-1]
        tried |= {(way, str(options[way])) for way in WAYS if way in options}
    assert tried == choices, "every way the store can measure is tried"


@pytest.mark.parametrize("distance", ["Euclid", "Manhattan"])
def test_a_store_that_measures_otherwise_than_said_is_refused(distance: str) -> None:
    pytest.importorskip("qdrant_client")
    with search_servers.qdrant(CHUNKS, VECTORS, distance) as service, pytest.raises(ConfigError) as caught:
        ask("qdrant", {"url": service.url, "collection": "docs", "id": "payload.chunk_id"})
    assert caught.value.code == "retriever.score-direction"
    assert f"`distance: {distance.lower()}`" in caught.value.hint
