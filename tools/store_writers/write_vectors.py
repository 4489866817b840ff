"""Matrices by numpy and by safetensors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from corpus import Corpus, Row, case


def write(corpus: Corpus, out: Path) -> list[Row]:
    """A matrix in each format that is there, beside the chunks."""
    matrix = np.array([row["vector"] for row in corpus.rows], dtype=np.float32)
    keep = ("id", "doc", "text", "metadata")
    lines = [json.dumps({name: row[name] for name in keep}) for row in corpus.rows]
    (out / "chunks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.save(str(out / "v.npy"), matrix)
    np.save(str(out / "double.npy"), matrix.astype(np.float64))
    np.savez_compressed(str(out / "v.npz"), v=matrix, other=matrix[:2])
    names = ["v.npy", "double.npy", "v.npz"]
    try:
        from safetensors.numpy import save_file
    except ImportError:
        pass
    else:
        save_file({"v": matrix, "other": matrix[:2]}, str(out / "v.safetensors"), {"format": "np"})
        names.append("v.safetensors")
    asked = {"v.npz": "&array=v", "v.safetensors": "&array=v"}
    return [
        case(
            "vectors:{folder}/" + name + "?metric=ip&chunks={folder}/chunks.jsonl" + asked.get(name, ""), "ip"
        )
        for name in names
    ]
