"""Writes models in the ONNX format, as far as a BERT needs it, by hand: nothing but numpy is needed.

Source: `onnx.proto` of ONNX 1.18 (field numbers) and the encoding of Protocol Buffers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

CONTRIB = "com.microsoft"
"""The domain of the operators that ONNX Runtime adds."""

_IR_VERSION, _OPSET = 9, 18
_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
_NUMBER, _BYTES, _FLOAT = 0, 2, 5
"""How a field is encoded."""


class Graph:
    """A graph in the making; names of values are its only links.

    Args:
        name: Of the graph.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []

    def input(self, name: str, dtype: str, shape: Sequence[str | int]) -> str:
        """Declare an input; dimensions with a name are free."""
        self._inputs.append(_value(name, dtype, shape))
        return name

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Add a constant and return its name."""
        dimensions = b"".join(_number(1, size) for size in array.shape)
        kind = _number(2, _TYPES[array.dtype.name])
        self._constants.append(dimensions + kind + _bytes(8, name.encode()) + _bytes(9, array.tobytes()))
        return name

    def add(
        self, operator: str, inputs: Sequence[str], output: str | Sequence[str], *, domain: str = "", **settings: Any
    ) -> str:
        """Add a node and return its first output; an input that is not given is an empty name."""
        outputs = [output] if isinstance(output, str) else list(output)
        node = b"".join(_bytes(1, name.encode()) for name in inputs)
        node += b"".join(_bytes(2, name.encode()) for name in outputs)
        node += _bytes(3, outputs[0].encode()) + _bytes(4, operator.encode())
        node += b"".join(_bytes(5, _attribute(name, value)) for name, value in settings.items())
        self._nodes.append(node + (_bytes(7, domain.encode()) if domain else b""))
        return outputs[0]

    def to_bytes(self, output: str, dtype: str, shape: Sequence[str | int]) -> bytes:
        """The model with this one output."""
        parts = [_bytes(1, node) for node in self._nodes]
        parts += [_bytes(2, self._name.encode())]
        parts += [_bytes(5, constant) for constant in self._constants]
        parts += [_bytes(11, value) for value in self._inputs]
        parts += [_bytes(12, _value(output, dtype, shape))]
        operators = [
            _bytes(8, _bytes(1, domain.encode()) + _number(2, version))
            for domain, version in (("", _OPSET), (CONTRIB, 1))
        ]
        return b"".join([_number(1, _IR_VERSION), _bytes(7, b"".join(parts)), *operators])


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1  # as negative numbers are written
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _NUMBER) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _attribute(name: str, value: int | float) -> bytes:
    found = _bytes(1, name.encode())
    if isinstance(value, float):
        return found + _varint(2 << 3 | _FLOAT) + struct.pack("<f", value) + _number(20, 1)
    return found + _number(3, value) + _number(20, 2)


def _value(name: str, dtype: str, shape: Sequence[str | int]) -> bytes:
    sizes = (_number(1, size) if isinstance(size, int) else _bytes(2, size.encode()) for size in shape)
    tensor = _number(1, _TYPES[dtype]) + _bytes(2, b"".join(_bytes(1, size) for size in sizes))
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))
