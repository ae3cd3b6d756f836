"""The numbers of a `.tflite` file's layers, float or quantised, as PyTorch orders them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.errors import InvalidProgram
from cmcompiler.pte.flatbuffer import FlatBuffer, TableReader
from cmcompiler.pte.program import TensorValue
from cmcompiler.tflite import schema
from cmcompiler.tflite.reader import is_tflite
from cmcompiler.tflite.schema import BuiltinOperator, ModelTable, SubGraphTable
from cmcompiler.tflite.tensors import Buffers, read_tensor

_ORDERS = {
    BuiltinOperator.CONV_2D: (0, 3, 1, 2),
    BuiltinOperator.DEPTHWISE_CONV_2D: (3, 0, 1, 2),
    BuiltinOperator.FULLY_CONNECTED: (0, 1),
}
"""Dimensions of the file's weights, in PyTorch's order."""

_OPERANDS = 3
"""Input, weights and bias."""


@dataclass(frozen=True, eq=False, slots=True)
class LayerWeights:
    """Weights and bias of a layer, float32.

    Attributes:
        weights: [outputs, inputs / groups, height, width] of a convolution, [outputs, inputs] of a
            fully connected layer.
    """

    weights: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]


def layer_weights(data: bytes | memoryview) -> list[LayerWeights]:
    """Weights of the convolutions and fully connected layers of the main subgraph, in order.

    Raises:
        InvalidProgram: not a well-formed `.tflite` file.
        Unsupported: weights that are sparse or of an unknown type.
    """
    view = memoryview(data).toreadonly()
    if not is_tflite(view):
        raise InvalidProgram("not a TensorFlow Lite program: it does not start like a .tflite file")
    model = FlatBuffer(view).root
    subgraphs = list(model.tables(ModelTable.SUBGRAPHS))
    if not subgraphs:
        raise InvalidProgram("the program does not have a subgraph")
    codes = [_code(table) for table in model.tables(ModelTable.OPERATOR_CODES)]
    return list(_layers(subgraphs[0], codes, Buffers(view, model)))


def _code(table: TableReader) -> int:
    old = table.int8(schema.OperatorCodeTable.DEPRECATED_BUILTIN_CODE)
    return max(old, table.int32(schema.OperatorCodeTable.BUILTIN_CODE))


def _layers(graph: TableReader, codes: list[int], buffers: Buffers) -> Iterator[LayerWeights]:
    tensors = list(graph.tables(SubGraphTable.TENSORS))

    def array(index: int) -> npt.NDArray[np.float32]:
        if not 0 <= index < len(tensors):
            raise InvalidProgram(f"the program is corrupt: tensor {index} does not exist")
        return _real(index, read_tensor(index, tensors[index], buffers))

    for operator in graph.tables(SubGraphTable.OPERATORS):
        number = operator.uint32(schema.OperatorTable.OPCODE_INDEX)
        order = _ORDERS.get(codes[number]) if number < len(codes) else None  # type: ignore[call-overload]
        operands = operator.int32s(schema.OperatorTable.INPUTS)
        if order is None:
            continue
        if len(operands) != _OPERANDS:
            raise InvalidProgram("a layer of the program does not have weights and a bias")
        weights = array(operands[1])
        if weights.ndim != len(order):
            raise InvalidProgram(
                f"tensor {operands[1]} of the program has {weights.ndim} dimensions"
            )
        yield LayerWeights(np.ascontiguousarray(weights.transpose(order)), array(operands[2]))


def _real(index: int, value: TensorValue) -> npt.NDArray[np.float32]:
    """A constant's real numbers."""
    if value.data is None:
        raise InvalidProgram(f"tensor {index} of the program is not a constant")
    stored: npt.NDArray[Any] = np.frombuffer(value.data, value.dtype).reshape(value.sizes)
    if value.quantization is None:
        return stored.astype(np.float32)
    scheme = value.quantization
    shape = [1] * stored.ndim
    shape[scheme.axis if len(scheme.scales) > 1 else 0] = -1
    scales = np.asarray(scheme.scales, np.float64).reshape(shape)
    zero_points = np.asarray(scheme.zero_points, np.int64).reshape(shape)
    real: npt.NDArray[np.float32] = (stored.astype(np.int64) - zero_points) * scales
    return np.asarray(real, np.float32)
