"""Copies that repeat elements for another copy alone are part of that one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cmcompiler.importer.copies import join_copies
from cmcompiler.ir.graph import Node
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa

INT8 = np.dtype(np.int8)
SMALL, LARGE, SKIP, BOTH = (1, 3, 4, 5), (1, 6, 8, 5), (1, 6, 8, 2), (1, 6, 8, 7)
SOURCE, WIDE, OTHER, RESULT = (
    Tensor(name, INT8, shape)
    for name, shape in zip("swor", (SMALL, LARGE, SKIP, BOTH), strict=True)
)


def upsampled() -> Node:
    """Each pixel four times: two rows of two."""
    reads = Strided.dense(SMALL).insert(2).resize(2, 2, 0).insert(4).resize(4, 2, 0)
    writes = Strided((1, 3, 2, 4, 2, 5), (0, 80, 40, 10, 5, 1))
    return Node(Copy("up", INT8, LARGE, (Piece(0, reads, writes),)), (SOURCE,), (WIDE,), "up")


def joined(order: tuple[int, ...] = (0, 3, 1, 2)) -> Node:
    """Channels side by side.

    Args:
        order: of the dimensions that are walked.
    """
    writes = Strided.dense(BOTH)
    pieces = (
        Piece(0, Strided.dense(LARGE).permute(order), writes.slice(3, 0, 5).permute(order)),
        Piece(1, Strided.dense(SKIP), writes.slice(3, 5, 2)),
    )
    return Node(Copy("cat", INT8, BOTH, pieces), (WIDE, OTHER), (RESULT,), "cat")


def values(node: Node, arrays: dict[Tensor, np.ndarray]) -> np.ndarray:
    (result,) = node.op.reference(*(arrays[tensor] for tensor in node.inputs))
    return result


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 1, 2), (2, 0, 3, 1)])
def test_a_concatenation_repeats_pixels_itself(order: tuple[int, ...]) -> None:
    nodes = [upsampled(), joined(order)]
    _, made = join_copies(nodes, [RESULT], [])
    random = np.random.default_rng(0)
    arrays = {t: random.integers(-128, 128, t.shape, np.int8) for t in (SOURCE, OTHER)}
    arrays[WIDE] = values(nodes[0], arrays)
    assert made.inputs == (SOURCE, OTHER)
    assert np.array_equal(values(made, arrays), values(nodes[1], arrays))
    calls = made.op.row_calls(made.inputs, made.outputs, Isa.DSP)
    assert [set(call.reads) for call in calls] == [{SOURCE}, {OTHER}]


def test_an_image_that_others_read_is_made() -> None:
    nodes = [upsampled(), joined()]
    assert join_copies(nodes, [RESULT, WIDE], []) == nodes
    again = replace(joined(), outputs=(Tensor("q", INT8, BOTH),))
    assert join_copies([*nodes, again], [RESULT], []) == [*nodes, again]


def test_a_state_is_read_where_it_is() -> None:
    nodes = [upsampled(), joined()]
    assert join_copies(nodes, [RESULT], [SOURCE]) == nodes


def test_part_of_an_image_is_read_from_it() -> None:
    up = upsampled()
    part = Strided.dense(LARGE).slice(1, 2, 3)
    op = Copy("part", INT8, (1, 3, 8, 5), (Piece(0, part, Strided.dense((1, 3, 8, 5))),))
    nodes = [up, Node(op, (WIDE,), (Tensor("p", INT8, (1, 3, 8, 5)),), "part")]
    assert join_copies(nodes, [nodes[1].outputs[0]], []) == nodes


def test_an_image_that_is_taken_twice_is_made() -> None:
    twice, writes = joined(), Strided.dense((2, 6, 8, 5))
    pieces = (
        Piece(0, Strided.dense(LARGE), writes.slice(0, 0, 1)),
        Piece(0, Strided.dense(LARGE).slice(1, 0, 3), writes.slice(0, 1, 1).slice(1, 0, 3)),
    )
    op = Copy("cat", INT8, (2, 6, 8, 5), pieces, fill=0)
    nodes = [upsampled(), replace(twice, op=op, inputs=(WIDE,))]
    assert join_copies(nodes, [RESULT], []) == nodes
