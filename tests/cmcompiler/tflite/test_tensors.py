"""Tensors of `.tflite` files that are refused, each in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.program_file import Table, Vector, whole
from harness.tflite_file import TfliteFile

from cmcompiler.errors import CompilerError, InvalidProgram, Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.tflite.reader import read_tflite
from cmcompiler.tflite.schema import QuantizationTable, TensorTable


def refusal(further: dict[int, Any], **tensor: Any) -> CompilerError:
    """Why a program with such a tensor is refused."""
    file = TfliteFile()
    source = file.tensor((2, 4), further=further, **tensor)
    out = file.tensor((8,), scale=0.5)
    file.operator("RESHAPE", (source,), (out,))
    with pytest.raises(CompilerError) as refused:
        build_graph(read_tflite(file.write((source,), (out,))))
    return refused.value


def quantization(**fields: Any) -> dict[int, Any]:
    known = {QuantizationTable[name.upper()]: value for name, value in fields.items()}
    return {TensorTable.QUANTIZATION: Table(known)}


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ({TensorTable.SPARSITY: Table()}, "sparse models are not supported: tensor 0 is sparse"),
        ({TensorTable.SHAPE: Vector("i", [-1, 4])}, "tensor 0 has dimensions of unknown size"),
        ({TensorTable.TYPE: whole("b", 17)}, "tensor 0 has type INT4"),
        ({TensorTable.TYPE: whole("b", 99)}, "tensor 0 has type unknown"),
        ({TensorTable.SHAPE: Vector("i", [1 << 20, 1 << 20])}, "tensor 0 has more than"),
    ],
)
def test_what_no_kernel_has_is_named(further: dict[int, Any], message: str) -> None:
    error = refusal(further)
    assert isinstance(error, Unsupported)
    assert error.message.startswith(message)


@pytest.mark.parametrize(
    ("further", "message"),
    [
        (
            {TensorTable.SHAPE: Vector("i", [-2, 4])},
            "tensor 0 of the program has a malformed",
        ),
        ({TensorTable.SHAPE: Vector("i", [1] * 17)}, "tensor 0 of the program has a malformed"),
        ({TensorTable.BUFFER: whole("I", 77)}, "the program is corrupt: buffer 77 does not exist"),
        (quantization(scale=Vector("f", [0.1] * 3)), "tensor 0 of the program has a malformed"),
        (quantization(scale=Vector("f", [float("nan")])), "tensor 0 of the program has a scale"),
    ],
)
def test_a_malformed_tensor_is_invalid(further: dict[int, Any], message: str) -> None:
    error = refusal(further)
    assert isinstance(error, InvalidProgram)
    assert error.message.startswith(message)


def test_a_constant_that_is_too_short_is_invalid() -> None:
    error = refusal({TensorTable.SHAPE: Vector("i", [3, 4])}, data=np.zeros((2, 4), np.int8))
    assert error.message == ("the program is corrupt: tensor 0 has 12 bytes, its buffer has 8")


def test_a_vector_has_a_scale_for_each_element_whatever_dimension_is_said() -> None:
    """Old converters gave biases the dimension of their weights: person_detect.tflite."""
    file = TfliteFile()
    source = file.tensor((1, 4), scale=0.5)
    weights = file.constant(np.ones((3, 4), np.int8), scale=[0.1, 0.2, 0.3])
    bias = file.constant(np.zeros(3, np.int32), scale=[0.05, 0.1, 0.15], axis=3)
    out = file.tensor((1, 3), scale=0.5)
    file.operator("FULLY_CONNECTED", (source, weights, bias), (out,))
    graph = build_graph(read_tflite(file.write((source,), (out,))))
    assert [node.op.label for node in graph.nodes] == ["linear"]
