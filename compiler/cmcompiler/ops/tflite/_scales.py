"""Scales, zero points and fused activations of a `.tflite` as integer arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.decode.registry import Reader, program_op
from cmcompiler.errors import WrongType
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.support.parameters import INT8, Rescale
from cmcompiler.ops.support.requantize import Range, Range16, Requantize
from cmcompiler.ops.support.requantize16 import INT16, Requantize16
from cmcompiler.tflite.kinds import FULL_INTEGER
from cmcompiler.tflite.operators import FORMS, PREFIX

FAR = 2.0**31
"""Steps that no int8 tensor has."""


class FusedActivation(IntEnum):
    """Fused activations, by their codes in the file."""

    NONE = 0
    RELU = 1
    RELU_N1_TO_1 = 2
    RELU6 = 3


BOUNDS = {
    "RELU": (0.0, math.inf),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
    "RELU_0_TO_1": (0.0, 1.0),
}
"""Ends of operators that clamp, and of fused activations."""


FLOAT_READERS: dict[str, Reader] = {}
"""Readers of the operators that integers have, too, for float32; by their names."""


def float_op(*names: str) -> Callable[[Reader], Reader]:
    """Registers a reader for float32 operands of operators that tflite_op registers."""

    def register(reader: Reader) -> Reader:
        FLOAT_READERS.update(dict.fromkeys(names, reader))
        return reader

    return register


def tflite_op(*names: str, hint: str = FULL_INTEGER) -> Callable[[Reader], Reader]:
    """Registers a reader for operators of TensorFlow Lite.

    Args:
        hint: what to do about other types of numbers; by default how to convert a model.
    """
    register = program_op(*(FORMS[name].declaration(name) for name in names))

    def hinting(reader: Reader) -> Reader:
        @wraps(reader)
        def read(call: Call) -> None:
            name = call.operator.removeprefix(PREFIX)
            of_floats = FLOAT_READERS.get(name)
            is_float = of_floats and call.element(FORMS[name].inputs[0].name) == np.float32
            try:
                (of_floats if of_floats and is_float else reader)(call)
            except WrongType as error:
                raise WrongType(error.message, error.hint or hint) from error

        register(read)
        return reader

    return hinting


@dataclass(frozen=True, slots=True)
class Scale:
    """real = scale · (stored - zero_point); the scale is a float32."""

    scale: float
    zero_point: int

    @property
    def single(self) -> np.float32:
        return np.float32(self.scale)

    def stored(self, real: float) -> int:
        """The integer nearest to a real number, divided in float32 as TFLite does."""
        with np.errstate(all="ignore"):
            steps = min(max(float(np.float32(real) / self.single), -FAR), FAR)
        return self.zero_point + int(math.copysign(math.floor(abs(steps) + 0.5), steps))


def read_scale(call: Call, name: str, *, may_vanish: bool = False) -> Scale:
    """The one scale of an int8 or int16 tensor.

    Args:
        may_vanish: it may be 0, as converters write it for a tensor that is always 0.

    Raises:
        InvalidProgram: it has none, or one that is not positive.
        Unsupported: it has one for each channel, a zero point outside int8, or one of int16 numbers
            that is not 0.
    """
    stored = call.quantization(name)
    if len(stored.scales) != 1:
        call.unsupported(f"{name} has {len(stored.scales)} scales, not one")
    (scale,), (zero_point,) = stored.scales, stored.zero_points
    if not (scale > 0 or (may_vanish and scale == 0)):
        call.invalid(f"{name} has scale {scale:g}")
    is_short = call.element(name) == np.int16
    if zero_point != 0 if is_short else not -128 <= zero_point <= 127:
        call.unsupported(f"{name} has zero point {zero_point}")
    return Scale(scale, zero_point)


def read_channel_scales(call: Call, name: str, channels: int, axis: int) -> tuple[float, ...]:
    """A scale for each channel of weights, whose zero points are 0."""
    stored = call.quantization(name)
    if any(stored.zero_points):
        call.unsupported(f"{name} has zero points other than 0")
    if len(stored.scales) == 1:
        return stored.scales * channels
    if len(stored.scales) != channels or stored.axis != axis:
        call.unsupported(
            f"{name} has {len(stored.scales)} scales along dimension {stored.axis}, "
            f"not {channels} along {axis}"
        )
    return stored.scales


def rounded(x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """To the nearest integers, halves away from zero."""
    wide = x.astype(np.float64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide)


def quantize_multiplier(factor: float) -> tuple[int, int]:
    """A factor ≥ 0 as multiplier · 2^(shift - 31), as TFLite's QuantizeMultiplier rounds it."""
    if factor == 0:
        return 0, 0
    if not math.isfinite(factor):
        return (1 << 31) - 1, 30
    mantissa, shift = math.frexp(factor)
    multiplier = math.floor(math.ldexp(mantissa, 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    if shift < -31:
        return 0, 0
    if shift > 30:  # TFLite saturates there
        return (1 << 31) - 1, 30
    return multiplier, shift


def product_factor(source: Scale, weight: float, result: float) -> float:
    """The scale of products in steps of a result; the product of scales is a float32."""
    return float(source.single * np.float32(weight)) / result


def read_same_scale(call: Call, first: str, second: str) -> Scale:
    """The scale that two int8 tensors share; refuses others."""
    scale = read_scale(call, first)
    if read_scale(call, second) != scale:
        call.unsupported(f"{first} and {second} have different scales")
    return scale


def clamped(call: Call, output: Tensor, limits: Range) -> Tensor:
    """A tensor to write, whose values a table clamps to those of the output."""
    if limits.is_whole:
        return output
    table = limits.clamp(EVERY).tobytes()
    unbounded = call.temporary(output.dtype, output.shape)
    call.emit_last(Activation(table, name="clamp"), unbounded, output)
    return unbounded


def ratio(first: Scale, second: Scale) -> float:
    """The quotient of two scales in float32.

    Outputs that Micro keeps for its int16 LEAKY_RELU have it so; PyPI's tflite-micro divides in
    double precision, and one result in some thousands is another.
    """
    with np.errstate(all="ignore"):
        return float(first.single / second.single)


def rescale(call: Call, zero_point: int, factor: float) -> Rescale:
    """A factor and the zero point of its quantised side."""
    return Rescale(zero_point, *_finite(call, factor))


def read_activations(call: Call) -> tuple[Operand, Operand]:
    """The input and the output, which are both int8 or both int16."""
    source, output = call.tensor("input"), call.output("out")
    if source.dtype not in (np.int8, np.int16):
        call.wrong_type(f"input is {source.dtype.name}, not int8 or int16")
    if output.dtype != source.dtype:
        call.wrong_type(f"{source.dtype.name} to {output.dtype.name}")
    return source, output


def read_activation(call: Call) -> tuple[float, float] | None:
    """The bounds of the fused activation; None without one."""
    code = call.integer("activation")
    if code == FusedActivation.NONE:
        return None
    if code not in tuple(FusedActivation):
        call.unsupported(f"fused activation {code}")
    return BOUNDS[FusedActivation(code).name]


def read_activation_range(call: Call, output: Scale) -> Range:
    """The bounds of the fused activation in steps of the output, of its type."""
    bounds, whole = read_activation(call), element_range(call)
    if bounds is None:
        return whole
    low, high = bounds
    least = whole.minimum if math.isinf(low) else output.stored(low)
    most = whole.maximum if math.isinf(high) else output.stored(high)
    return replace(whole, minimum=max(whole.minimum, least), maximum=min(whole.maximum, most))


def element_range(call: Call) -> Range:
    """All numbers of the output's type."""
    return INT16 if call.element("out") == np.int16 else INT8


def has_long_sums(call: Call) -> bool:
    """Whether the sums of a layer with int16 activations have 64 bits: its bias has not 32."""
    return call.is_none("bias") or call.element("bias") != np.int32


def read_requantize(
    call: Call, factors: Sequence[float], output: Scale, limits: Range, *, is_long: bool = True
) -> Requantize:
    """From sums in units of each channel's factor to the output.

    Args:
        is_long: sums that become int16 have 64 bits.
    """
    pairs = [_finite(call, factor) for factor in factors]
    try:
        if isinstance(limits, Range16):
            multipliers, shifts = zip(*pairs, strict=True)
            return Requantize16.of(multipliers, shifts, limits, is_long)
        return Requantize.checked(
            [multiplier for multiplier, _ in pairs],
            [shift for _, shift in pairs],
            len(pairs),
            zero_point=output.zero_point,
            minimum=limits.minimum,
            maximum=limits.maximum,
        )
    except ValueError as error:
        call.unsupported(str(error))


def _finite(call: Call, factor: float) -> tuple[int, int]:
    if not math.isfinite(factor):
        call.invalid(f"its scales make the factor {factor}")
    return quantize_multiplier(factor)
