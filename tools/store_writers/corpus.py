"""What every writer writes, and what it says about it. Runs under the Python of the library's time (3.7 and newer)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict  # id, doc, text, vector (a list of floats that are exact in float32), metadata


class Corpus:
    """The rows of `corpus.json`.

    Attributes:
        rows: what is in a store when it is finished.
        written: what is written first: the third row still as it was, and one more that is then deleted.
        update: the third row as it is to become.
        gone: the row to delete.
        many: enough vectors to train an index on.
    """

    def __init__(self, path: Path) -> None:
        told = json.loads(path.read_text(encoding="utf-8"))
        self.rows: list[Row] = told["rows"]
        self.gone: Row = told["gone"]
        self.update: Row = self.rows[2]
        first = [*self.rows[:2], told["before"], *self.rows[3:5]]
        self.written: list[Row] = [*first, self.gone, *self.rows[5:]]
        self.many: list[list[float]] = [
            [value * (1 + step / 64) for value in row["vector"]] for step in range(64) for row in self.rows
        ]


def case(location: str, metric: str, **more: Any) -> Row:
    """One store of a fixture.

    Args:
        location: what `rageval` is given; `{folder}` stands for the unpacked fixture.
        metric: what the snapshot must be compared by.
        more: `vectors` when the library itself gives back others than it got, `precision` (relative to the largest
            number) when it does so in the last bits, `names` when its ids are not the corpus's, `without` for what it
            cannot keep, `lossy`, or `refused`, the code of the refusal.
    """
    return {"location": location, "metric": metric, **more}
