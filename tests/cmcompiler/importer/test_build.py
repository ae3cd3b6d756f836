"""Graphs of programs: ports, recovered views, what is refused and how."""

from __future__ import annotations

import numpy as np
import pytest
from harness.programs import program_bytes, program_graph

from cmcompiler.errors import InvalidProgram, InvalidRequest, Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.program import (
    Allocation,
    KernelInstruction,
    Method,
    MoveInstruction,
    Program,
    TensorList,
    TensorValue,
    Value,
)
from cmcompiler.pte.reader import read_program

FLOAT = np.dtype(np.float32)
INT8 = np.dtype(np.int8)


def planned(offset: int, *sizes: int, order: tuple[int, ...] | None = None) -> TensorValue:
    """An int8 tensor in buffer 1."""
    dim_order = order or tuple(range(len(sizes)))
    return TensorValue(INT8, sizes, dim_order, allocation=Allocation(1, offset))


def program(
    values: list[Value],
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    *instructions: KernelInstruction | MoveInstruction,
) -> Program:
    method = Method("forward", tuple(values), inputs, outputs, instructions, (0, 1 << 20))
    return Program(0, (method,))


def permute(source: int, order: int, result: int) -> KernelInstruction:
    return KernelInstruction("cortex_m::transpose.out", (source, order, result, result))


def test_an_elided_view_is_a_node() -> None:
    graph = program_graph("network")
    (view,) = (node for node in graph.nodes if isinstance(node.op, View))
    pool, linear = (
        next(node for node in graph.nodes if node.source.startswith(f"cortex_m::quantized_{name}"))
        for name in ("avg_pool2d", "linear")
    )
    assert (view.inputs, view.outputs) == (pool.outputs, linear.inputs)
    assert (view.inputs[0].shape, view.outputs[0].shape) == ((1, 1, 1, 4), (1, 4))
    assert view.source == f"view of {pool.outputs[0].name}"


def test_scratch_arguments_are_no_tensors_of_the_graph() -> None:
    graph = program_graph("network")
    tensors = {t for node in graph.nodes for t in (*node.inputs, *node.outputs)}
    assert {str(tensor.dtype) for tensor in tensors} == {"float32", "int8"}


def test_a_view_of_contiguous_memory_moves_nothing() -> None:
    values = [planned(0, 2, 3), planned(0, 6), planned(16, 6), (0,)]
    made = build_graph(program(values, (0,), (2,), permute(1, 3, 2)))
    assert all(isinstance(node.op, View) for node in made.nodes)
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    (flat,) = evaluate(made, [x]).outputs
    assert np.array_equal(flat, np.arange(6))


def test_a_view_has_the_elements_in_their_logical_order() -> None:
    """torch's view of a channels-last tensor: ExecuTorch reuses its bytes, which is not what the
    model means (pixel_shuffle, for example, comes out wrong).
    """
    values = [
        planned(0, 2, 6, 2, 2, order=(0, 2, 3, 1)),
        planned(0, 2, 3, 2, 4),
        planned(64, 2, 3, 2, 4),
        (0, 1, 2, 3),
    ]
    made = build_graph(program(values, (0,), (2,), permute(1, 3, 2)))
    x = np.arange(48, dtype=np.int8).reshape(2, 6, 2, 2)
    (viewed,) = evaluate(made, [x]).outputs
    assert np.array_equal(viewed, x.reshape(2, 3, 2, 4))


def test_views_are_shared() -> None:
    values = [planned(0, 2, 3), planned(0, 6), planned(16, 6), planned(24, 6), (0,)]
    calls = (permute(1, 4, 2), permute(1, 4, 3))
    made = build_graph(program(values, (0,), (2, 3), *calls))
    assert len([node for node in made.nodes if node.source == "view of input_0"]) <= 1


def test_a_view_is_of_the_last_writer() -> None:
    sizes = [(0, 2, 3, 4), (24, 3, 4, 2), (0, 4, 2, 3), (0, 24)]
    values = [*(planned(*size) for size in sizes), (1, 2, 0)]
    made = build_graph(program(values, (0,), (3,), permute(0, 4, 1), permute(1, 4, 2)))
    (output,) = made.outputs
    assert output.tensor.shape == (24,)
    node = made.producer[output.tensor]
    assert made.producer[node.inputs[0]].source == "cortex_m::transpose.out #1"


@pytest.mark.parametrize(
    "read",
    [planned(0, 5), planned(1, 5), planned(4, 6), planned(40, 6)],
    ids=["head", "tail", "across", "never written"],
)
def test_memory_that_no_tensor_holds_is_refused(read: TensorValue) -> None:
    values = [planned(0, 6), planned(6, 4), read, planned(64, *read.sizes), (0,)]
    with pytest.raises(Unsupported, match=r"transpose.out #0: input, int8\[.\], is read from "):
        build_graph(program(values, (0, 1), (3,), permute(2, 4, 3)))


def test_memory_that_was_overwritten_in_part_is_refused() -> None:
    values = [planned(0, 6), planned(4, 6), planned(16, 6), (0,)]
    calls = (permute(0, 3, 1), permute(0, 3, 2))
    with pytest.raises(Unsupported, match="#1: input, "):
        build_graph(program(values, (0,), (2,), *calls))


