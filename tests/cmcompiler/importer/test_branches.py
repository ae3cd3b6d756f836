"""Jumps read as branches: their structure, what they compute, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from harness.branches import branched, expected
from harness.programs import program_graph

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.importer.control import DEEPEST
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.ops.branch import Merge, Move
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
FLAGS = list(product([True, False], repeat=2))


def planned(offset: int, *sizes: int, dtype: np.dtype = INT8) -> TensorValue:
    return TensorValue(dtype, sizes, tuple(range(len(sizes))), None, Allocation(1, offset))


FLAG, X, RESULT, FALSE, ORDER, FIRST, SECOND, NUMBER, EIGHT, TABLE, ROWS = range(11)
VALUES: list[Value] = [
    planned(0, dtype=np.dtype(np.bool_)),
    planned(16, 2, 3),
    planned(32, 3, 2),
    False,
    (1, 0),
    planned(48, 3, 2),
    planned(64, 3, 2),
    7,
    planned(80, 8, dtype=np.dtype(np.bool_)),
    TensorValue(INT8, (3, 2), (0, 1), memoryview(bytes(range(6)))),
    (0,),
]


def turn(source: int, result: int) -> KernelInstruction:
    return KernelInstruction("cortex_m::transpose.out", (source, ORDER, result, result))


def flip(source: int, result: int) -> KernelInstruction:
    return KernelInstruction("aten::flip.out", (source, ROWS, result, result))


def built(*instructions: Instruction, output: int = RESULT, inputs: Sequence[int] = ()) -> Graph:
    given = (FLAG, X, *inputs)
    method = Method("forward", tuple(VALUES), given, (output,), instructions, (0, 4096))
    return build_graph(Program(0, (method,)))


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_way_that_is_taken_is_computed(flags: tuple[bool, bool], sign: int) -> None:
    example = branched(*flags, sign)
    for ours, right in zip(example.reference.outputs, expected(*example.inputs), strict=True):
        assert np.array_equal(ours, right)


def test_what_is_left_out_has_no_array() -> None:
    example = branched(True, False)
    ports, given = example.graph.inputs[:2], example.inputs[:2]
    flags = {port.tensor: bool(x) for port, x in zip(ports, given, strict=True)}
    nodes = [n for n in example.graph.nodes if all(g.condition in flags for g in n.guards)]
    assert {len(node.guards) for node in nodes} == {0, 1, 2}
    for node in nodes:
        runs = all(flags[guard.condition] is guard.expected for guard in node.guards)
        assert (node.outputs[0] in example.reference.tensors) is runs


def test_only_what_is_read_later_is_merged() -> None:
    ops = [type(node.op) for node in program_graph("control_flow").nodes]
    assert [op for op in ops if op in (Move, Merge)] == [Move, Move, Merge]


def test_a_branch_with_one_way() -> None:
    """A place keeps its contents if the way is not taken."""
    graph = built(
        turn(X, RESULT),
        JumpFalseInstruction(FLAG, 4),
        flip(RESULT, FIRST),
        MoveInstruction(FIRST, RESULT),
    )
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    for flag, right in [(True, x.T[::-1]), (False, x.T)]:
        assert np.array_equal(evaluate(graph, [np.array(flag), x]).outputs[0], right)


def test_ways_that_write_without_a_move() -> None:
    """Constants and results of instructions that do not know about the branch."""
    graph = built(
        *(JumpFalseInstruction(FLAG, 3), turn(X, FIRST), JumpFalseInstruction(FALSE, 5)),
        *(MoveInstruction(TABLE, SECOND), flip(SECOND, FIRST), flip(FIRST, RESULT)),
    )
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    table = np.arange(6, dtype=np.int8).reshape(3, 2)
    for flag, right in [(True, x.T[::-1]), (False, table)]:
        assert np.array_equal(evaluate(graph, [np.array(flag), x]).outputs[0], right)


def test_a_view_of_one_way_is_not_taken_for_one_of_both() -> None:
    """The same elided view, read within a branch and after it."""
    values = [*VALUES, planned(16, 6), planned(96, 6), planned(112, 6), (0,)]
    view, inside, result = 11, 12, 13
    calls = (
        JumpFalseInstruction(FLAG, 2),
        KernelInstruction("aten::flip.out", (view, ROWS, inside, inside)),
        KernelInstruction("aten::flip.out", (view, ROWS, result, result)),
    )
    method = Method("forward", tuple(values), (FLAG, X), (result,), calls, (0, 4096))
    graph = build_graph(Program(0, (method,)))
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    (actual,) = evaluate(graph, [np.array(False), x]).outputs
    assert np.array_equal(actual, x.reshape(6)[::-1])


def test_memory_that_one_way_has_written_holds_nothing() -> None:
    with pytest.raises(Unsupported, match=r"#2: self, .* is read from uninitialised memory"):
        built(JumpFalseInstruction(FLAG, 2), turn(X, FIRST), flip(FIRST, RESULT))


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        (
            [turn(X, RESULT), turn(X, RESULT), JumpFalseInstruction(FLAG, 1)],
            "loops are not supported: instruction #2 jumps back to #1",
        ),
        (
            [JumpFalseInstruction(FLAG, 0)],
            "loops are not supported: instruction #0 jumps back to #0",
        ),
        (
            [JumpFalseInstruction(FLAG, 2), JumpFalseInstruction(FLAG, 3), turn(X, RESULT)],
            "the jumps around instruction #1 are not branches",
        ),
        (
            [*[JumpFalseInstruction(FLAG, DEEPEST + 2)] * (DEEPEST + 1), turn(X, RESULT)],
            f"instruction #{DEEPEST} is a branch nested in {DEEPEST} others",
        ),
        ([JumpFalseInstruction(NUMBER, 1)], "JumpFalseCall #0: its condition is not a tensor"),
        ([JumpFalseInstruction(X, 1)], "JumpFalseCall #0: condition is int8, not bool"),
        ([JumpFalseInstruction(EIGHT, 1)], "JumpFalseCall #0: its condition has 8 elements, not 1"),
        ([MoveInstruction(NUMBER, ORDER)], "MoveCall #0: its operand is not a tensor"),
    ],
)
def test_refuses_and_names(instructions: list[Instruction], message: str) -> None:
    with pytest.raises(Unsupported) as error:
        built(*instructions, inputs=(EIGHT,))
    assert error.value.message == message


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (MoveInstruction(X, RESULT), r"MoveCall #0: moves int8\[2, 3\] to int8\[3, 2\]"),
        (MoveInstruction(FLAG, X), "MoveCall #0: moves bool"),
        (MoveInstruction(FIRST, TABLE), "MoveCall #1: target is a constant"),
    ],
)
def test_moves_that_contradict_their_tensors(move: MoveInstruction, message: str) -> None:
    with pytest.raises(InvalidProgram, match=message):
        built(turn(X, FIRST), move) if move.source == FIRST else built(move)
