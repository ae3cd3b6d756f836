"""Elementwise quotient of two quantised tensors: cortex_m::quantized_div."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Float32, Int32
from cmcompiler.ir.op import Array, KernelCall, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.elementwise import Elementwise, PairOperands, align
from cmcompiler.ops.support.parameters import read_scale

DTYPES = (np.dtype(np.int8), np.dtype(np.int16))

FARTHEST = 1 << 20
"""Operands of a narrow range far from zero have zero points outside of their type; floats hold
their differences exactly."""


@dataclass(frozen=True)
class DivArguments(Arguments):
    """Quotients of two quantised elements, in floats."""

    c_name = "cm_div_quantized"

    operands: Annotated[PairOperands, INLINE]
    size: Annotated[Int32, "bytes of an element: 1 or 2"]
    lhs_step: Annotated[Int32, "in elements, 0 or 1"]
    rhs_step: Int32
    lhs_zero_point: Int32
    rhs_zero_point: Int32
    zero_point: Int32
    scale: Float32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class Div(Elementwise):
    """clamp(rint(scale · (lhs - lhs_zero_point) / (rhs - rhs_zero_point)) + zero_point).

    Quotient and product are float32, halves go to even; x / 0 counts as 0. Arithmetic: the
    Cortex-M dialect's. Shapes: any that broadcast; int8 or int16, limits are the type's.
    """

    label = "div"

    lhs_zero_point: int
    rhs_zero_point: int
    zero_point: int
    scale: float

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        lhs, rhs = (x.astype(np.int32) for x in self.broadcast(inputs))
        over = (lhs - self.lhs_zero_point).astype(np.float32)
        under = (rhs - self.rhs_zero_point).astype(np.float32)
        quotient = np.divide(over, under, out=np.zeros_like(over), where=under != 0)
        with np.errstate(over="ignore"):
            steps = np.clip(np.rint(quotient * np.float32(self.scale)), -(2.0**24), 2.0**24)
        limits = np.iinfo(inputs[0].dtype)
        result = np.clip(steps.astype(np.int32) + self.zero_point, limits.min, limits.max)
        return (result.astype(inputs[0].dtype).reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        dtype = outputs[0].dtype
        limits = np.iinfo(dtype)
        arguments = DivArguments(
            PairOperands.of(self.loops, (*inputs, *outputs)),
            size=dtype.itemsize,
            lhs_step=self.loops.inner[0],
            rhs_step=self.loops.inner[1],
            lhs_zero_point=self.lhs_zero_point,
            rhs_zero_point=self.rhs_zero_point,
            zero_point=self.zero_point,
            scale=self.scale,
            minimum=int(limits.min),
            maximum=int(limits.max),
        )
        return [KernelCall.of("div_quantized", arguments)]


SCHEMA = (
    "(Tensor self, int self_zero_point, Tensor other, "
    "int other_zero_point, int output_zero_point, float output_scale, *, Tensor(a!) out)"
)


@program_op(f"cortex_m::quantized_div.out{SCHEMA}", f"cmbuild::quantized_div.out{SCHEMA}")
def read(call: Call) -> None:
    output = call.output("out")
    operands = [call.tensor(name, dtype=output.dtype) for name in ("self", "other")]
    if output.dtype not in DTYPES:
        call.unsupported(f"output is {output.dtype.name}")
    limits = np.iinfo(output.dtype)
    lhs, rhs = (call.integer(f"{x}_zero_point", -FARTHEST, FARTHEST) for x in ("self", "other"))
    zero_point = call.integer("output_zero_point", int(limits.min), int(limits.max))
    loops, tensors = align(call, operands, output)
    scale = float(read_scale(call, "output_scale"))
    op = Div(loops, output.tensor.shape, lhs, rhs, zero_point, scale)
    call.emit(op, tensors, [output.tensor])
