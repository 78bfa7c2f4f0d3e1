"""Writing an ONNX graph as protobuf bytes with numpy alone. Knows no model.

Field numbers are those of onnx.proto (IR version 8); only what our graphs need is here.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

Attribute = int | float | tuple[int, ...]

FLOAT, INT8, INT32, INT64 = 1, 3, 6, 7
"""TensorProto.DataType"""
_TYPE_OF = {"float32": FLOAT, "int8": INT8, "int32": INT32, "int64": INT64}
_IR_VERSION, _OPSET, _MICROSOFT_OPSET = 8, 17, 1


def _varint(number: int) -> bytes:
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


def _float_field(field: int, number: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", number)


def _tensor(name: str, array: NDArray[np.generic]) -> bytes:
    dims = b"".join(_int_field(1, size) for size in array.shape)
    kind = _int_field(2, _TYPE_OF[array.dtype.name])
    return dims + kind + _bytes_field(8, name) + _bytes_field(9, array.tobytes())


def _attribute(name: str, value: Attribute) -> bytes:
    head = _bytes_field(1, name)
    if isinstance(value, float):
        return head + _float_field(2, value) + _int_field(20, 1)
    if isinstance(value, int):
        return head + _int_field(3, value) + _int_field(20, 2)
    return head + b"".join(_int_field(8, number) for number in value) + _int_field(20, 7)


def _value(name: str, kind: int, dims: Sequence[int | str]) -> bytes:
    """A ValueInfoProto; a dimension that is a str is a variable."""
    sizes = (_bytes_field(2, d) if isinstance(d, str) else _int_field(1, d) for d in dims)
    shape = b"".join(_bytes_field(1, size) for size in sizes)
    tensor_type = _int_field(1, kind) + _bytes_field(2, shape)
    return _bytes_field(1, name) + _bytes_field(2, _bytes_field(1, tensor_type))


class GraphBuilder:
    """Collects nodes and constants; every method returns names to build on."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._count = 0

    def input(self, name: str, kind: int, dims: Sequence[int | str]) -> str:
        self._inputs.append(_bytes_field(11, _value(name, kind, dims)))
        return name

    def output(self, source: str, name: str, kind: int, dims: Sequence[int | str]) -> None:
        self._add("Identity", [source], [name], "", {})
        self._outputs.append(_bytes_field(12, _value(name, kind, dims)))

    def constant(self, value: ArrayLike, dtype: type[np.generic] = np.float32) -> str:
        name = self._new_name()
        array = np.ascontiguousarray(np.asarray(value, dtype=dtype))
        self._constants.append(_bytes_field(5, _tensor(name, array.reshape(np.shape(value)))))
        return name

    def op(self, kind: str, inputs: Sequence[str], **attributes: Attribute) -> str:
        """One node of the standard set with one output."""
        return self._add(kind, inputs, [self._new_name()], "", attributes)[0]

    def split(self, source: str, sizes: Sequence[int]) -> list[str]:
        """Along the last axis."""
        names = [self._new_name() for _ in sizes]
        return self._add("Split", [source, self.constant(sizes, np.int64)], names, "", {"axis": -1})

    def fused(self, kind: str, inputs: Sequence[str], **attributes: Attribute) -> str:
        """One of onnxruntime's own operators, with one output."""
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
