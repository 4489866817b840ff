"""The tables of docs/matrix.md are what the page's own commands print over its two corpora, times aside.

The reranker would need minutes, so its scores of all 2,000 pairs are stored beside this file by a hash of each pair, and
those of one question are computed anew. `--update-expected` writes the tables (times stay) and whatever scores are
missing from the file.
"""

from __future__ import annotations

import functools
import hashlib
import html
import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from rageval_action.cli.main import root
from rageval_action.retrievers import rerank
from rageval_action.retrievers.cross_encoders import OnnxScorer, Scorer
from rageval_action.retrievers.cross_encoders import scorer as chosen_scorer
from rageval_action.retrievers.options import Options
from tests.packaged_models import cross_encoder
from tests.real_corpora import shared
from tests.small_project import ROOT

PATH = ROOT / "docs" / "matrix.md"
STORED = Path(__file__).with_name("reranker_scores.json")
CORPORA = ("anthropic_docs", "drcd_zh_tw")
LENGTH = 256
"""Tokens that the reranker reads of a question and a chunk together."""
TIMES = 6
"""The column that no test can hold."""
DRIFT = 0.5
"""Scores span about 20. With 8-bit weights they move by up to 0.35 when only the batch is another; so may processors."""


def page() -> str:
    return PATH.read_text(encoding="utf-8")


def section(name: str) -> str:
    """What the page says about a corpus, from its heading to the next."""
    return next(part for part in page().split("\n## ") if part.startswith(f"{name}:"))


def table(text: str) -> list[list[str]]:
    """The rows of the only table in a text, its head first, as a reader sees them."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[html.unescape(cell).strip("\u200b ") for cell in line.split("|")[1:-1]] for line in lines]


# The corpora as the page wants them, and its commands


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rows(path: Path, made: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")


def prepare(name: str, folder: Path) -> None:
    """`chunks.jsonl`, `golden.jsonl`, both matrices and `matrix.yml`; questions with the same text are merged."""
    source = shared(name)
    chunks = [
        {"id": row["id"], "doc": row["id"], "text": row["text"]} for row in rows(source / "corpus.jsonl")
    ]
    judged: dict[str, list[str]] = {}
    for line in (source / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, _, doc, _ = line.split("\t")
        judged.setdefault(query, []).append(doc)
    golden: dict[str, dict[str, Any]] = {}
    kept: list[int] = []
    for at, row in enumerate(rows(source / "queries.jsonl")):
        if row["query"] in golden:
            golden[row["query"]]["relevant"] += judged[row["id"]]
            continue
        golden[row["query"]] = {"id": row["id"], "query": row["query"], "relevant": judged[row["id"]]}
        kept.append(at)
    write_rows(folder / "chunks.jsonl", chunks)
    write_rows(folder / "golden.jsonl", list(golden.values()))
    np.save(folder / "embeddings_queries.npy", np.load(source / "embeddings_queries.npy")[kept])
    (folder / "embeddings_corpus.npy").symlink_to(source / "embeddings_corpus.npy")
    (folder / "matrix.yml").write_text(configurations(name), encoding="utf-8")


def configurations(name: str) -> str:
    """The page's file; below the second heading only the configurations stand, the rest being the same."""
    first, second = re.findall(r"```yaml\n(.*?)```", page(), re.DOTALL)
    return first if name == CORPORA[0] else first.split("configurations:")[0] + second


def commands() -> list[list[str]]:
    """The commands that the page gives, word by word."""
    blocks = re.findall(r"```\n(rageval .*?)```", page(), re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.replace("\\\n", " ").splitlines()]


# The reranker


class StoredScorer:
    """Answers with the cross-encoder's stored scores; asks the cross-encoder only when they are to be completed."""

    def __init__(self, *, complete: bool) -> None:
        stored = json.loads(STORED.read_text(encoding="utf-8"))
        self.scores: dict[str, float] = stored["scores"]
        self.sha256: str = stored["sha256"]
        self.cost: dict[str, float] = {}
        self.revision = ""
        self.asked: list[tuple[str, list[str]]] = []
        self._complete = complete

    def chosen(self, options: Options, threads: int) -> Scorer:
        """Stands for `cross_encoders.scorer`: hosted rerankers stay what they are."""
        if options.text("backend") != "onnx":
            return chosen_scorer(options, threads)
        assert options.text("model").endswith("ms-marco-MiniLM-L-12-v2")
        assert options.integer("max_length") == LENGTH
        return self

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        keys = [pair(query, text) for text in texts]
        if not self.scores.keys() >= set(keys):
            assert self._complete, "other texts are reranked than before: --update-expected scores them"
            found = self._model.score(query, texts)
            self.scores |= {key: round(value, 5) for key, value in zip(keys, found, strict=True)}
        self.asked.append((query, list(texts)))
        return [self.scores[key] for key in keys]

    @functools.cached_property
    def _model(self) -> OnnxScorer:
        return OnnxScorer(str(cross_encoder()), LENGTH, 2)

    def write(self) -> None:
        """Keep what was asked, and nothing else."""
        used = sorted({pair(query, text) for query, texts in self.asked for text in texts})
        self.sha256 = digest()
        made = {"sha256": self.sha256, "scores": {key: self.scores[key] for key in used}}
        STORED.write_text(json.dumps(made, indent=0) + "\n", encoding="utf-8")


