"""Permuted physical dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.ir.movement.copy import copy_call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Array, KernelCall, Op, Tensors
from cmcompiler.isa import Isa


@dataclass(frozen=True)
class Transpose(Op):
    """Dimension i of the output is dimension order[i] of the input, both physical."""

    label = "transpose"
    error_steps = fine_error_steps = 0.0

    order: tuple[int, ...]

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (np.ascontiguousarray(inputs[0].transpose(self.order)),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        source, output = inputs[0], outputs[0]
        reads = Strided.dense(source.shape).permute(self.order)
        return copy_call(source, reads, output, Strided.dense(output.shape))
