"""Reads LanceDB tables, Parquet files and Hugging Face datasets inside the child process.

Read by lancedb and pyarrow. Ours is a dataset's `state.json`: `datasets` passes over the choice of rows that its
versions before 1.7 kept, and over a missing end of a file.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_action.core.wording.lists import plural
from rageval_action.errors import SnapshotError
from rageval_action.library_process import missing_library
from rageval_action.snapshots.importers.reader_process import Sink
from rageval_action.snapshots.importers.table import ID_FIELDS, TEXT_FIELDS, VECTOR_FIELDS

BATCH = 4096
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
"""The last bytes of an Arrow stream (Arrow columnar format, "IPC streaming format"); pyarrow does not miss them."""


def read_lancedb(path: Path, options: dict[str, str], sink: Sink) -> None:
    """The newest version of one table; `path` is the database folder."""
    try:
        import lancedb as library
    except ImportError:
        raise missing_library("lancedb", "lancedb") from None
    database = library.connect(str(path))
    names = sorted(entry.stem for entry in path.glob("*.lance"))
    wanted = options.get("table") or (names[0] if len(names) == 1 else "")
    if wanted not in names:
        text = f"it holds the tables {', '.join(names) or '(none)'}."
        raise SnapshotError("snapshot.which-table", text, hint="Name one with ?table=")
    table = database.open_table(wanted)
    _write(table.to_arrow().to_batches(max_chunksize=BATCH), options, sink)
    sink.metric = _lance_metric(table) or "l2"


def _lance_metric(table: Any) -> str:
    """The distance of the vector index; without an index LanceDB searches by L2 unless asked otherwise."""
    for index in table.list_indices():
        stats = table.index_stats(index.name)
        if stats is not None and stats.distance_type:
            return str(stats.distance_type)
    return ""


def read_parquet(path: Path, options: dict[str, str], sink: Sink) -> None:
    """One Parquet file, or the parts of a folder in the order of their names, a row group at a time."""
    library = _arrow("parquet")
    parts = _parts(path) if path.is_dir() else [path]
    batches = (
        batch for part in parts for batch in library.ParquetFile(str(part)).iter_batches(batch_size=BATCH)
    )
    _write(batches, options, sink)


def _parts(folder: Path) -> list[Path]:
    """The Parquet files of a folder that Spark, Dask or Hugging Face wrote."""
    parts = sorted(part for part in folder.rglob("*.parquet") if not part.name.startswith(("_", ".")))
    if not parts:
        raise SnapshotError("snapshot.not-found", "the folder holds no .parquet files.")
    named = next((part.parent.name for part in parts if "=" in str(part.parent.relative_to(folder))), "")
    if named:
        text = f"the folder {named} holds a column in its name, which would be lost."
        raise SnapshotError("snapshot.bad-path", text, hint="Write the rows without partitions.")
    return parts


def read_hf(path: Path, options: dict[str, str], sink: Sink) -> None:
    """A folder that `datasets.Dataset.save_to_disk` wrote: the Arrow files that its state lists.

    Before datasets 1.7 a dataset could be a choice out of more rows, with their numbers in a file of their own.
    """
    if not (path / "state.json").is_file():
        raise _no_dataset(path)
    state = json.loads((path / "state.json").read_text(encoding="utf-8"))
    found = _stored(path, state["_data_files"])
    chosen = state.get("_indices_data_files") or []
    if chosen:
        rows = [number for batch in _stored(path, chosen) for number in batch.column(0).to_pylist()]
        found = _arrow("lib").Table.from_batches(list(found)).take(rows).to_batches(max_chunksize=BATCH)
    _write(found, options, sink)


def _no_dataset(path: Path) -> SnapshotError:
    """The error for a folder that is not a dataset; one with several splits holds a dataset for each."""
    splits = sorted(part.parent.name for part in path.glob("*/state.json"))
    if not splits:
        return SnapshotError("snapshot.not-found", "there is no state.json.")
    hint = f"Name the folder of one, e.g. hf:…/{splits[0]}."
    return SnapshotError("snapshot.which-split", f"it holds the splits {', '.join(splits)}.", hint=hint)


def _stored(path: Path, entries: Any) -> Iterable[Any]:
    """The record batches of the Arrow files that a dataset's state lists."""
    ipc = _arrow("ipc")
    names = [str(entry["filename"]) for entry in entries]
    if any("/" in name or "\\" in name or name.startswith(".") for name in names):
        raise SnapshotError("snapshot.bad-path", "the dataset's state names a file outside its folder.")
    for name in names:
        with (path / name).open("rb") as stream:
            yield from ipc.open_stream(stream)
            stream.seek(-len(END_OF_STREAM), os.SEEK_END)
            if stream.read() != END_OF_STREAM:
                raise SnapshotError("snapshot.truncated", f"{name} ends before its rows do.")


