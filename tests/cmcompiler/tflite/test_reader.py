"""The reader of `.tflite` files: what it makes of them, and what it refuses."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from harness.tflite_file import TfliteFile, unknown_file

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate, evaluate_all
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.program import KernelInstruction, StoredQuantization, TensorValue
from cmcompiler.tflite.reader import read_layers, read_tflite


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
    assert [method.values[index] for index in method.inputs] == [lhs]
    assert [method.values[index] for index in method.outputs] == [out]


def test_ports_know_their_quantisation():
    graph = build_graph(read_tflite(addition()))
    (port,) = graph.inputs
    assert port.quantization is not None
    assert (port.quantization.scale, port.quantization.zero_point) == (0.5, 3)
    (output,) = evaluate(graph, [np.array([[3, 5, 127, -128]], np.int8)]).outputs
    # (0 + 0)/0.5, (1 + 0.25)/0.5, (62 + 0.5)/0.5, less than zero
    assert output.tolist() == [[0, 3, 125, 0]]


def test_all_missing_operators_are_named_at_once():
    with pytest.raises(Unsupported, match=r"tflite::RFFT2D \(1×.*tflite::MyOwn \(1×"):
        build_graph(read_tflite(unknown_file()))


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


def test_other_options_than_the_operators_are_refused():
    data = bytearray(addition())
    place = data.index(struct.pack("<q", 11))  # AddOptions
    data[place] = 21
    with pytest.raises(InvalidProgram, match="options of type 21, not 11"):
        read_tflite(bytes(data))


def counter(initial: int | None = None) -> bytes:
    """Adds its input to a variable, and returns the sum."""
    file = TfliteFile()
    if initial is not None:
        first = file.subgraph()
        handle, start = first.handle(), first.constant(np.full((1, 4), initial, np.int8), scale=0.5)
        first.operator("VAR_HANDLE", (), (handle,), container="", shared_name="sum")
        first.operator("ASSIGN_VARIABLE", (handle, start), ())
        file.operator("CALL_ONCE", (), (), init_subgraph=first.finish((), ()))
    handle = file.handle()
    given, kept, total = (file.tensor((1, 4), scale=0.5) for _ in range(3))
    file.operator("VAR_HANDLE", (), (handle,), container="", shared_name="sum")
    file.operator("READ_VARIABLE", (handle,), (kept,))
    file.operator("ADD", (given, kept), (total,))
    file.operator("ASSIGN_VARIABLE", (handle, total), ())
    return file.write((given,), (total,))


@pytest.mark.parametrize("initial", [None, 7])
def test_a_variable_keeps_its_contents_from_run_to_run(initial: int | None):
    graph = build_graph(read_tflite(counter(initial)))
    (state,) = graph.states
    assert state.initial.tolist() == [[initial or 0] * 4]
    given = np.array([[1, 2, 3, -4]], np.int8)
    sums = [result.outputs[0] for result in evaluate_all(graph, [(given,), (given,)])]
    np.testing.assert_array_equal(sums, [given + (initial or 0), 2 * given + (initial or 0)])


def test_both_branches_of_an_if_are_read():
    file = TfliteFile()
    numbers = []
    for name in ("ADD", "SUB"):
        way = file.subgraph()
        lhs, rhs, out = (way.tensor((1, 4), scale=0.5) for _ in range(3))
        way.operator(name, (lhs, rhs), (out,))
        numbers.append(way.finish((lhs, rhs), (out,)))
    condition = file.tensor((1,), np.bool_)
    lhs, rhs, out = (file.tensor((1, 4), scale=0.5) for _ in range(3))
    file.operator("IF", (condition, lhs, rhs), (out,), then=numbers[0], **{"~else": numbers[1]})
    graph = build_graph(read_tflite(file.write((condition, lhs, rhs), (out,))))
    first, second = np.array([[5, 6, 7, 8]], np.int8), np.array([[1, 2, -3, 4]], np.int8)
    for taken, expected in ((True, first + second), (False, first - second)):
        (output,) = evaluate(graph, (np.array([taken]), first, second)).outputs
        np.testing.assert_array_equal(output, expected)


def test_a_subgraph_that_calls_itself_is_refused():
    file = TfliteFile()
    way = file.subgraph()
    condition, source, out = way.tensor((1,), np.bool_), *(way.tensor((1, 4)) for _ in range(2))
    way.operator("IF", (condition, condition, source), (out,), then=1, **{"~else": 1})
    way.finish((condition, source), (out,))
    condition, source, out = file.tensor((1,), np.bool_), *(file.tensor((1, 4)) for _ in range(2))
    file.operator("IF", (condition, condition, source), (out,), then=1, **{"~else": 1})
    with pytest.raises(Unsupported, match="a branch nested in 16 others"):
        find_method(read_tflite(file.write((condition, source), (out,))), "forward")


def test_layers_have_the_names_of_their_outputs() -> None:
    assert read_layers(addition()) == {0: "t2"}
