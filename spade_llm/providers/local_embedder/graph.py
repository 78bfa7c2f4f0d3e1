"""ONNX graph of MiniLM (int8 BERT), built from the safetensors weights.

Field numbers are those of onnx.proto (IR version 8); only what our graphs need is here.

Weights are int8 with one scale per output column, activations are quantised by onnxruntime as
they come, embedding rows are int8 with a scale each: 23 MB instead of 90, cosine 0.99 to fp32.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.core.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Attribute = int | float | tuple[int, ...]

FLOAT, INT8, INT32, INT64 = 1, 3, 6, 7
"""TensorProto.DataType"""
_TYPE_OF = {"float32": FLOAT, "int8": INT8, "int32": INT32, "int64": INT64}
_IR_VERSION, _OPSET, _MICROSOFT_OPSET = 8, 17, 1

Weights = dict[str, "NDArray[np.float32]"]

GRAPH_VERSION = 2
"""Raise it when the graph changes: cached graphs carry it in their name."""
VECTORS_VERSION = 1
"""Raise it when vectors of the new graph do not compare with those of the old one any more: the
model carries it in its name, and files with vectors of the old one must be reindexed."""
# BERT's own value; ONNX's default for LayerNormalization is 1e-5.
EPSILON = 1e-12
HEADS = 12


class GraphBuilder:
    """Collects nodes and constants; every method returns names to build on."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._count = 0

    def input(self, name: str, kind: int, dims: Sequence[int | str]) -> str:
        self._inputs.append(_bytes_field(11, _value_info(name, kind, dims)))
        return name

    def output(self, source: str, name: str, kind: int, dims: Sequence[int | str]) -> None:
        self._add("Identity", [source], [name], "", {})
        self._outputs.append(_bytes_field(12, _value_info(name, kind, dims)))

    def constant(self, value: ArrayLike, dtype: type[np.generic] = np.float32) -> str:
        name = self._new_name()
        array = np.ascontiguousarray(np.asarray(value, dtype=dtype))
        # Not the shape of `array`: ascontiguousarray turns a scalar into a vector.
        dims = b"".join(_int_field(1, size) for size in np.shape(value))
        kind = _int_field(2, _TYPE_OF[array.dtype.name])
        tensor = dims + kind + _bytes_field(8, name) + _bytes_field(9, array.tobytes())
        self._constants.append(_bytes_field(5, tensor))
        return name

    def op(self, kind: str, inputs: Sequence[str], **attributes: Attribute) -> str:
        """Add a node of the standard operator set with one output."""
        return self._add(kind, inputs, [self._new_name()], "", attributes)[0]

    def split(self, source: str, sizes: Sequence[int]) -> list[str]:
        """Along the last axis."""
        names = [self._new_name() for _ in sizes]
        return self._add("Split", [source, self.constant(sizes, np.int64)], names, "", {"axis": -1})

    def microsoft_op(self, kind: str, inputs: Sequence[str], **attributes: Attribute) -> str:
        """Add a node of onnxruntime's own operator set with one output."""
        return self._add(kind, inputs, [self._new_name()], "com.microsoft", attributes)[0]

    def model(self, name: str) -> bytes:
        """The finished ModelProto."""
        graph = b"".join(
            [*self._nodes, _bytes_field(2, name), *self._constants, *self._inputs, *self._outputs]
        )
        opsets = [
            _bytes_field(1, "") + _int_field(2, _OPSET),
            _bytes_field(1, "com.microsoft") + _int_field(2, _MICROSOFT_OPSET),
        ]
        head = _int_field(1, _IR_VERSION) + _bytes_field(2, "spade_llm")
        return head + _bytes_field(7, graph) + b"".join(_bytes_field(8, o) for o in opsets)

    def _new_name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _add(
        self,
        kind: str,
        inputs: Sequence[str],
        outputs: list[str],
        domain: str,
        attributes: dict[str, Attribute],
    ) -> list[str]:
        fields = [_bytes_field(1, name) for name in inputs]
        fields += [_bytes_field(2, name) for name in outputs]
        fields += [_bytes_field(3, f"n{len(self._nodes)}"), _bytes_field(4, kind)]
        fields += [_bytes_field(5, _attribute(n, value)) for n, value in attributes.items()]
        fields += [_bytes_field(7, domain)] if domain else []
        self._nodes.append(_bytes_field(1, b"".join(fields)))
        return outputs


