"""Elementwise product of two quantised tensors: cortex_m::quantized_mul."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32
from cmcompiler.ir.op import Array, KernelCall, Tensors
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.elementwise import Pair, PairArguments, align_pair
from cmcompiler.ops.support.parameters import INT8, Rescale, read_operand_zero_point, read_rescale
from cmcompiler.ops.support.requantize import Range, RangedOp, rounding_steps

SHORT_SHIFTS = range(-11, 1)
"""Output shifts that cm_mul_right_s8 takes without the DSP extension."""

SHORT_SHIFTS_DSP = range(-11, -1)
"""Output shifts that it takes with the DSP extension: runtime/isa/dsp/short_output.h."""

LEAST_MULTIPLIER = 1 << 30
"""Smallest multiplier that it takes there."""

ZERO_POINTS = range(INT8.minimum, INT8.maximum + 1)
"""Zero points of operands that it takes without the DSP extension and MVE."""

MUL = Microkernel("mul_s8")
MUL_RIGHT = Microkernel("mul_right_s8", dsp=True, mve=True)
MUL16 = Microkernel("mul_s16", mve=True)


@dataclass(frozen=True)
class MulArguments(PairArguments):
    """Products of two int8 elements, rescaled."""

    c_name = "cm_mul"

    lhs_zero_point: Int32
    rhs_zero_point: Int32
    zero_point: Int32
    multiplier: Int32
    shift: Int32


@dataclass(frozen=True)
class MulArguments16(PairArguments):
    """Products of two int16 elements, rescaled."""

    c_name = "cm_mul_s16"

    multiplier: Int32
    shift: Int32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class Mul(RangedOp, Pair):
    """clamp(output.apply((lhs - lhs_zero_point) · (rhs - rhs_zero_point))).

    Arithmetic: CMSIS-NN's arm_elementwise_mul_s8 and arm_elementwise_mul_s16.
    """

    label = "mul"

    lhs_zero_point: int
    rhs_zero_point: int
    output: Rescale
    range: Range = INT8
    """The clamp of int16 outputs; int8 outputs take all numbers."""

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        return rounding_steps([self.output.shift])

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return self.error_steps

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        lhs, rhs = (x.astype(np.int32) for x in self.broadcast(inputs))
        product = (lhs - self.lhs_zero_point) * (rhs - self.rhs_zero_point)
        return (self.range.clamp(self.output.apply(product)).reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        if self.element == np.int16:
            return self.call(
                MulArguments16,
                (*inputs, *outputs),
                MUL16,
                multiplier=self.output.multiplier,
                shift=self.output.shift,
                minimum=self.range.minimum,
                maximum=self.range.maximum,
            )
        microkernel = MUL_RIGHT if self._has_short_output(isa) else MUL
        return self.call(
            MulArguments,
            (*inputs, *outputs),
            microkernel,
            joins=True,
            lhs_zero_point=self.lhs_zero_point,
            rhs_zero_point=self.rhs_zero_point,
            zero_point=self.output.zero_point,
            multiplier=self.output.multiplier,
            shift=self.output.shift,
        )

    def _has_short_output(self, isa: Isa) -> bool:
        """Whether MUL_RIGHT takes the output's factor."""
        shift, multiplier = self.output.shift, self.output.multiplier
        provider = MUL_RIGHT.provider(isa)
        if provider is Isa.DSP:
            return shift in SHORT_SHIFTS_DSP and multiplier >= LEAST_MULTIPLIER
        zero_points = (self.lhs_zero_point, self.rhs_zero_point)
        are_near = provider is Isa.MVE or all(x in ZERO_POINTS for x in zero_points)
        return shift in SHORT_SHIFTS and are_near


SCHEMA = (
    "(Tensor self, int self_zero_point, Tensor other, "
    "int other_zero_point, int output_zero_point, int output_multiplier, int output_shift, *, "
    "Tensor(a!) out)"
)


@program_op(f"cortex_m::quantized_mul.out{SCHEMA}", f"cmbuild::quantized_mul.out{SCHEMA}")
def read(call: Call) -> None:
    output = call.output("out")
    operands = [call.tensor(name, dtype=np.int8) for name in ("self", "other")]
    zero_points = [
        read_operand_zero_point(call, f"{name}_zero_point") for name in ("self", "other")
    ]
    loops, tensors, (lhs, rhs) = align_pair(call, operands, output)
    scale = read_rescale(call, "output")
    op = Mul(loops, output.tensor.shape, zero_points[lhs], zero_points[rhs], scale)
    call.emit(op, tensors, [output.tensor])