def digest() -> str:
    """Which model the package holds."""
    return hashlib.sha256((cross_encoder() / "model.onnx").read_bytes()).hexdigest()


def pair(query: str, text: str) -> str:
    return hashlib.sha256(f"{query}\n{text}".encode()).hexdigest()[:10]


# What the commands print


class Printed:
    """The table and the JSON of one corpus, and the scorer that was asked."""

    def __init__(self, folder: Path, scorer: StoredScorer) -> None:
        self.lines = [
            html.unescape(line).replace("\u200b", "")
            for line in (folder / "matrix.md").read_text(encoding="utf-8").splitlines()
            if line.startswith("|")
        ]
        self.told = json.loads((folder / "matrix.json").read_text(encoding="utf-8"))
        self.scorer = scorer

    def row(self, name: str) -> dict[str, Any]:
        return next(row for row in self.told["configurations"] if row["name"] == name)


@pytest.fixture(scope="module", params=CORPORA)
def printed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Printed]:
    folder = tmp_path_factory.mktemp(request.param)
    prepare(request.param, folder)
    scorer = StoredScorer(complete=request.config.getoption("--update-expected"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("COHERE_API_KEY", raising=False)
        patch.setattr(rerank, "scorer", scorer.chosen)
        for words in commands():
            more = ["--json", "matrix.json"] if words[0] == "matrix" else []
            CliRunner().invoke(root, [*words, *more], standalone_mode=False, catch_exceptions=False)
    return request.param, Printed(folder, scorer)


def with_times_of(line: str, known: Sequence[Sequence[str]]) -> str:
    """A printed row with the times that the page shows for it, if they are of the same stages."""
    cells = line.split("|")
    old = next((row[TIMES] for row in known if row[0] == cells[1].strip()), "")
    stages = [re.sub(r"[\d.]+/[\d.]+", "", text).strip() for text in (old, cells[TIMES + 1])]
    if stages[0] == stages[1]:
        cells[TIMES + 1] = f" {old} " if old else cells[TIMES + 1]
    return "|".join(cells)


def test_every_cell_but_the_times_is_what_the_commands_print(
    printed: tuple[str, Printed], request: pytest.FixtureRequest
) -> None:
    name, found = printed
    shown = "\n".join(line for line in section(name).splitlines() if line.startswith("|"))
    made = "\n".join(with_times_of(line, table(shown)) for line in found.lines)
    if request.config.getoption("--update-expected"):
        PATH.write_text(page().replace(shown, made), encoding="utf-8")
        if found.scorer.asked:
            found.scorer.write()
        return
    assert shown == made


def test_sentences_under_the_tables_say_what_the_tables_say(printed: tuple[str, Printed]) -> None:
    name, found = printed
    text = " ".join(section(name).split())
    {"anthropic_docs": about_documentation, "drcd_zh_tw": about_chinese}[name](found, text)
    assert f"{found.told['queries']:,} questions" in text


def score(found: Printed, name: str, measure: str = "recall@5") -> float:
    return float(found.row(name)["scores"][measure]["mean"])


def about_documentation(found: Printed, text: str) -> None:
    gain = found.row("hybrid")["against"]["recall@5"]
    assert (
        f"hybrid wins {gain['better']} questions that the vectors lose and loses {gain['worse']}. The interval"
        in text
    )
    assert gain["ci"][0] > 0, "its interval excludes zero"
    assert f"correction for three comparisons p is {gain['p_adjusted']:.3f}, so" in text
    assert sum(bool(row["against"]) for row in found.told["configurations"]) == 3
    assert gain["p_adjusted"] > 0.05, "not proven"
    assert (
        f"takes hybrid from {score(found, 'hybrid'):.3f} to {score(found, 'hybrid + reranker'):.3f}" in text
    )
    first = [score(found, name, "mrr") for name in ("lexical", "vector")]
    assert "mrr {:.3f} against {:.3f}".format(*first) in text
    assert score(found, "lexical") < score(found, "vector"), "covers a little less"


def about_chinese(found: Printed, text: str) -> None:
    pairs, words, fused, weighted = (
        score(found, name) for name in ("lexical", "lexical, one word a run", "hybrid", "hybrid, weighted")
    )
    assert f"BM25 finds {pairs:.1%}".replace("%", " %") in text
    assert f"it finds {words:.1%}".replace("%", " %") in text
    assert 1 / 3 < 1 - fused / pairs < 1 / 2, "more than a third of what that found"
    low, high = found.row("lexical")["scores"]["recall@5"]["ci"]
    assert low < weighted < high, "the last row's mean lies inside the second's interval"
    timed = {
        row["latency"]["retrieve"]["n"] for row in found.told["configurations"] if row["retriever"] != "bm25"
    }
    assert timed == {32}
    assert found.row("lexical")["latency"]["retrieve"]["n"] == found.told["queries"]


def test_stored_scores_are_the_rerankers(printed: tuple[str, Printed]) -> None:
    pytest.importorskip("onnxruntime")
    name, found = printed
    asked = [(query, texts) for query, texts in found.scorer.asked if len(texts) == 20]
    if name != "anthropic_docs":
        assert not asked
        return
    assert len(asked) == 100
    assert digest() == found.scorer.sha256
    model = OnnxScorer(str(cross_encoder()), LENGTH, 2)
    query, texts = asked[50]
    stored = [found.scorer.scores[pair(query, text)] for text in texts]
    assert model.score(query, texts) == pytest.approx(stored, abs=DRIFT)