def read_float_tensors(path: Path) -> Weights:
    """Every F32 tensor by name, mapped into memory rather than copied. Raises ConfigurationError:
    not a safetensors file."""
    try:
        return _read_header(np.memmap(path, dtype=np.uint8, mode="r"))
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise ConfigurationError(
            f"{path.name} is not a safetensors file; fetch it anew."
        ) from error


def build_graph(weights: Weights, *, heads: int = HEADS) -> bytes:
    """An ONNX model: (input_ids, attention_mask) → embedding, one L2-normalised row each."""
    return _BertGraph(weights, heads=heads).build()


class _BertGraph:
    """BERT graph under construction; the methods are in the order of the data flow."""

    def __init__(self, weights: Weights, *, heads: int) -> None:
        self._weights = weights
        numbers = {
            int(found[1])
            for name in weights
            if (found := re.match(r"encoder\.layer\.(\d+)\.", name))
        }
        self._layers = len(numbers)
        self._hidden = weights["embeddings.word_embeddings.weight"].shape[1]
        self._heads = heads
        self._graph = GraphBuilder()

    def build(self) -> bytes:
        graph = self._graph
        ids = graph.input("input_ids", INT64, ["batch", "length"])
        mask = graph.input("attention_mask", INT64, ["batch", "length"])
        x = self._embeddings(ids)
        # MultiHeadAttention takes its mask as int32 only.
        key_mask = graph.op("Cast", [mask], to=INT32)
        for number in range(self._layers):
            x = self._layer(x, key_mask, f"encoder.layer.{number}")
        graph.output(self._pooled(x, mask), "embedding", FLOAT, ["batch", self._hidden])
        return graph.model("all-MiniLM-L6-v2")

    def _embeddings(self, ids: str) -> str:
        """Words plus positions, normalised."""
        graph, table = self._graph, "embeddings"
        types = self._weights[f"{table}.token_type_embeddings.weight"]
        # Token type 0, the only one we use, is folded into the positions.
        positions = self._weights[f"{table}.position_embeddings.weight"] + types[0]
        int8_rows, scales = quantise(self._weights[f"{table}.word_embeddings.weight"], axis=1)
        chosen = graph.op("Gather", [graph.constant(int8_rows, np.int8), ids])
        scale = graph.op("Gather", [graph.constant(scales), ids])
        words = graph.op("Mul", [graph.op("Cast", [chosen], to=FLOAT), scale])
        first, axis = graph.constant([0], np.int64), graph.constant([0], np.int64)
        length = graph.op("Gather", [graph.op("Shape", [ids]), graph.constant([1], np.int64)])
        rows = graph.op("Slice", [graph.constant(positions), first, length, axis])
        total = graph.op("Add", [words, rows])
        norm = self._norm(f"{table}.LayerNorm")
        return graph.op("LayerNormalization", [total, *norm], axis=-1, epsilon=EPSILON)

    def _layer(self, x: str, key_mask: str, name: str) -> str:
        attended = self._attention(x, key_mask, f"{name}.attention.self")
        x = self._add_and_norm(attended, x, f"{name}.attention.output")
        dense = f"{name}.intermediate.dense"
        # The product without its bias, which BiasGelu adds.
        wide = self._product(x, self._weights[f"{dense}.weight"].T)
        bias = self._graph.constant(self._weights[f"{dense}.bias"])
        wide = self._graph.microsoft_op("BiasGelu", [wide, bias])
        return self._add_and_norm(wide, x, f"{name}.output")

    def _attention(self, x: str, key_mask: str, name: str) -> str:
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self._weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in parts])
        joined = self._product(x, weight, self._graph.constant(bias))
        query, key, value = self._graph.split(joined, [self._hidden] * 3)
        return self._graph.microsoft_op(
            "MultiHeadAttention", [query, key, value, "", key_mask], num_heads=self._heads
        )

    def _add_and_norm(self, x: str, skip: str, name: str) -> str:
        """Add the residual and normalise."""
        graph, dense = self._graph, f"{name}.dense"
        bias = graph.constant(self._weights[f"{dense}.bias"])
        product = self._product(x, self._weights[f"{dense}.weight"].T, bias)
        # Two operators: for 128 tokens they take 0.06 ms, and onnxruntime's fused
        # SkipLayerNormalization (1.31) 0.29 ms, twice in each of six layers.
        norm = [graph.op("Add", [product, skip]), *self._norm(f"{name}.LayerNorm")]
        return graph.op("LayerNormalization", norm, axis=-1, epsilon=EPSILON)

    def _product(self, x: str, weight: NDArray[np.float32], *bias: str) -> str:
        graph = self._graph
        columns, scales = quantise(weight, axis=0)
        scales = scales.reshape(-1)
        zeros = graph.constant(np.zeros(scales.shape), np.int8)
        matrix, scale = graph.constant(columns, np.int8), graph.constant(scales)
        return graph.microsoft_op("DynamicQuantizeMatMul", [x, matrix, scale, zeros, *bias])

    def _norm(self, name: str) -> tuple[str, str]:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return self._graph.constant(weight), self._graph.constant(bias)

    def _pooled(self, x: str, mask: str) -> str:
        """Masked sum over the tokens, L2-normalised."""
        graph = self._graph
        weights = graph.op("Unsqueeze", [mask, graph.constant([2], np.int64)])
        masked = graph.op("Mul", [x, graph.op("Cast", [weights], to=FLOAT)])
        # The mean's divisor cancels out in the norm, so the sum is enough.
        total = graph.op("ReduceSum", [masked, graph.constant([1], np.int64)], keepdims=0)
        return graph.op("LpNormalization", [total], axis=1, p=2)