def test_outputs_of_every_kind() -> None:
    graph = program_graph("outputs")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = np.arange(6, dtype=np.int8).reshape(2, 3)
    actual = evaluate(graph, [x, y]).outputs
    expected = [x, np.arange(6).reshape(2, 3), y.reshape(3, 2), y.T, y.T, np.array(7)]
    assert [port.name for port in graph.outputs] == [f"output_{i}" for i in range(6)]
    for ours, right in zip(actual, expected, strict=True):
        assert np.array_equal(ours, right)
    assert graph.outputs[0].tensor is graph.inputs[0].tensor
    assert graph.outputs[3].tensor is graph.outputs[4].tensor
    assert graph.outputs[1].tensor.data is not None


def test_numbers_among_inputs_are_no_ports() -> None:
    graph = program_graph("scalars")
    assert [(port.name, port.shape) for port in graph.inputs] == [("input_0", ())]
    (output,) = evaluate(graph, [np.array(1.5, np.float32)]).outputs
    assert np.array_equal(output, np.array([1.5], np.float32))


def test_tensors_of_no_elements() -> None:
    graph = program_graph("empty_tensor")
    x, y = np.zeros((0, 3), np.float32), np.arange(4, dtype=np.float32)
    empty, turned = evaluate(graph, [x, y]).outputs
    assert empty.shape == (3, 0)
    assert np.array_equal(turned, y.reshape(2, 2).T)


def test_dead_nodes_are_dropped() -> None:
    values = [planned(0, 2, 3), planned(8, 3, 2), planned(16, 3, 2), (1, 0)]
    made = build_graph(program(values, (0,), (2,), permute(0, 3, 1), permute(0, 3, 2)))
    assert [node.source for node in made.nodes] == ["cortex_m::transpose.out #1"]


def test_methods_by_name() -> None:
    assert program_graph("two_methods", "backward").name == "backward"
    with pytest.raises(InvalidRequest) as error:
        program_graph("two_methods", "backwards")
    assert error.value.message == "the program does not have a method 'backwards'"
    assert error.value.hint is not None
    assert "backward" in error.value.hint and "forward" in error.value.hint


def test_unknown_io() -> None:
    with pytest.raises(InvalidRequest, match="unknown io: 'float'"):
        program_graph("network", io="float")


def test_all_unknown_operators_are_named_at_once() -> None:
    with pytest.raises(Unsupported) as error:
        program_graph("unknown_operators")
    assert error.value.message == (
        "no kernel for 2 operators: aten::max_pool3d_with_indices.out (2×, first #0: "
        "float32[1, 2, 3, 4], float32[1, 2, 3, 4], int64[1, 2, 3, 4]), "
        "aten::_cdist_forward.out (1×, first #2: float32[1, 1, 3, 4], float32[1, 1, 3, 3])"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("overlapping_view", "cortex_m::quantized_linear.out #3: input, int8[1, 4], is read "),
    ],
)
def test_refuses_and_names(name: str, message: str) -> None:
    read_program(program_bytes(name))
    with pytest.raises(Unsupported) as error:
        program_graph(name)
    assert error.value.message.startswith(message)


def constant(*sizes: int) -> TensorValue:
    data = memoryview(bytes(range(int(np.prod(sizes)))))
    return TensorValue(INT8, sizes, tuple(range(len(sizes))), data)


@pytest.mark.parametrize(
    ("values", "inputs", "message"),
    [
        (
            [planned(0, 2, 3), planned(4, 3, 2), (1, 0)],
            (0, 1),
            "input_1 shares memory with input_0",
        ),
        ([planned(0, 2, 3), planned(8, 3, 2), (1, 0)], (0, 0), "input_1 is the same value as"),
        ([constant(2, 3), planned(8, 3, 2), (1, 0)], (0,), "input_0 is a constant"),
        ([planned(0, 2, 3), constant(3, 2), (1, 0)], (0,), "transpose.out #0: out is a constant"),
        ([planned(0, 2, 3), 7, (1, 0)], (0,), "transpose.out #0: out is not a tensor"),
        ([None, planned(8, 3, 2), (1, 0)], (), "transpose.out #0: input is None"),
        ([TensorList((1,)), planned(8, 3, 2), (1, 0)], (), "#0: input is not a tensor"),
        ([planned(0, 2, 3), planned(8, 3, 2), "text"], (0,), "#0: perm is not a list"),
        ([planned(0, 2, 3), planned(8, 3, 2), (1.0, 0.0)], (0,), "perm is not a list of integers"),
    ],
)
def test_contradictions(values: list[Value], inputs: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidProgram, match=message):
        build_graph(program(values, inputs, (1,), permute(0, 2, 1)))


def test_too_few_arguments() -> None:
    call = KernelInstruction("cortex_m::transpose.out", (0, 1))
    with pytest.raises(InvalidProgram, match="#0: has 2 arguments, not 3"):
        build_graph(program([planned(0, 6), planned(8, 6)], (0,), (1,), call))


def test_constants_as_operands() -> None:
    values = [constant(2, 3), planned(0, 3, 2), (1, 0)]
    made = build_graph(program(values, (), (1,), permute(0, 2, 1)))
    (output,) = evaluate(made, []).outputs
    assert np.array_equal(output, np.arange(6).reshape(2, 3).T)
