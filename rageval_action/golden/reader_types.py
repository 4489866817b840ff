"""What every golden-set reader is given and gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rageval_action.core.labels.grade_scale import GradeScale
from rageval_action.core.model.types import Chunk, GoldenSet, Review, Source


class Part(Struct, frozen=True, kw_only=True):
    """One file of a golden set.

    Attributes:
        role: `rows` for a set that is one file; else `topics`, `qrels` or `corpus`.
        path: as the user gave it; every message names it.
        raw: the bytes on disk.
        data: the same without a byte-order mark. Never empty, never a Git LFS pointer; UTF-8 unless the file is
            Parquet.
    """

    role: str
    path: str
    raw: bytes
    data: bytes


Parts: TypeAlias = Mapping[str, Part]
"""Role -> file."""


class ReadOptions(Struct, frozen=True, kw_only=True):
    """What a user declares about a file that does not say it itself.

    Attributes:
        fields: our name (`query`, `relevant`, …; `golden.field_names.TARGETS`) -> the file's name.
        separator: between ids in one cell; `none` says that a cell is one id whatever it holds.
        id_template: makes an id of a composite one: `{0}-{1}` turns `["a", 3]` into `a-3`.
        grades: grade in the file -> grade in ours, for scales that run otherwise; empty = as written.
        corpus: the chunks of a snapshot, to find texts, spans, pages, prefixes and row numbers in; empty = none.
        merge_equal: rows with the same question and access become one.
        source: of rows that do not say it themselves; empty = what the format's reader takes it for.
        review: as `source`.
        used: what a reader made use of, by the names of `declared`; the one thing here that readers write.
    """

    fields: dict[str, str] = {}
    separator: str = ""
    id_template: str = ""
    grades: GradeScale = {}
    corpus: tuple[Chunk, ...] = ()
    merge_equal: bool = False
    source: Source | Literal[""] = ""
    review: Review | Literal[""] = ""
    used: set[str] = field(default_factory=set)

    def declared(self) -> list[str]:
        """What was declared and must have an effect, as a user writes it."""
        whole = {
            "--list-separator": self.separator,
            "--id-template": self.id_template,
            "--grade-map": self.grades,
            "--source": self.source,
            "--review": self.review,
        }
        return [
            *(f"--map {ours}={theirs}" for ours, theirs in self.fields.items()),
            *(name for name, value in whole.items() if value),
        ]


Reader: TypeAlias = Callable[[Parts, ReadOptions], GoldenSet]
"""Turns the files into a golden set, or raises `GoldenError` that lists every problem with its line."""
