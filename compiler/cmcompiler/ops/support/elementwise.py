"""Operands of elementwise ops, brought to one order of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.op import Address, Op, Tensors, Words
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor


def align(call: Call, operands: Sequence[Operand], output: Operand) -> tuple[Loops, list[Tensor]]:
    """Loops over broadcast operands and a dense output, whose innermost steps are 0 or 1.

    An operand whose memory runs across the output's is first brought into the output's order.
    """
    target = Strided.of(output)
    windows, tensors = [], []
    for operand in operands:
        window, tensor = Strided.of(operand), operand.tensor
        try:
            wide = window.broadcast(target.shape)
        except ValueError as error:
            call.invalid(str(error))
        if Loops.over(wide, target).inner[0] not in (0, 1):
            missing = output.rank - operand.rank
            order = [dim - missing for dim in output.dim_order if dim >= missing]
            tensor = call.arrange(operand, order)
            wide = Strided.dense(tensor.shape).inverse(order).broadcast(target.shape)
        windows.append(wide)
        tensors.append(tensor)
    return Loops.over(*windows, target), tensors


@dataclass(frozen=True)
class Pair(Op):
    """An op on two int8 operands. Shapes: any that broadcast.

    Attributes:
        loops: over both operands and the output; the first operand moves in the innermost one.
        shape: of the output, physical.
    """

    element = np.dtype(np.int8)

    loops: Loops
    shape: tuple[int, ...]

    @property
    def in_place(self) -> frozenset[int]:
        return taken_over(self.loops)

    def words(self, inputs: Tensors, outputs: Tensors) -> Words:
        """What the kernels of all such ops take first."""
        return [
            ("lhs", Address(inputs[0])),
            ("rhs", Address(inputs[1])),
            ("output", Address(outputs[0])),
            *self.loops.fields((1, 1, 1)),
            ("rhs_step", self.loops.inner[1]),
        ]


def align_pair(
    call: Call, operands: Sequence[Operand], output: Operand
) -> tuple[Loops, list[Tensor], tuple[int, int]]:
    """As `align`, for the loops of a Pair; and which operand is its first, which its second."""
    loops, tensors = align(call, operands, output)
    if loops.inner[0] == 0:
        return loops.swapped(), tensors[::-1], (1, 0)
    return loops, tensors, (0, 1)


def taken_over(loops: Loops) -> frozenset[int]:
    """Operands that are read exactly where the output, the last one, is written."""
    operands = range(len(loops.steps) - 1)
    return frozenset(i for i in operands if loops.steps[i] == loops.steps[-1])
