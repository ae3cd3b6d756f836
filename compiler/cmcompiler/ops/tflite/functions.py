"""Functions of one int8 number, by table, and of one int16 number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.short_curve import ShortCurve
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.support.exponential import (
    complement_over_one_plus,
    exp_of_negative,
    reciprocal_of_one_plus,
    shift_right,
)
from cmcompiler.ops.support.inverse_root import inverse_root
from cmcompiler.ops.support.parameters import Rescale
from cmcompiler.ops.support.requantize import Range, Range16, requantize
from cmcompiler.ops.support.requantize16 import INT16
from cmcompiler.ops.tflite._scales import (
    BOUNDS,
    FAR,
    Scale,
    quantize_multiplier,
    ratio,
    read_scale,
    rescale,
    rounded,
    tflite_op,
)
from cmcompiler.ops.tflite._short_functions import emit_short_real
from cmcompiler.ops.two_slopes import TwoSlopes

Numbers = npt.NDArray[np.int64]

LOGISTIC_SCALE = Scale(1 / 256, -128)
TANH_SCALE = Scale(1 / 128, 0)

INT8 = Range(-128, 127)

_ARGUMENT_BITS = 27
"""Fractional bits of the argument of tanh and logistic: four integer bits."""


def _emit(call: Call, compute: Callable[[Numbers], Numbers]) -> None:
    """Emits a table of a function of the stored number, clamped to int8."""
    source, output = call.tensor("input", dtype=np.int8), call.output("out", dtype=np.int8)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    table = INT8.clamp(compute(EVERY.astype(np.int64)))
    name = call.operator.partition("::")[2].lower()
    call.emit(Activation(table.tobytes(), name=name), [source.tensor], [output.tensor])


def _emit_slopes(
    call: Call, below: Rescale, above: Rescale, limits: Range, below_sign: int = 1
) -> None:
    """Emits a function of int16 numbers that is straight on each side of 0."""
    source, output = call.tensor("input", dtype=np.int16), call.output("out", dtype=np.int16)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    ends, name = (limits.minimum, limits.maximum), call.operator.partition("::")[2].lower()
    op = TwoSlopes(output.dtype, 0, 0, below, above, *ends, below_sign, name)
    call.emit(op, [source.tensor], [output.tensor])


@tflite_op(*BOUNDS)
def read_relu(call: Call) -> None:
    low, high = BOUNDS[call.operator.partition("::")[2]]
    source, result = read_scale(call, "input"), read_scale(call, "out")
    change = rescale(call, result.zero_point, ratio(source, result))
    least = max(-128, result.stored(low))
    most = 127 if math.isinf(high) else min(127, result.stored(high))

    def compute(x: Numbers) -> Numbers:
        steps = change.apply((x - source.zero_point).astype(np.int32))
        return np.clip(steps.astype(np.int64), least, most)

    if call.element("input") == np.int16:
        limits = Range16(
            max(INT16.minimum, result.stored(low)),
            INT16.maximum if math.isinf(high) else min(INT16.maximum, result.stored(high)),
        )
        _emit_slopes(call, change, change, limits)
        return
    _emit(call, compute)


@tflite_op("LEAKY_RELU")
def read_leaky_relu(call: Call) -> None:
    source, result = read_scale(call, "input"), read_scale(call, "out")
    alpha = np.float32(call.number("alpha"))
    with np.errstate(all="ignore"):
        slope = float(source.single * alpha / result.single)
    above = rescale(call, 0, ratio(source, result))
    below = rescale(call, 0, abs(slope))
    if call.element("input") == np.int16:
        signed = replace(below, multiplier=int(math.copysign(1, slope)) * below.multiplier)
        _emit_slopes(call, signed, above, INT16)
        return

    def compute(x: Numbers) -> Numbers:
        centred = (x - source.zero_point).astype(np.int32)
        scaled = np.where(
            centred >= 0,
            above.scale(centred),
            math.copysign(1, slope) * below.scale(centred).astype(np.int64),
        )
        return scaled.astype(np.int64) + result.zero_point

    _emit(call, compute)


@tflite_op("ABS")
def read_abs(call: Call) -> None:
    source, result = read_scale(call, "input"), read_scale(call, "out")
    change = rescale(call, result.zero_point, ratio(source, result))
    if call.element("input") == np.int16:
        _emit_slopes(call, change, change, INT16, below_sign=-1)
        return

    def compute(x: Numbers) -> Numbers:
        magnitudes = np.abs(x - source.zero_point)
        if source.scale == result.scale:
            shifted: Numbers = magnitudes + result.zero_point
            return shifted
        return change.apply(magnitudes.astype(np.int32)).astype(np.int64)

    _emit(call, compute)


_ROOT_BITS = 20
"""Fractional bits of a reciprocal root."""


@tflite_op("RSQRT")
def read_rsqrt(call: Call) -> None:
    """Zero, and what has no root, gives the largest number."""
    source, result = read_scale(call, "input"), read_scale(call, "out")
    root_scale = float(np.sqrt(source.single) * result.single)
    multiplier, shift = quantize_multiplier(1 / root_scale if root_scale else math.inf)

    def root(x: int) -> int:
        if x <= source.zero_point:
            return 127
        own, exponent = inverse_root(x - source.zero_point)
        value = requantize(1, own, exponent + _ROOT_BITS)
        return int(requantize(value, multiplier, shift - _ROOT_BITS)) + result.zero_point

    _emit(call, lambda x: np.array([root(int(each)) for each in x]))


@tflite_op("SQRT")
def read_sqrt(call: Call) -> None:
    """Whole steps of the root; what has none gives 0."""
    source, result = read_scale(call, "input"), read_scale(call, "out")

    def compute(x: Numbers) -> Numbers:
        reals = source.single * np.maximum(x - source.zero_point, 0).astype(np.float32)
        with np.errstate(all="ignore"):
            steps = np.nan_to_num(np.trunc(np.sqrt(reals) / result.single))
        shifted: Numbers = np.clip(steps + result.zero_point, -FAR, FAR).astype(np.int64)
        return shifted

    _emit(call, compute)


@tflite_op("ELU")
def read_elu(call: Call) -> None:
    source, result = read_scale(call, "input"), read_scale(call, "out")

    def compute(x: Numbers) -> Numbers:
        one = np.float32(1)
        reals = source.single * (x - source.zero_point).astype(np.float32)
        with np.errstate(over="ignore"):
            values = np.where(reals < 0, np.exp(np.minimum(reals, 0)) - one, reals)
        with np.errstate(all="ignore"):
            steps = np.nan_to_num(rounded(values * (one / result.single)))
        return np.clip(steps + result.zero_point, -(1 << 31), 1 << 31).astype(np.int64)

    _emit(call, compute)


_ROOT_HALF = math.sqrt(0.5)


def _gelu(x: float) -> float:
    """In single precision, step by step."""
    single = np.float32(x)
    return float(np.float32(0.5) * single * np.float32(math.erfc(-single * np.float32(_ROOT_HALF))))


def _gelu_by_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(2 / math.sqrt(math.pi) * _ROOT_HALF * (x + 0.044715 * x**3)))


def _exponential(x: float) -> float:
    return math.exp(x) if x < _LARGEST_EXPONENT else math.inf


def _logarithm(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


_LARGEST_EXPONENT = 88.0
"""Limit of exponentials that single precision holds."""


@tflite_op("GELU")
def read_gelu(call: Call) -> None:
    _emit_real(call, _gelu_by_tanh if call.boolean("approximate") else _gelu)


@tflite_op("EXP")
def read_exponential(call: Call) -> None:
    _emit_real(call, _exponential)


@tflite_op("LOG")
def read_logarithm(call: Call) -> None:
    """Zero, and what has no logarithm, gives the smallest number."""
    _emit_real(call, _logarithm)


def _emit_real(call: Call, function: Callable[[float], float]) -> None:
    """Emits a table of the nearest numbers to a real function."""
    if call.element("input") == np.int16:
        emit_short_real(call, function)
        return
    source, result = read_scale(call, "input"), read_scale(call, "out")

    def compute(x: Numbers) -> Numbers:
        reals = source.single * (x - source.zero_point).astype(np.float32)
        values = np.array([function(float(each)) for each in reals], np.float32)
        with np.errstate(all="ignore"):
            steps = rounded(values * (np.float32(1) / result.single)) + result.zero_point
        return np.clip(np.nan_to_num(steps), -(1 << 31), 1 << 31).astype(np.int64)

    _emit(call, compute)


@tflite_op("HARD_SWISH")
def read_hard_swish(call: Call) -> None:
    """In 16 bits: x times a multiplier that rises from 0 to 1 between -3 and 3."""
    source, result = read_scale(call, "input"), read_scale(call, "out")
    fine = np.float32(1 / 128) * source.single
    with np.errstate(all="ignore"):
        output, output_shift = _short(float(fine / result.single))
    gate, gate_shift = _short(float(fine / np.float32(3 / 32768)))
    if output_shift > 0:
        call.unsupported("the output's scale is less than a 128th of the input's")

    def value(x: int) -> int:
        shown = (x - source.zero_point) * 128
        scaled = _high16(shown, output)
        opened = _saturated16(shown << max(gate_shift - 1, 0))
        opened = _high16(opened, gate)
        if gate_shift > 0:
            opened = _saturated16(opened << 1)
        elif gate_shift < 0:
            opened = shift_right(opened, -gate_shift)
        opened = (opened + (1 << 15)) >> 1
        product = opened * scaled
        halved = abs(product) >> 15  # towards zero
        whole = halved if product >= 0 else -halved
        moved = shift_right(whole, -output_shift) if output_shift else whole
        return moved + result.zero_point

    _emit(call, lambda x: np.array([value(int(each)) for each in x]))


def _short(factor: float) -> tuple[int, int]:
    """A factor as multiplier · 2^(shift - 15)."""
    multiplier, shift = quantize_multiplier(factor)
    return min((multiplier + (1 << 15)) >> 16, (1 << 15) - 1), shift


def _high16(a: int, b: int) -> int:
    """a · b · 2^-15 to the nearest integer, halves up, saturated."""
    if a == b == -(1 << 15):
        return (1 << 15) - 1
    magnitude = (abs(a * b) + (1 << 14) - (a * b < 0)) >> 15
    return magnitude if a * b >= 0 else -magnitude


def _saturated16(x: int) -> int:
    return max(-(1 << 15), min((1 << 15) - 1, x))


@tflite_op("LOGISTIC")
def read_logistic(call: Call) -> None:
    if call.element("input") == np.int16:
        _emit_short_curve(call, is_tanh=False)
        return
    call.tensor("input", dtype=np.int8)
    _check_scale(call, LOGISTIC_SCALE)
    _emit_curve(call, _logistic, 8, LOGISTIC_SCALE.zero_point)


@tflite_op("TANH")
def read_tanh(call: Call) -> None:
    if call.element("input") == np.int16:
        _emit_short_curve(call, is_tanh=True)
        return
    call.tensor("input", dtype=np.int8)
    _check_scale(call, TANH_SCALE)
    _emit_curve(call, _tanh, 7, 0)


_SHORT_STEPS = 3.0 * 4096
"""Steps of the table for each unit of the argument of tanh and logistic."""


def _emit_short_curve(call: Call, is_tanh: bool) -> None:
    """Steps of the table are found by a multiplier of 15 bits, or by 3 for a scale of 1/4096."""
    source, output = call.tensor("input", dtype=np.int16), call.output("out", dtype=np.int16)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    if read_scale(call, "out") != Scale(1 / 32768, 0):
        call.unsupported("the output's scale is not 1/32768")
    multiplier, shift = read_scale(call, "input").scale * _SHORT_STEPS, 0
    if multiplier == 3:
        call.emit(ShortCurve(3, 0, is_tanh), [source.tensor], [output.tensor])
        return
    while multiplier <= 32767.0 / 2 and shift <= 30:
        multiplier, shift = 2 * multiplier, shift + 1
    if not 1 <= multiplier <= 32767:
        call.unsupported(f"input has scale {read_scale(call, 'input').scale:g}")
    call.emit(ShortCurve(int(multiplier), shift, is_tanh), [source.tensor], [output.tensor])


def _check_scale(call: Call, expected: Scale) -> None:
    if read_scale(call, "out") != expected:
        call.unsupported(
            f"the output's scale is not 1/{1 / expected.scale:g} with zero point "
            f"{expected.zero_point}"
        )


def _emit_curve(call: Call, curve: Callable[[int], int], bits: int, zero_point: int) -> None:
    """Emits the table of a curve that is flat beyond ±16.

    Args:
        curve: of an argument of _ARGUMENT_BITS, to 31 fractional bits.
        bits: fractional bits of the output.
    """
    source = read_scale(call, "input")
    multiplier, shift = quantize_multiplier(source.scale * (1 << _ARGUMENT_BITS))
    if shift < 0:
        call.unsupported(f"input has scale {source.scale:g}")
    radius = (15 << _ARGUMENT_BITS) >> shift

    def value(x: int) -> int:
        centred = x - source.zero_point
        if centred <= -radius:
            return -128
        if centred >= radius:
            return 127
        scaled = int(requantize(centred, multiplier, shift))
        return shift_right(curve(scaled), 31 - bits) + zero_point

    _emit(call, lambda x: np.array([value(int(each)) for each in x]))


def _logistic(x: int) -> int:
    if x == 0:
        return 1 << 30
    above = reciprocal_of_one_plus(exp_of_negative(-abs(x), _ARGUMENT_BITS))
    return above if x > 0 else (1 << 31) - 1 - above


def _tanh(x: int) -> int:
    """(1 - e) / (1 + e) of e = exp(-2·|x|), with the sign of x."""
    if x == 0:
        return 0
    above = complement_over_one_plus(exp_of_negative(-abs(x), _ARGUMENT_BITS - 1))
    return above if x > 0 else -above
