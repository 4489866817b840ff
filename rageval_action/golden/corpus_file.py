"""A corpus that lies beside a golden set (BEIR's `corpus.jsonl` and its like), as chunks without vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_action.core.model.types import Chunk
from rageval_action.core.wording.problem_list import Problems
from rageval_action.errors import GoldenError
from rageval_action.golden import containers

if TYPE_CHECKING:
    from rageval_action.golden.reader_types import Part

_ID_KEYS = ("id", "_id", "chunk_id", "doc_id", "docid", "pid")
_TEXT_KEYS = ("text", "contents", "content", "body", "passage")


def read_corpus(part: Part) -> tuple[Chunk, ...]:
    """Rows of a corpus in file order; each is a document of its own unless it names one under `doc`.

    Raises:
        GoldenError: `golden.bad-row` for rows without an id, with their lines.
    """
    problems = Problems(GoldenError)
    is_array = part.data.lstrip()[:1] == b"["
    lines = containers.read_json(part, problems) if is_array else containers.read_jsonl(part, problems)
    chunks: list[Chunk] = []
    for line in lines:
        name = next((line.row[key] for key in _ID_KEYS if key in line.row), None)
        if isinstance(name, bool) or not isinstance(name, str | int):
            problems.add("golden.bad-row", f"{part.path}:{line.number}", "the corpus row has no id.")
            continue
        text = next((str(line.row[key]) for key in _TEXT_KEYS if key in line.row), "")
        title = line.row.get("title")
        whole = (
            f"{title}\n{text}" if isinstance(title, str) and title and not text.startswith(title) else text
        )
        chunks.append(Chunk(id=str(name), doc=str(line.row.get("doc", name)), text=whole))
    problems.raise_if_any()
    return tuple(chunks)
