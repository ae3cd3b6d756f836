"""Quantisation arguments of int8 operators, held to what kernels can take."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ir.op import Words
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.support.requantize import LONGEST_SHIFT, Range, requantize, wrap32
from cmcompiler.ops.support.requantize16 import INT16

INT8 = Range(-128, 127)
INT32_MAX = (1 << 31) - 1


FARTHEST = (1 << 15) - 256
"""Operands of a narrow range far from zero have zero points outside of int8; kernels take those
that leave x - zero_point in 16 bits."""


def read_same_type(call: Call, *, rank: int | None = None) -> tuple[Operand, Operand, Range]:
    """The tensors `input` and `out` of int8 or both of int16, and all numbers of the type."""
    source = call.tensor("input", rank=rank)
    if source.dtype not in (np.int8, np.int16):
        call.unsupported(f"input is {source.dtype.name}")
    output = call.output("out", dtype=source.dtype)
    return source, output, INT16 if source.dtype == np.int16 else INT8


def read_zero_point(call: Call, name: str) -> int:
    return call.integer(name, INT8.minimum, INT8.maximum)


def read_operand_zero_point(call: Call, name: str) -> int:
    return call.integer(name, -FARTHEST, FARTHEST)


@dataclass(frozen=True, slots=True)
class Rescale:
    """Factor multiplier · 2^(shift - 31), and the zero point of the quantised side.

    The multiplier may be negative.
    """

    zero_point: int
    multiplier: int
    shift: int

    @property
    def factor(self) -> float:
        return math.ldexp(self.multiplier, self.shift - 31)

    def arguments(self, prefix: str = "") -> Words:
        """As fields of a kernel's argument struct."""
        fields = ("zero_point", "multiplier", "shift")
        return [(f"{prefix}{field}", getattr(self, field)) for field in fields]

    def scale(self, x: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """x times the factor, as CMSIS-NN rounds it."""
        return requantize(x, self.multiplier, self.shift)

    def apply(self, x: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """x times the factor, plus the zero point, in 32 bits."""
        return wrap32(self.scale(x).astype(np.int64) + self.zero_point)


def read_rescale(
    call: Call, name: str, read: Callable[[Call, str], int] = read_zero_point
) -> Rescale:
    """From the arguments <name>_zero_point, <name>_multiplier and <name>_shift.

    A shift below -31 makes every product 0 and becomes a multiplier of 0.
    """
    zero_point = read(call, f"{name}_zero_point")
    multiplier = call.integer(f"{name}_multiplier", -INT32_MAX, INT32_MAX)
    shift = call.integer(f"{name}_shift", None, LONGEST_SHIFT)
    return Rescale(zero_point, *((multiplier, shift) if shift >= -LONGEST_SHIFT else (0, 0)))


def read_range(call: Call) -> Range:
    low = call.integer("activation_min", INT8.minimum, INT8.maximum)
    return Range(low, call.integer("activation_max", low, INT8.maximum))


def read_scale(call: Call, name: str) -> np.float32:
    """A positive float32, so far from its limits that no subnormal number comes of it.

    MVE flushes those to zero, other cores do not.
    """
    scale = call.number(name)
    if not math.isfinite(scale) or not 2.0**-100 <= scale <= 2.0**100:
        call.unsupported(f"{name} {scale}")
    return np.float32(scale)
