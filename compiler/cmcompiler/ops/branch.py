"""The results of a branch of a program, whichever way it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.ir.movement.copy import copy_call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Array, KernelCall, Op, Tensors
from cmcompiler.isa import Isa


@dataclass(frozen=True)
class Move(Op):
    """The input's elements in memory of their own."""

    label = "move"
    error_steps = fine_error_steps = 0.0

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (inputs[0],)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        everything = Strided.dense((inputs[0].numel,))
        return copy_call(inputs[0], everything, outputs[0], everything)


@dataclass(frozen=True)
class Merge(Op):
    """The second input if the first, a condition, is true, else the third.

    The last two come from Moves, one in each way of the branch; they and the output are the same
    memory, so there is nothing left to do.
    """

    label = "merge"
    error_steps = fine_error_steps = 0.0

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        condition, when_true, when_false = inputs
        return (when_true if condition.item() else when_false,)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        return ()
