"""Tensors of `.tflite` files that are refused, each in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.program_file import Table, Vector, whole
from harness.tflite_file import TfliteFile

from cmcompiler.errors import CompilerError, InvalidProgram, Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
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
        (
            {TensorTable.TYPE: whole("b", 17)},
            "tensor 0 has type INT4, which only constants may have",
        ),
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


def multiplied(weights: np.ndarray, kind: int, buffer: np.ndarray) -> TfliteFile:
    """A fully connected layer whose weights are stored as they are given."""
    file = TfliteFile()
    source = file.tensor((2, weights.shape[1]), scale=0.1)
    narrow = {TensorTable.TYPE: whole("b", kind), TensorTable.SHAPE: Vector("i", weights.shape)}
    held = file.tensor(buffer.shape, data=buffer, scale=0.2, further=narrow)
    out = file.tensor((2, len(weights)), scale=0.9)
    file.operator("FULLY_CONNECTED", (source, held, -1), (out,), weights_format=0)
    return file


def test_constants_of_four_bits_are_those_of_eight() -> None:
    """The first of two is in the low half of a byte; the last byte may hold one."""
    random = np.random.default_rng(4)
    weights = random.integers(-8, 8, (3, 5)).astype(np.int8)
    halves = np.append(weights.ravel(), 0).astype(np.uint8) & 15
    pairs = (halves[::2] | halves[1::2] << 4).astype(np.int8)
    x = random.integers(-128, 128, (2, 5)).astype(np.int8)
    made = [
        evaluate(build_graph(read_tflite(multiplied(weights, kind, buffer).write((0,), (2,)))), [x])
        for kind, buffer in ((9, weights), (17, pairs))
    ]
    np.testing.assert_array_equal(made[0].outputs[0], made[1].outputs[0])
    with pytest.raises(InvalidProgram, match="tensor 1 has 8 bytes, its buffer has 7"):
        build_graph(read_tflite(multiplied(weights, 17, pairs[:7]).write((0,), (2,))))
