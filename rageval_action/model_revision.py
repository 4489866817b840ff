"""What names a model's weights: a commit of the hub, or a digest of the files in a folder.

May import: nothing of ours. Used by embedding models of snapshots and by rerankers.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

_DIGITS = 16
_WEIGHTS = ("*.safetensors", "*.bin", "*.onnx", "*.npz")


def model_revision(given: str, model: Any = None) -> str:
    """Commit of a model from the hub; for a folder, a digest of its weights, so that other weights are told apart.

    Args:
        given: name or folder.
        model: the loaded torch module, where the hub's commit stands in a configuration.
    """
    folder = Path(given)
    if folder.is_dir():
        digest = hashlib.sha256()
        for path in sorted(path for pattern in _WEIGHTS for path in folder.rglob(pattern)):
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()[:_DIGITS]
    for module in model.modules() if model is not None else ():
        commit = getattr(getattr(module, "config", None), "_commit_hash", None)
        if commit:
            return str(commit)
    return ""
