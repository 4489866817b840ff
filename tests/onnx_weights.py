"""Weights out of an ONNX file, by the few fields of its protocol buffers that hold them (onnx.proto)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GRAPH, NODE, INITIALIZER = 7, 1, 5
KINDS = {1: "<f4", 2: "u1", 3: "i1"}
"""TensorProto.DataType -> numpy's name."""


def onnx_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Parameter name in torch -> values; int8 weights as the floats that they stand for.

    The exporter named a linear layer's weight after its node where it had lost its own name, and stored all but
    embeddings transposed.
    """
    (graph,) = (
        value for field, value in _fields(_whole(path)) if field == GRAPH and isinstance(value, memoryview)
    )
    parts = [(field, value) for field, value in _fields(graph) if isinstance(value, memoryview)]
    tensors = dict(_tensor(value) for field, value in parts if field == INITIALIZER)
    found = {}
    for name, values in tensors.items():
        if name.endswith(".weight_quantized"):
            floats = _floats(tensors, name)
            found[name.removesuffix("_quantized")] = floats if "embeddings" in name else _turned(floats)
        elif name.endswith((".weight", ".bias")):
            found[name] = values.astype(np.float32)
    for name, inputs in (_node(value) for field, value in parts if field == NODE):
        if name.endswith("/MatMul_quant") and inputs[1] in tensors:
            layer = name.removeprefix("/").removesuffix("/MatMul_quant").replace("/", ".")
            found[f"{layer}.weight"] = _turned(_floats(tensors, inputs[1]))
    return found


def _whole(path: Path) -> memoryview:
    return memoryview(path.read_bytes())


def _turned(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.ascontiguousarray(matrix.T)


def _floats(tensors: dict[str, NDArray[np.generic]], name: str) -> NDArray[np.float32]:
    base = name.removesuffix("_quantized")
    whole = tensors[name].astype(np.float32) - tensors[f"{base}_zero_point"].astype(np.float32)
    return (whole * tensors[f"{base}_scale"].astype(np.float32)).astype(np.float32)


def _tensor(data: memoryview) -> tuple[str, NDArray[np.generic]]:
    """Name and values: in `raw_data`, or for scalars in `float_data` and `int32_data`."""
    shape: list[int] = []
    name, kind, raw = "", 0, b""
    for field, value in _fields(data):
        if isinstance(value, int):
            shape, kind = ([*shape, value], kind) if field == 1 else (shape, value if field == 2 else kind)
        elif field == 8:
            name = bytes(value).decode()
        elif field in {4, 9}:
            raw = bytes(value)
        elif field == 5:
            raw = np.array([_varint(value, 0)[0] % 256], dtype=np.uint8).tobytes()
    if kind not in KINDS:
        return name, np.zeros(0)
    return name, np.frombuffer(raw, dtype=KINDS[kind]).reshape(shape)


def _node(data: memoryview) -> tuple[str, list[str]]:
    inputs, name = [], ""
    for field, value in _fields(data):
        if field == 1 and isinstance(value, memoryview):
            inputs.append(bytes(value).decode())
        elif field == 3 and isinstance(value, memoryview):
            name = bytes(value).decode()
    return name, inputs


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Field number and value: a number, or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(key & 7, 0)
        if not size:
            size, at = _varint(data, at)
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
