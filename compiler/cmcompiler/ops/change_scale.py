"""Quantised numbers of one scale in another, in integers: dequantize and quantize as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, isfinite
from typing import Annotated, Any

import numpy as np

from cmcompiler.ir.channels import ChannelRule
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, RowCall, Tensors
from cmcompiler.ir.rows import element_rows
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.quantize import Quantize
from cmcompiler.ops.support.element_channels import function_rule

MULTIPLIER_BITS = 31
LEAST_SHIFT, MOST_SHIFT = 18, 46
"""With a number of 17 bits the product has 48, and what is left of it no more than 30."""

WIDE = (np.int32, np.int64)
"""Types whose numbers are cut to those of NARROW first."""

NARROW = np.dtype(np.int16)


@dataclass(frozen=True)
class ChangeScaleArguments(Arguments):
    """Quantised elements with another scale or type."""

    c_name = "cm_change_scale"

    input: Place
    output: Place
    count: Int32
    before: Int32
    multiplier: Int32
    shift: Int32
    after: Int32
    minimum: Int32
    maximum: Int32
    source: Annotated[Int32, "bytes of an element; 0 for unsigned ones of one byte"]
    to: Int32


@dataclass(frozen=True)
class ChangeScale(Op):
    """clamp(((x - before) · multiplier + 2^(shift - 1)) >> shift + after) of int8, uint8 or int16,
    or of int32 and int64 within the bounds of int16.

    Attributes:
        dtype: of the output, int8 or int16.
        before, after: zero points.
        shift: from LEAST_SHIFT to MOST_SHIFT.
    """

    label = "requantize"
    error_steps = fine_error_steps = 0.0
    in_place = frozenset({0})

    dtype: np.dtype[Any]
    before: int
    multiplier: int
    shift: int
    after: int
    minimum: int
    maximum: int

    @classmethod
    def equal_to(
        cls, real: Op, zero_point: int, source: np.dtype[Any], to: Quantize
    ) -> ChangeScale | None:
        """The op that equals a quantize of `real`, which turns each integer of a type, less its
        zero point, into a multiple of itself; None if none does.

        Numbers beyond int16 are cut where the ends of int16 are at the result's bounds, too.
        """
        limits = np.iinfo(NARROW if source in WIDE else source)
        every = np.arange(limits.min, limits.max + 1).astype(source)
        with np.errstate(all="ignore"):
            (reals,) = real.reference(every)
            (expected,) = to.reference(reals)
            farthest = np.argmax(np.abs(reals))
            ratio = float(reals[farthest]) * float(to.inverse_scale)
        ratio /= (int(every[farthest]) - zero_point) or 1
        ends = (int(expected[0]), int(expected[-1]))
        if not isfinite(ratio) or (source in WIDE and ends != (to.minimum, to.maximum)):
            return None
        shift = min(MULTIPLIER_BITS - frexp(ratio)[1], MOST_SHIFT)
        multiplier = round(ratio * 2.0**shift)
        if shift < LEAST_SHIFT or multiplier >= 1 << MULTIPLIER_BITS:
            return None
        op = cls(
            *(to.dtype, zero_point, multiplier, shift),
            *(to.zero_point, to.minimum, to.maximum),
        )
        return op if np.array_equal(op.reference(every)[0], expected) else None

    @property
    def turned(self) -> ChangeScale:
        return self

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        return function_rule(self, inputs[0], outputs[0])

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        given = inputs[0]
        if given.dtype in WIDE:
            given = np.clip(given, np.iinfo(NARROW).min, np.iinfo(NARROW).max)
        steps = (given.astype(np.int64) - self.before) * self.multiplier
        steps = ((steps + (1 << (self.shift - 1))) >> self.shift) + self.after
        return (np.clip(steps, self.minimum, self.maximum).astype(self.dtype),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        source = inputs[0].dtype
        arguments = ChangeScaleArguments(
            input=Address(inputs[0]),
            output=Address(outputs[0]),
            count=outputs[0].numel,
            before=self.before,
            multiplier=self.multiplier,
            shift=self.shift,
            after=self.after,
            minimum=self.minimum,
            maximum=self.maximum,
            source=source.itemsize if source.kind == "i" else 0,
            to=self.dtype.itemsize,
        )
        return [KernelCall.of("change_scale", arguments)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return element_rows(call, inputs[0], outputs[0])


@dataclass(frozen=True)
class ChangeBytes(Activation):
    """A quantize of the numbers that single bytes stand for, for each byte."""

    error_steps = fine_error_steps = 0.0

    name: str = ChangeScale.label
