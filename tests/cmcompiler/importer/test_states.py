"""Mutable buffers: how they are found, what they carry between runs, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from harness.programs import program_graph
from harness.states import NAMES, expected, samples

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.reference import evaluate, evaluate_all
from cmcompiler.pte.program import (
    Allocation,
    Instruction,
    JumpFalseInstruction,
    KernelInstruction,
    Method,
    MoveInstruction,
    Program,
    TensorValue,
    Value,
)

INT8 = np.dtype(np.int8)
BOOL = np.dtype(np.bool_)


@pytest.mark.parametrize("name", NAMES)
def test_each_run_begins_with_what_the_one_before_has_left(name: str) -> None:
    graph, sequence = program_graph(name), samples(name)
    for ours, right in zip(evaluate_all(graph, sequence), expected(name, sequence), strict=True):
        for actual, wanted in zip(ours.outputs, right, strict=True):
            assert actual.dtype == wanted.dtype
            np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("name", NAMES)
def test_a_reset_forgets(name: str) -> None:
    graph, sequence = program_graph(name), samples(name)
    for ours, sample in zip(evaluate_all(graph, sequence, reset=True), sequence, strict=True):
        (right,) = expected(name, [sample])
        for actual, wanted in zip(ours.outputs, right, strict=True):
            np.testing.assert_array_equal(actual, wanted)


def test_buffers_begin_with_their_content_or_with_zeros() -> None:
    initial = [state.initial for state in program_graph("initialised_buffer").states]
    np.testing.assert_array_equal(initial[0], np.arange(8).reshape(2, 4))
    np.testing.assert_array_equal(initial[1], [0])


def test_buffers_that_nothing_depends_on_are_dropped() -> None:
    graph = program_graph("states")
    assert len(graph.states) == 4
    assert sum(isinstance(node.op, Store) for node in graph.nodes) == 4


@pytest.mark.parametrize("io", ["program", "int8"])
def test_what_a_store_overwrites_is_not_read_after_it(io: str) -> None:
    for name in NAMES:
        graph = program_graph(name, io=io)
        within = {state.tensor: state.tensor for state in graph.states}
        for node in graph.nodes:
            reads = node.reads[1:] if isinstance(node.op, Store) else node.reads
            assert None not in [within.get(tensor, tensor) for tensor in reads]
            if isinstance(node.op, Store):
                root = within[node.inputs[0]]
                # None marks memory that has been overwritten.
                within = {t: None if r is root else r for t, r in within.items()}
                within[node.outputs[0]] = root
            elif node.op.view_of is not None and node.inputs[0] in within:
                within[node.outputs[0]] = within[node.inputs[0]]
        assert None not in [within.get(port.tensor, port.tensor) for port in graph.outputs]


def planned(offset: int, *sizes: int, dtype: np.dtype = INT8) -> TensorValue:
    return TensorValue(dtype, sizes, tuple(range(len(sizes))), None, Allocation(1, offset))


BUFFER, X, RESULT, FLAG, ALIAS, FLAT, NO, ROWS, TABLE, TURNED, LATCH, BEFORE, TWICE, NONE = range(
    14
)
VALUES: list[Value] = [
    planned(0, 2, 3),
    planned(16, 2, 3),
    planned(32, 2, 3),
    planned(48, dtype=BOOL),
    planned(0, 6),
    planned(64, 6),
    False,
    (0,),
    TensorValue(INT8, (2, 3), (0, 1), memoryview(bytes(6))),
    planned(0, 3, 2),
    planned(80, dtype=BOOL),
    planned(96, dtype=BOOL),
    planned(112, 2, 3),
    None,
]


def copy(source: int, target: int) -> KernelInstruction:
    return KernelInstruction("aten::copy_", (target, source, NO, target))


def flip(source: int, result: int) -> KernelInstruction:
    return KernelInstruction("aten::flip.out", (source, ROWS, result, result))


def built(*instructions: Instruction, output: int = RESULT) -> Graph:
    method = Method("forward", tuple(VALUES), (FLAG, X), (output,), instructions, (0, 4096))
    return build_graph(Program(0, (method,)))


def run(graph: Graph, *arrays: np.ndarray) -> list[np.ndarray]:
    """The first output for each input array."""
    inputs = [(np.array(True), array) for array in arrays]
    return [evaluation.outputs[0] for evaluation in evaluate_all(graph, inputs)]


ONE = np.arange(1, 7, dtype=np.int8).reshape(2, 3)
TWO = 10 * ONE


def test_an_alias_of_a_buffer_is_that_buffer() -> None:
    """Written under one name, read under another, with another shape."""
    graph = built(flip(ALIAS, FLAT), copy(X, BUFFER), output=FLAT)
    np.testing.assert_array_equal(run(graph, ONE, TWO), [np.zeros(6), ONE.reshape(6)[::-1]])


def test_several_writes_in_a_run() -> None:
    graph = built(copy(X, BUFFER), flip(BUFFER, RESULT), copy(RESULT, BUFFER), output=BUFFER)
    np.testing.assert_array_equal(run(graph, ONE, TWO), [ONE[::-1], TWO[::-1]])
    graph = built(flip(BUFFER, RESULT), copy(X, BUFFER), copy(BUFFER, BUFFER))
    np.testing.assert_array_equal(run(graph, ONE, TWO), [0 * ONE, ONE[::-1]])


def test_what_an_instruction_has_written_is_no_buffer() -> None:
    """Operators such as index_put_ also change in place what the same run has computed."""
    graph = built(flip(X, RESULT), copy(X, RESULT))
    assert graph.states == ()
    np.testing.assert_array_equal(run(graph, ONE, TWO), [ONE, TWO])


def test_an_input_is_no_buffer() -> None:
    graph = built(flip(X, RESULT), copy(RESULT, X), output=X)
    assert graph.states == ()
    np.testing.assert_array_equal(run(graph, ONE, TWO), [ONE[::-1], TWO[::-1]])


def test_a_buffer_may_decide_about_a_branch() -> None:
    """The condition is the buffer's value before it was written."""
    graph = built(
        KernelInstruction("aten::clone.out", (LATCH, NONE, BEFORE, BEFORE)),
        copy(FLAG, LATCH),
        *(
            flip(X, RESULT),
            JumpFalseInstruction(BEFORE, 6),
            flip(RESULT, TWICE),
            MoveInstruction(TWICE, RESULT),
        ),
    )
    inputs = [(np.array(flag), ONE) for flag in (True, False, True)]
    actual = [evaluation.outputs[0] for evaluation in evaluate_all(graph, inputs)]
    np.testing.assert_array_equal(actual, [ONE[::-1], ONE, ONE[::-1]])


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        (
            [flip(BUFFER, RESULT), JumpFalseInstruction(FLAG, 3), copy(X, BUFFER)],
            "aten::copy_ #2: writes a mutable buffer in a branch",
        ),
        (
            [flip(BUFFER, RESULT), copy(X, BUFFER), MoveInstruction(X, BUFFER)],
            "MoveCall #2: moves into a mutable buffer",
        ),
        (
            [flip(BUFFER, RESULT)],
            "aten::flip.out #0: self, int8[2, 3], is read from uninitialised memory",
        ),
        (
            [flip(BUFFER, RESULT), copy(X, BUFFER), flip(TURNED, TURNED)],
            "aten::flip.out #2: state_0, a mutable buffer, is written with another shape or layout",
        ),
    ],
)
def test_refuses_and_names(instructions: list[Instruction], message: str) -> None:
    with pytest.raises(Unsupported) as error:
        built(*instructions)
    assert error.value.message == message


def test_a_constant_is_not_written() -> None:
    with pytest.raises(InvalidProgram, match="aten::copy_ #0: self is a constant"):
        built(copy(X, TABLE))


def test_states_of_another_run_are_given_to_the_next() -> None:
    graph = built(flip(BUFFER, RESULT), copy(X, BUFFER))
    first = evaluate(graph, [np.array(True), ONE])
    np.testing.assert_array_equal(first.states, [ONE])
    second = evaluate(graph, [np.array(True), TWO], states=first.states)
    np.testing.assert_array_equal(second.outputs, [ONE[::-1]])
