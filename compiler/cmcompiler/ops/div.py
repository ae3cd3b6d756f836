"""Elementwise quotient of two quantised tensors: cortex_m::quantized_div."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
import numpy.typing as npt

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Float32, Int32, Place
from cmcompiler.ir.op import Array, KernelCall, Packed, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.divisor_factors import MOST_DIVIDEND, divisor_factors
from cmcompiler.ops.support.elementwise import Elementwise, PairOperands, align
from cmcompiler.ops.support.parameters import read_scale

DTYPES = (np.dtype(np.int8), np.dtype(np.int16))

_Scales = tuple[int, int, int, float]
"""Zero points of both operands and of the output, and the scale."""

DIV_TABLED = Microkernel("div_tabled_s8", mve=True)

LEAST_TABLED = 64
"""Elements from which on a table of 1 KB is worth it."""

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
class DivTabledArguments(Arguments):
    """Quotients of two int8 elements by a factor for each divisor."""

    c_name = "cm_div_tabled_s8"

    operands: Annotated[PairOperands, INLINE]
    lhs_step: Annotated[Int32, "0 or 1"]
    rhs_step: Int32
    factors: Annotated[Place, "of 256 int32, by the divisor's unsigned byte: see `divisor_factors`"]
    lhs_zero_point: Int32
    zero_point: Int32


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
        return (_quotients(self._scales, *self.broadcast(inputs)).reshape(self.shape),)

    @property
    def _scales(self) -> _Scales:
        zero_points = (self.lhs_zero_point, self.rhs_zero_point, self.zero_point)
        return (*zero_points, float(self.scale))

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        dtype = outputs[0].dtype
        is_tabled = dtype == np.int8 and outputs[0].numel >= LEAST_TABLED
        factors = _factors(self._scales) if is_tabled else None
        if factors is not None:
            return self._tabled_call((*inputs, *outputs), factors)
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

    def _tabled_call(
        self, tensors: Tensors, factors: npt.NDArray[np.int32]
    ) -> Sequence[KernelCall]:
        arguments = DivTabledArguments(
            PairOperands.of(self.loops, tensors),
            lhs_step=self.loops.inner[0],
            rhs_step=self.loops.inner[1],
            factors=Packed(factors.astype("<i4").tobytes(), 4),
            lhs_zero_point=self.lhs_zero_point,
            zero_point=self.zero_point,
        )
        return [KernelCall.of("div_tabled_s8", arguments, microkernel=DIV_TABLED)]


def _quotients(scales: _Scales, lhs: Array, rhs: Array) -> Array:
    lhs_zero_point, rhs_zero_point, zero_point, scale = scales
    over = (lhs.astype(np.int32) - lhs_zero_point).astype(np.float32)
    under = (rhs.astype(np.int32) - rhs_zero_point).astype(np.float32)
    quotient = np.zeros(np.broadcast_shapes(over.shape, under.shape), np.float32)
    np.divide(over, under, out=quotient, where=under != 0)
    with np.errstate(over="ignore"):
        steps = np.clip(np.rint(quotient * np.float32(scale)), -(2.0**24), 2.0**24)
    limits = np.iinfo(lhs.dtype)
    result: Array = np.clip(steps.astype(np.int32) + zero_point, limits.min, limits.max)
    return result.astype(lhs.dtype)


@lru_cache
def _factors(scales: _Scales) -> npt.NDArray[np.int32] | None:
    """A factor for each divisor, if these give the same int8 results."""
    lhs_zero_point, rhs_zero_point, zero_point, scale = scales
    every = np.arange(256).astype(np.int8)
    dividends = every.astype(np.int64) - lhs_zero_point
    if np.any(np.abs(dividends) > MOST_DIVIDEND):
        return None
    divisors = every.astype(np.int64) - rhs_zero_point
    slopes = np.zeros(len(every))
    np.divide(scale, divisors, out=slopes, where=divisors != 0)
    results = _quotients(scales, every, every[:, None]).astype(np.int64)
    return divisor_factors(results, dividends, zero_point, slopes)


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