def _write(batches: Iterable[Any], options: dict[str, str], sink: Sink) -> None:
    """Rows and vectors of record batches."""
    count = 0
    for batch in batches:
        names = list(batch.schema.names)
        vector = _field(names, options.get("vector", ""), VECTOR_FIELDS, "vector")
        name = _field(names, options.get("id", ""), ID_FIELDS, "")
        text = _field(names, options.get("text", ""), TEXT_FIELDS, "")
        rest = batch.select([field for field in names if field not in {vector, text}]).to_pylist()
        texts = batch.column(names.index(text)).to_pylist() if text else [""] * len(rest)
        ids = []
        for row, written in zip(rest, texts, strict=True):
            given = row.get(name) if name else count
            if given is None:
                raise SnapshotError("snapshot.bad-chunk", f"row {count} has no {name}.")
            ids.append(str(given))
            sink.row(ids[-1], "" if written is None else str(written), row)
            count += 1
        if ids:
            rows = [f"row {at} (`{one}`)" for at, one in enumerate(ids, count - len(ids))]
            sink.vectors(_vectors(batch.column(names.index(vector)), vector, rows, sink.width))


def _vectors(column: Any, name: str, rows: Sequence[str], width: int) -> NDArray[np.float32]:
    """A list column as a matrix: fixed or variable lists, of halves, floats or doubles.

    Args:
        column: of one record batch.
        name: of the column.
        rows: how messages call each row.
        width: dimension of the vectors before these; 0 for none.
    """
    types = _arrow("types")
    kind = column.type
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not lists or not (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)):
        text = f"the column {name} holds {kind}, not lists of numbers."
        hint = "Write each vector as a list of floats, or name another column with ?vector="
        raise SnapshotError("snapshot.bad-array", text, hint=hint)
    for row, vector in zip(rows, column, strict=True):
        if not vector.is_valid:
            raise SnapshotError("snapshot.no-vector", f"{row} has no vector.")
        width = width or len(vector)
        if len(vector) != width or not width:
            text = f"the vector of {row} has {plural(len(vector), 'dimension')}; the first has {width}."
            raise SnapshotError("snapshot.dimension-mismatch", text)
    flat = column.flatten()
    if flat.null_count:
        at = next(at for at, number in enumerate(flat) if not number.is_valid)
        raise SnapshotError("snapshot.bad-array", f"the vector of {rows[at // width]} holds a null.")
    return np.asarray(flat.to_numpy(zero_copy_only=False), dtype=np.float32).reshape(len(column), width)


def _field(names: list[str], given: str, usual: tuple[str, ...], required: str) -> str:
    """The column to read: the one that was named, else the first usual one."""
    if given and given not in names:
        raise SnapshotError("snapshot.no-field", f"there is no column {given}; there are {', '.join(names)}.")
    found = given or next((name for name in usual if name in names), "")
    if not found and required:
        text = f"no column looks like the {required}; there are {', '.join(names)}."
        raise SnapshotError("snapshot.no-field", text, hint=f"Name one with ?{required}=")
    return found


def _arrow(part: str) -> Any:
    try:
        return importlib.import_module(f"pyarrow.{part}")
    except ImportError:
        raise missing_library("pyarrow", "parquet") from None
