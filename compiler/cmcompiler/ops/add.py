"""Elementwise sum of two quantised tensors: cortex_m::quantized_add."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import ONE_ROUNDING, Array, KernelCall, Packed, Tensors
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.affine import EVERY, Affine, find_affine
from cmcompiler.ops.support.elementwise import Pair, PairArguments, align_pair, scale_words
from cmcompiler.ops.support.parameters import (
    Rescale,
    read_operand_zero_point,
    read_range,
    read_rescale,
)
from cmcompiler.ops.support.requantize import Range, RangedOp, wrap32

LEFT_SHIFT = 20
"""Headroom that CMSIS-NN gives int8 operands before they are rescaled to a common scale."""

SHORT_LEFT_SHIFT = 15
"""Headroom of int16 operands before they are rescaled."""

ADD = Microkernel("add_s8")
ADD_AFFINE = Microkernel("add_affine_s8", dsp=True, mve=True)
ADD16 = Microkernel("add_s16", dsp=True, mve=True)
ADD_TABLED = Microkernel("add_tabled_s8", mve=True)

LEAST_TABLED = {Isa.SCALAR: 256, Isa.DSP: 256, Isa.MVE: 64}
"""Elements for which two tables of a KiB each are worth it."""


@dataclass(frozen=True)
class AddArguments(PairArguments):
    """Sums of two int8 elements, each rescaled."""

    c_name = "cm_add_s8"

    lhs_zero_point: Int32
    lhs_multiplier: Int32
    lhs_shift: Int32
    rhs_zero_point: Int32
    rhs_multiplier: Int32
    rhs_shift: Int32
    zero_point: Int32
    multiplier: Int32
    shift: Int32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class AddAffineArguments(PairArguments):
    """Sums for which one multiplication per operand gives the same results."""

    c_name = "cm_add_affine_s8"

    lhs_factor: Int32
    rhs_factor: Int32
    offset: Int32
    shift: Int32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class AddArguments16(PairArguments):
    """Sums or differences of two int16 elements, each rescaled by a multiplier of any sign."""

    c_name = "cm_add_s16"

    lhs_multiplier: Int32
    lhs_shift: Int32
    rhs_multiplier: Int32
    rhs_shift: Int32
    multiplier: Int32
    shift: Int32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class AddTabledArguments(PairArguments):
    """Sums of two int8 elements, each rescaled by a table."""

    c_name = "cm_add_tabled_s8"

    lhs_table: Annotated[Place, "of 256 int32, by the unsigned byte"]
    rhs_table: Place
    zero_point: Int32
    multiplier: Int32
    shift: Annotated[Int32, "-31 to -1"]
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class Add(RangedOp, Pair):
    """clamp(output.apply(scaled lhs + scaled rhs)).

    Arithmetic: CMSIS-NN's arm_elementwise_add_s8, with the operands widened by LEFT_SHIFT before
    they are rescaled; int16 ones by SHORT_LEFT_SHIFT. A negative multiplier makes it a difference.
    """

    label = "add"

    lhs: Rescale
    rhs: Rescale
    output: Rescale
    range: Range

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        """Both operands are rounded, and their sum before it is shifted."""
        return ONE_ROUNDING + 2.0 ** (self.output.shift + 1)

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return self.error_steps

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        lhs, rhs = self.broadcast(inputs)
        result = sums(lhs, rhs, (self.lhs, self.rhs, self.output), self.range)
        return (result.reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        tensors, limits = (*inputs, *outputs), self.range
        if limits.element == np.int16:
            return self._short_call(tensors, isa)
        affine = _affine(self.lhs, self.rhs, self.output, limits)
        if affine is None and self.output.shift < 0 and outputs[0].numel >= LEAST_TABLED[isa]:
            return self._tabled_call(tensors)
        if affine is None:
            fields = ("zero_point", "multiplier", "shift")
            scales = scale_words(self.lhs, self.rhs, self.output, *fields)
            ends = {"minimum": limits.minimum, "maximum": limits.maximum}
            return self.call(AddArguments, tensors, ADD, joins=False, **scales, **ends)
        return self.call(
            AddAffineArguments,
            tensors,
            ADD_AFFINE,
            joins=True,
            lhs_factor=affine.lhs_factor,
            rhs_factor=affine.rhs_factor,
            offset=affine.offset,
            shift=affine.shift,
            minimum=limits.minimum,
            maximum=limits.maximum,
        )

    def _short_call(self, tensors: Tensors, isa: Isa) -> Sequence[KernelCall]:
        """The sum of int16 operands."""
        calls = self.call(
            AddArguments16,
            tensors,
            ADD16,
            joins=False,
            **scale_words(self.lhs, self.rhs, self.output, "multiplier", "shift"),
            minimum=self.range.minimum,
            maximum=self.range.maximum,
        )
        sides = (self.lhs, self.rhs), (self.rhs, self.lhs)
        if isa is Isa.MVE or any(_has_short_sum(*each, self.output) for each in sides):
            return calls
        return [replace(call, family=f"{ADD16.name}_general") for call in calls]

    def _tabled_call(self, tensors: Tensors) -> Sequence[KernelCall]:
        lhs, rhs = (Packed(_table(scale), 4) for scale in (self.lhs, self.rhs))
        return self.call(
            AddTabledArguments,
            tensors,
            ADD_TABLED,
            joins=True,
            lhs_table=lhs,
            rhs_table=rhs,
            zero_point=self.output.zero_point,
            multiplier=self.output.multiplier,
            shift=self.output.shift,
            minimum=self.range.minimum,
            maximum=self.range.maximum,
        )


def sums(
    lhs: Array,
    rhs: Array,
    scales: tuple[Rescale, Rescale, Rescale],
    limits: Range,
) -> npt.NDArray[Any]:
    """Sums of broadcast operands; scales of both and of the output."""
    if limits.element == np.int16:
        wide = [_widened_short(*each) for each in zip(scales, (lhs, rhs), strict=False)]
        return limits.clamp(scales[2].apply(wrap32(wide[0] + wide[1])))
    total = wrap32(_widened(scales[0], lhs).astype(np.int64) + _widened(scales[1], rhs))
    return limits.clamp(scales[2].apply(total))


def _halves(scale: Rescale) -> bool:
    return scale.shift == 0 and abs(scale.multiplier) == 1 << 30


def _has_short_sum(larger: Rescale, smaller: Rescale, output: Rescale) -> bool:
    """Whether cm_short_sum_of() of cmrt/short_sum.h takes such scales, as those of exports are.

    Others cost up to four times as much.
    """
    right = 1 if _halves(smaller) else -smaller.shift
    signs = larger.multiplier > 0 or smaller.multiplier >= 0
    return _halves(larger) and signs and 1 <= right <= 30 and 2 <= -output.shift <= 30


@lru_cache
def _affine(lhs: Rescale, rhs: Rescale, output: Rescale, limits: Range) -> Affine | None:
    """The sum as one multiplication per operand."""
    table = sums(EVERY[:, None], EVERY, (lhs, rhs, output), limits)
    gain = math.ldexp(output.factor, LEFT_SHIFT)
    return find_affine(table, lhs.factor * gain, rhs.factor * gain, limits)


def _table(scale: Rescale) -> bytes:
    """The result for each int8 number, by its byte."""
    return _widened(scale, np.arange(256).astype(np.int8)).astype("<i4").tobytes()


def _widened(scale: Rescale, x: Array) -> npt.NDArray[np.int32]:
    return scale.scale((x.astype(np.int32) - scale.zero_point) << LEFT_SHIFT)


def _widened_short(scale: Rescale, x: Array) -> npt.NDArray[np.int64]:
    """A negative multiplier gives the negative of what its magnitude does."""
    magnitude = replace(scale, multiplier=abs(scale.multiplier))
    scaled = magnitude.scale(x.astype(np.int32) << SHORT_LEFT_SHIFT).astype(np.int64)
    return -scaled if scale.multiplier < 0 else scaled


SCHEMA = (
    "(Tensor self, int self_zero_point, int self_multiplier, "
    "int self_shift, Tensor other, int other_zero_point, int other_multiplier, int other_shift, "
    "int output_zero_point, int output_multiplier, int output_shift, int activation_min, "
    "int activation_max, *, Tensor(a!) out)"
)


@program_op(f"cortex_m::quantized_add.out{SCHEMA}", f"cmbuild::quantized_add.out{SCHEMA}")
def read(call: Call) -> None:
    output = call.output("out")
    operands = [call.tensor(name, dtype=np.int8) for name in ("self", "other")]
    scales = [read_rescale(call, name, read_operand_zero_point) for name in ("self", "other")]
    loops, tensors, (lhs, rhs) = align_pair(call, operands, output)
    scale, limits = read_rescale(call, "output"), read_range(call)
    op = Add(loops, output.tensor.shape, scales[lhs], scales[rhs], scale, limits)
    call.emit(op, tensors, [output.tensor])
