"""The reader of `.tflite` files: what it makes of them, and what it refuses."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from harness.program_file import Table
from harness.tflite_file import TfliteFile

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.program import KernelInstruction, StoredQuantization, TensorValue
from cmcompiler.tflite.reader import read_tflite
from cmcompiler.tflite.schema import TensorTable


def addition() -> bytes:
    file = TfliteFile()
    lhs = file.tensor((1, 4), scale=0.5, zero_point=3)
    rhs = file.constant(np.arange(4, dtype=np.int8), scale=0.25)
    out = file.tensor((1, 4), scale=0.5)
    file.operator("ADD", (lhs, rhs), (out,), activation=1)
    return file.write((lhs,), (out,))


def test_an_operator_is_an_instruction_with_inputs_options_and_outputs():
    method = find_method(read_tflite(addition()), "forward")
    (call,) = method.instructions
    assert isinstance(call, KernelInstruction)
    assert call.operator == "tflite::ADD"
    lhs, rhs, activation, out = (method.values[index] for index in call.arguments)
    assert isinstance(lhs, TensorValue) and isinstance(rhs, TensorValue)
    assert lhs.quantization == StoredQuantization((0.5,), (3,))
    assert bytes(rhs.data or b"") == bytes(range(4))
    assert activation == 1
    assert (method.inputs, method.outputs) == ((0,), (2,))
    assert out == method.values[2]


def test_ports_know_their_quantisation():
    graph = build_graph(read_tflite(addition()))
    (port,) = graph.inputs
    assert port.quantization is not None
    assert (port.quantization.scale, port.quantization.zero_point) == (0.5, 3)
    (output,) = evaluate(graph, [np.array([[3, 5, 127, -128]], np.int8)]).outputs
    # (0 + 0)/0.5, (1 + 0.25)/0.5, (62 + 0.5)/0.5, less than zero
    assert output.tolist() == [[0, 3, 125, 0]]


def test_all_missing_operators_are_named_at_once():
    file = TfliteFile()
    source, between, out = (file.tensor((1, 4), scale=0.5) for _ in range(3))
    file.operator("RFFT2D", (source,), (between,))
    file.operator("MyOwn", (between,), (out,))
    with pytest.raises(Unsupported, match=r"tflite::RFFT2D \(1×.*tflite::MyOwn \(1×"):
        build_graph(read_tflite(file.write((source,), (out,))))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not start like a .tflite file"),
        (b"\0\0\0\0ET12" + bytes(60), "does not start like a .tflite file"),
        (b"\xff\xff\xff\x7fTFL3", "truncated or corrupt"),
        (addition()[:-40], "truncated or corrupt"),
    ],
)
def test_a_file_that_is_not_one_is_refused(data: bytes, message: str):
    with pytest.raises(InvalidProgram, match=message):
        read_tflite(data)


def test_a_sparse_tensor_is_refused():
    file = TfliteFile()
    source = file.tensor((1, 4), scale=0.5, further={TensorTable.SPARSITY: Table()})
    file.operator("RESHAPE", (source,), (source,))
    with pytest.raises(Unsupported, match="tensor 0 is sparse"):
        find_method(read_tflite(file.write((source,), (source,))), "forward")


def test_other_options_than_the_operators_are_refused():
    data = bytearray(addition())
    place = data.index(struct.pack("<q", 11))  # AddOptions
    data[place] = 21
    with pytest.raises(InvalidProgram, match="options of type 21, not 11"):
        read_tflite(bytes(data))
