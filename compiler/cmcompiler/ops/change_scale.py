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
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.quantize import Quantize
from cmcompiler.ops.support.element_channels import function_rule

CHANGE_SCALE = Microkernel("change_scale", mve=True)

MULTIPLIER_BITS = 31
FLOAT_BITS = 22
"""From the product of two rounded floats on, these are the bits that the ratio of scales has."""

LEAST_SHIFT, MOST_SHIFT = 18, 46
SUM_BITS = 47
"""Of sums of products, and of constants; no more than 29 are left once they are shifted."""

_LOWER_BITS = 16
"""Bits of multipliers and constants whose products are computed apart: all fit 32 bits then."""

_ANY = 1 << 61
"""Beyond all sums of numbers that are not at the ends."""

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
    upper: Annotated[Int32, "the multiplier without its lowest 16 bits"]
    lower: Annotated[Int32, "these bits"]
    upper_constant: Annotated[Int32, "the constant without its lowest 16 bits"]
    lower_constant: Annotated[Int32, "these bits"]
    shift: Annotated[Int32, "of the sum without its lowest 16 bits"]
    after: Int32
    minimum: Int32
    maximum: Int32
    source: Annotated[Int32, "bytes of an element; 0 for unsigned ones of one byte"]
    to: Int32


@dataclass(frozen=True, slots=True)
class _Steps:
    """Results that sums of integers times a multiplier and a constant are to have, once shifted.

    Attributes:
        given: the integers.
        least, most: sums that give their results.
    """

    given: Array
    least: Array
    most: Array

    @classmethod
    def of(cls, given: Array, results: Array, ends: tuple[int, int], shift: int) -> _Steps:
        """
        Args:
            ends: results that all sums beyond them have, too.
        """
        steps = results.astype(np.int64)
        least = np.where(steps > ends[0], steps << shift, -_ANY)
        most = np.where(steps < ends[1], ((steps + 1) << shift) - 1, _ANY)
        return cls(given.astype(np.int64), least, most)

    def fit(self, multiplier: int, constant: int, largest: int) -> tuple[int, int] | None:
        """A multiplier and a constant that give all results, near to given ones; None if there
        are none: floats round their products, to either side.
        """
        spare = (multiplier >> FLOAT_BITS) + 1
        low, high = multiplier - spare, min(multiplier + spare, largest)
        while low <= high:
            least, most = (each - self.given * multiplier for each in (self.least, self.most))
            at_least, at_most = int(np.argmax(least)), int(np.argmin(most))
            if least[at_least] <= most[at_most]:
                return multiplier, min(max(constant, int(least[at_least])), int(most[at_most]))
            if self.given[at_least] > self.given[at_most]:
                low = multiplier + 1
            else:
                high = multiplier - 1
            multiplier = (low + high) // 2
        return None


@dataclass(frozen=True)
class ChangeScale(Op):
    """clamp((x · multiplier + constant >> shift) + after) of int8, uint8 or int16, or of int32 and
    int64 within the bounds of int16.

    Attributes:
        dtype: of the output, int8 or int16.
        constant: half a step, less the input's zero point times the multiplier; or near to it.
        shift: from LEAST_SHIFT to MOST_SHIFT.
        after: zero point of the output.
    """

    label = "requantize"
    error_steps = fine_error_steps = 0.0
    in_place = frozenset({0})

    dtype: np.dtype[Any]
    multiplier: int
    constant: int
    shift: int
    after: int
    minimum: int
    maximum: int

    @classmethod
    def of(
        cls, real: Op, zero_point: int, source: np.dtype[Any], to: Quantize
    ) -> ChangeScale | None:
        """A quantize of `real`, which turns each integer of a type, less its zero point, into a
        multiple of itself.

        It equals the two float operations if some multiplier and constant do. Else the multiplier
        is the ratio of the scales and the constant half a step; None where the floats define the
        result: of wide integers, and of TensorFlow Lite. Numbers beyond int16 are cut where the
        ends of int16 are at the result's bounds, too.
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
        reach = max(zero_point - limits.min, limits.max - zero_point)
        bits = min(MULTIPLIER_BITS, SUM_BITS - 1 - (reach - 1).bit_length())
        shift = min(bits - frexp(ratio)[1], MOST_SHIFT)
        multiplier, largest = round(ratio * 2.0**shift), (1 << bits) - 1
        if shift < LEAST_SHIFT or multiplier > largest:
            return None
        bounds = to.minimum - to.zero_point, to.maximum - to.zero_point
        steps = _Steps.of(every, expected.astype(np.int64) - to.zero_point, bounds, shift)
        ratio_and_half = multiplier, (1 << (shift - 1)) - zero_point * multiplier
        fit = steps.fit(*ratio_and_half, largest)
        if fit is None and source not in WIDE and not to.is_divided:
            fit = ratio_and_half
        if fit is None or fit[1].bit_length() > SUM_BITS:
            return None
        return cls(to.dtype, *fit, shift, to.zero_point, to.minimum, to.maximum)

    @property
    def turned(self) -> ChangeScale:
        return self

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        return function_rule(self, inputs[0], outputs[0])

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        given = inputs[0]
        if given.dtype in WIDE:
            given = np.clip(given, np.iinfo(NARROW).min, np.iinfo(NARROW).max)
        steps = (given.astype(np.int64) * self.multiplier + self.constant) >> self.shift
        return (np.clip(steps + self.after, self.minimum, self.maximum).astype(self.dtype),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        source = inputs[0].dtype
        upper, lower = divmod(self.multiplier, 1 << _LOWER_BITS)
        upper_constant, lower_constant = divmod(self.constant, 1 << _LOWER_BITS)
        arguments = ChangeScaleArguments(
            input=Address(inputs[0]),
            output=Address(outputs[0]),
            count=outputs[0].numel,
            upper=upper,
            lower=lower,
            upper_constant=upper_constant,
            lower_constant=lower_constant,
            shift=self.shift - _LOWER_BITS,
            after=self.after,
            minimum=self.minimum,
            maximum=self.maximum,
            source=source.itemsize if source.kind == "i" else 0,
            to=self.dtype.itemsize,
        )
        return [KernelCall.of("change_scale", arguments, microkernel=CHANGE_SCALE)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return element_rows(call, inputs[0], outputs[0])


@dataclass(frozen=True)
class ChangeBytes(Activation):
    """A quantize of the numbers that single bytes stand for, for each byte."""

    error_steps = fine_error_steps = 0.0

    name: str = ChangeScale.label
