"""Permuted physical dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cmcompiler.ir.movement.copy import copy_call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import KernelCall, Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa


@dataclass(frozen=True)
class Transpose(Op):
    """Dimension i of the output is dimension order[i] of the input, both physical."""

    label: ClassVar[str] = "transpose"

    order: tuple[int, ...]

    def reference(self, *inputs: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        return (np.ascontiguousarray(inputs[0].transpose(self.order)),)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        source, output = inputs[0], outputs[0]
        reads = Strided.dense(source.shape).permute(self.order)
        return copy_call(source, reads, output, Strided.dense(output.shape))
