"""Integers times one factor where they are negative, and another elsewhere.

So are changes of scale, ReLU, leaky ReLU and magnitudes of int16 and int32 elements, which are too
many for a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from cmcompiler.ir.layout import Int32, Place, Settled
from cmcompiler.ir.op import Address, Array, KernelCall, Op, RowCall, Tensors
from cmcompiler.ir.rows import element_rows
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.element import CODES
from cmcompiler.ops.support.parameters import Rescale
from cmcompiler.ops.support.requantize import rounding_steps


@dataclass(frozen=True)
class TwoSlopesArguments(Arguments):
    """Elements of an integer type, rescaled to another."""

    c_name = "cm_two_slopes"

    input: Place
    output: Place
    count: Settled
    source: Annotated[Int32, "enum cm_element"]
    to: Annotated[Int32, "enum cm_element"]
    before: Int32
    after: Int32
    below_sign: Annotated[Int32, "of negative numbers before they are multiplied"]
    below_multiplier: Int32
    below_shift: Int32
    above_multiplier: Int32
    above_shift: Int32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class TwoSlopes(Op):
    """clamp(above.scale(x) + after), or clamp(below.scale(below_sign · x) + after) if x < 0.

    x is the element less the zero point `before`, in 32 bits. A negative multiplier of `below`
    gives the negative of what its magnitude does.

    Attributes:
        dtype: of the output.
        below, above: their zero points are not used.
        minimum, maximum: bounds of the output.
        name: for people.
    """

    label = "rescale"
    in_place = frozenset({0})

    dtype: np.dtype[Any]
    before: int
    after: int
    below: Rescale
    above: Rescale
    minimum: int
    maximum: int
    below_sign: int = 1
    name: str = label

    @property
    def title(self) -> str:
        return self.name

    @property
    def element(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.dtype

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        return rounding_steps([self.below.shift, self.above.shift])

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return self.error_steps

    @property
    def turned(self) -> TwoSlopes:
        return self

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        x = (inputs[0].astype(np.int64) - self.before).astype(np.int32)
        above, below = self.above.scale(x), self._scale_below(self.below_sign * x)
        result = np.where(x < 0, below, above).astype(np.int64) + self.after
        return (np.clip(result, self.minimum, self.maximum).astype(self.dtype),)

    def _scale_below(self, x: Array) -> Array:
        magnitude = replace(self.below, multiplier=abs(self.below.multiplier))
        scaled = magnitude.scale(x)
        return -scaled if self.below.multiplier < 0 else scaled

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = TwoSlopesArguments(
            input=Address(inputs[0]),
            output=Address(outputs[0]),
            count=outputs[0].numel,
            source=CODES[inputs[0].dtype],
            to=CODES[self.dtype],
            before=self.before,
            after=self.after,
            below_sign=self.below_sign,
            below_multiplier=self.below.multiplier,
            below_shift=self.below.shift,
            above_multiplier=self.above.multiplier,
            above_shift=self.above.shift,
            minimum=self.minimum,
            maximum=self.maximum,
        )
        return [KernelCall.of("two_slopes", arguments)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return element_rows(call, inputs[0], outputs[0])
