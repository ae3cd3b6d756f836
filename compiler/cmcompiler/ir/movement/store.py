"""Writes to mutable buffers, the state of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.ir.movement.copy import copy_call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Array, KernelCall, Op, Tensors
from cmcompiler.isa import Isa


@dataclass(frozen=True)
class Store(Op):
    """Overwrites the first input, a mutable buffer's contents, with the second.

    The output has the same memory as the first input, which must not be read afterwards.
    """

    label = "store"
    error_steps = fine_error_steps = 0.0

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (inputs[1],)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        everything = Strided.dense((outputs[0].numel,))
        return copy_call(inputs[1], everything, outputs[0], everything)
