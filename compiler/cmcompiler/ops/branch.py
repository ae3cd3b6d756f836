"""What a branch of a program results in, whichever way it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from cmcompiler.ir.movement.copy import copy_call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import KernelCall, Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa


@dataclass(frozen=True)
class Move(Op):
    """The input's elements in memory of their own."""

    label: ClassVar[str] = "move"

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        return (inputs[0],)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        everything = Strided.dense((inputs[0].numel,))
        return copy_call(inputs[0], everything, outputs[0], everything)


@dataclass(frozen=True)
class Merge(Op):
    """The second input if the first, a condition, is true, else the third.

    The last two come from Moves, one in each way of the branch; they and the output are the same
    memory, so there is nothing left to do.
    """

    label: ClassVar[str] = "merge"

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        condition, when_true, when_false = inputs
        return (when_true if condition.item() else when_false,)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        return ()