def quantise(
    matrix: NDArray[np.float32], *, axis: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Symmetric int8 along `axis`, and the scales with that axis kept as 1."""
    largest = np.abs(matrix).max(axis=axis, keepdims=True)
    # All zeros: a scale of 1 avoids a division by zero.
    scales = np.where(largest == 0, 1, largest / 127).astype(np.float32)
    return np.rint(matrix / scales).astype(np.int8), scales


def _varint(number: int) -> bytes:
    # Protobuf writes negative numbers as 64-bit two's complement.
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _int_field(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _bytes_field(field: int, content: bytes | str) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


def _attribute(name: str, value: Attribute) -> bytes:
    # Field 20 is the type of the attribute (AttributeProto): 1 float, 2 int, 7 ints.
    head = _bytes_field(1, name)
    if isinstance(value, float):
        number = _varint(2 << 3 | 5) + struct.pack("<f", value)
        return head + number + _int_field(20, 1)
    if isinstance(value, int):
        return head + _int_field(3, value) + _int_field(20, 2)
    return head + b"".join(_int_field(8, number) for number in value) + _int_field(20, 7)


def _value_info(name: str, kind: int, dims: Sequence[int | str]) -> bytes:
    """A ValueInfoProto; a dimension that is a str is a variable."""
    sizes = (_bytes_field(2, d) if isinstance(d, str) else _int_field(1, d) for d in dims)
    shape = b"".join(_bytes_field(1, size) for size in sizes)
    tensor_type = _int_field(1, kind) + _bytes_field(2, shape)
    return _bytes_field(1, name) + _bytes_field(2, _bytes_field(1, tensor_type))


def _read_header(file: NDArray[np.uint8]) -> Weights:
    # safetensors: 8 bytes of length, a JSON header, then the tensors.
    (length,) = struct.unpack("<Q", file[:8].tobytes())
    header = json.loads(file[8 : 8 + length].tobytes())
    body = file[8 + length :]
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
    return {
        name: body[slice(*entry["data_offsets"])].view(np.float32).reshape(entry["shape"])
        for name, entry in tensors.items()
        if entry["dtype"] == "F32"
    }
