"""Transposes that restore an order are views."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cmcompiler.importer.moves import take_back_moves
from cmcompiler.ir.graph import Node
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor

MATRICES = (2, 3, 4, 5)
TURN = Transpose((0, 1, 3, 2))


def chain(shape: tuple[int, ...], ops: Sequence[Op]) -> list[Node]:
    tensor, nodes = Tensor("x", np.dtype(np.int8), shape), []
    for number, op in enumerate(ops):
        (array,) = op.reference(np.zeros(tensor.shape, np.int8))
        output = Tensor(f"t{number}", tensor.dtype, array.shape)
        nodes.append(Node(op, (tensor,), (output,), f"{op.label} #{number}"))
        tensor = output
    return nodes


@pytest.mark.parametrize(
    "ops",
    [
        (TURN, TURN),
        (TURN, View((6, 5, 4)), Transpose((0, 2, 1))),
        (View((6, 4, 5)), Transpose((0, 2, 1)), View((1, 6, 5, 4)), TURN),
    ],
)
def test_what_is_taken_back_is_a_view(ops: Sequence[Op]) -> None:
    nodes = chain(MATRICES, ops)
    made = take_back_moves(nodes, [])
    assert made[:-1] == nodes[:-1]
    assert made[-1].op == View(nodes[-1].outputs[0].shape)
    assert made[-1].inputs[0].shape in (MATRICES, (6, 4, 5))


@pytest.mark.parametrize("ops", [(TURN,), (TURN, View((6, 4, 5)), Transpose((0, 2, 1)))])
def test_others_stay(ops: Sequence[Op]) -> None:
    nodes = chain(MATRICES, ops)
    assert take_back_moves(nodes, []) == nodes


def test_a_state_is_read_where_it_is() -> None:
    nodes = chain(MATRICES, (TURN, TURN))
    assert take_back_moves(nodes, [nodes[0].inputs[0]]) == nodes
