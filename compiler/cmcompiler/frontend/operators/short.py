"""cmbuild::short_conv2d and its kin for torch: operators with int16 activations, int8 weights.

Constants keep their float numbers until they are lowered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cmcompiler.frontend.expression import evaluate
from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.operators.masked_softmax import empty_rows
from cmcompiler.frontend.operators.masked_softmax import masked_softmax as masked
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import (
    Fixed,
    QuantizedCall,
    Replacement,
    SameAs,
    fixed_point,
    quantized_op,
)
from cmcompiler.frontend.weight_steps import stored_steps
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ops.interpolation import magnitudes
from cmcompiler.ops.short_softmax import LONG_REACH

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]

_BOUNDS = "float? least=None, float? largest=None"
_LAYER = "Tensor x, Tensor weight, Tensor? bias"
LIBRARY.define(
    f"short_conv2d({_LAYER}, int[] stride, int[] padding, int[] dilation, int groups, {_BOUNDS}) "
    "-> Tensor"
)
LIBRARY.define(
    f"short_conv_transpose2d({_LAYER}, int[] stride, int[] padding, int[] dilation, int[] extra, "
    f"{_BOUNDS}) -> Tensor"
)
LIBRARY.define(f"short_linear({_LAYER}, {_BOUNDS}) -> Tensor")
LIBRARY.define(f"short_clamp(Tensor x, float slope, {_BOUNDS}) -> Tensor")
LIBRARY.define("short_function(Tensor x, str expression) -> Tensor")
LIBRARY.define(f"short_add(Tensor x, Tensor y, float alpha, {_BOUNDS}) -> Tensor")
LIBRARY.define("short_mul(Tensor x, Tensor y) -> Tensor")
LIBRARY.define("short_bmm(Tensor x, Tensor y_transposed, float factor=1.0) -> Tensor")
LIBRARY.define("short_mean(Tensor x, int[] dims, bool keepdim) -> Tensor")
LIBRARY.define("short_sum(Tensor x, int[] dims, bool keepdim) -> Tensor")
LIBRARY.define("short_softmax(Tensor x, int dim) -> Tensor")
LIBRARY.define(
    "short_masked_softmax(Tensor x, Tensor mask, int dim, float number, bool is_added) -> Tensor"
)
_WINDOW = "Tensor x, int[] kernel_size, int[] stride, int[] padding"
LIBRARY.define(f"short_avg_pool2d({_WINDOW}, bool ceil_mode) -> Tensor")
LIBRARY.define(f"short_max_pool2d({_WINDOW}, int[] dilation, bool ceil_mode) -> Tensor")

_LOWERED = (
    *("short_conv2d_s16", "short_conv_transpose2d_s16", "short_linear_s16", "short_clamp_s16"),
    *("short_function_s16", "short_bmm_s16", "short_sum_s16", "short_softmax_s16"),
    *("short_avg_pool2d_s16", "short_max_pool2d_s16", "short_add_s16", "short_mul_s16"),
    "short_masked_softmax_s16",
)
declare(LIBRARY, *_LOWERED)

LONG_HEADROOM = 15
"""Left shift of int16 operands of a sum: SHORT_LEFT_SHIFT of ops/add.py."""

_FEW_SHIFTS = 7
"""Bits that a multiplier of 31 can spare: 24 are left, of which results have 16."""

_FINEST_STEP = 2.0**-26
"""The least step of sums, in steps of the result. Those of pruned channels would be so fine that a
bias takes more than 64 bits of them, and no multiplier leads from them to the result."""

_LARGEST_BIAS = 2.0**44
"""In steps of sums. From there on results are the least or the largest, whatever is added, and
kernels multiply sums of up to 2^47."""

Size = Sequence[int]


def _bounded(x: Tensor, least: float | None = None, largest: float | None = None) -> Tensor:
    return x if least is None and largest is None else torch.clamp(x, least, largest)


@float_form(LIBRARY, "short_conv2d")
def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None, *rest: Any) -> Tensor:
    """
    Args:
        rest: stride, padding, dilation, groups, bounds.
    """
    return _bounded(functional.conv2d(x, weight, bias, *rest[:4]), *rest[4:])


@float_form(LIBRARY, "short_conv_transpose2d")
def conv_transpose2d(x: Tensor, weight: Tensor, bias: Tensor | None, *rest: Any) -> Tensor:
    """With the weights of an output channel first.

    Args:
        rest: stride, padding, dilation, further rows and columns at the end, bounds.
    """
    stride, padding, dilation, extra, *bounds = rest
    turned = weight.transpose(0, 1)
    made = functional.conv_transpose2d(x, turned, bias, stride, padding, extra, 1, dilation)
    return _bounded(made, *bounds)


@float_form(LIBRARY, "short_linear")
def linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    least: float | None = None,
    largest: float | None = None,
) -> Tensor:
    return _bounded(functional.linear(x, weight, bias), least, largest)


@float_form(LIBRARY, "short_clamp")
def clamp(
    x: Tensor, slope: float, least: float | None = None, largest: float | None = None
) -> Tensor:
    """With a slope below zero, then within bounds."""
    return _bounded(torch.where(x < 0, slope * x, x), least, largest)


@float_form(LIBRARY, "short_function")
def function(x: Tensor, expression: str) -> Tensor:
    result: Tensor = evaluate(expression, x, torch.ops.aten)
    return result


@float_form(LIBRARY, "short_add")
def add(
    x: Tensor, y: Tensor, alpha: float, least: float | None = None, largest: float | None = None
) -> Tensor:
    return _bounded(x + alpha * y, least, largest)


@float_form(LIBRARY, "short_mul")
def mul(x: Tensor, y: Tensor) -> Tensor:
    return torch.mul(x, y)


@float_form(LIBRARY, "short_bmm")
def bmm(x: Tensor, y_transposed: Tensor, factor: float = 1.0) -> Tensor:
    product: Tensor = torch.bmm(x, y_transposed.transpose(1, 2))
    return product if factor == 1 else product * factor


@float_form(LIBRARY, "short_mean")
def mean(x: Tensor, dims: Size, keepdim: bool) -> Tensor:
    return x.mean(list(dims), keepdim).contiguous()


@float_form(LIBRARY, "short_sum")
def sum_over(x: Tensor, dims: Size, keepdim: bool) -> Tensor:
    return x.sum(list(dims), keepdim).contiguous()


@float_form(LIBRARY, "short_softmax")
def softmax(x: Tensor, dim: int) -> Tensor:
    return x.softmax(dim)


@float_form(LIBRARY, "short_masked_softmax")
def masked_softmax(x: Tensor, mask: Tensor, dim: int, number: float, is_added: bool) -> Tensor:
    return masked(x, mask, dim, number, is_added)


@float_form(LIBRARY, "short_avg_pool2d")
def avg_pool2d(x: Tensor, *window: Any) -> Tensor:
    """
    Args:
        window: kernel size, stride, padding, whether sizes are rounded up.
    """
    kernel_size, stride, padding, ceil_mode = window
    return functional.avg_pool2d(
        x, kernel_size, stride, padding, ceil_mode, count_include_pad=False
    )


@float_form(LIBRARY, "short_max_pool2d")
def max_pool2d(x: Tensor, *window: Any) -> Tensor:
    """
    Args:
        window: kernel size, stride, padding, dilation, whether sizes are rounded up.
    """
    result: Tensor = functional.max_pool2d(x, *window)
    return result


def _of_floats(form: Any, x: Tensor, *rest: Any) -> Tensor:
    """The shape that a float form gives, in the type of its first operand: int16 or float."""
    given = (each.to(torch.float32) if isinstance(each, Tensor) else each for each in rest)
    made: Tensor = form(x.to(torch.float32), *given)
    return made.to(x.dtype)


for _name, _form in (
    *(("conv2d", conv2d), ("conv_transpose2d", conv_transpose2d), ("linear", linear)),
    *(("clamp", clamp), ("add", add), ("mul", mul), ("bmm", bmm), ("mean", mean)),
    *(("sum", sum_over), ("softmax", softmax)),
    *(("avg_pool2d", avg_pool2d), ("max_pool2d", max_pool2d)),
):
    torch.library.register_fake(f"cmbuild::short_{_name}", partial(_of_floats, _form))
torch.library.register_fake("cmbuild::short_function", lambda x, _: torch.empty_like(x))
torch.library.register_fake(
    "cmbuild::short_conv2d_s16",
    lambda x, weights, bias, stride, padding, dilation, groups, *_: _of_floats(
        conv2d, x, _outputs_first(weights), None, stride, padding, dilation, groups
    ),
)
torch.library.register_fake(
    "cmbuild::short_conv_transpose2d_s16",
    lambda x, weights, bias, stride, padding, dilation, extra, *_: _of_floats(
        conv_transpose2d, x, _outputs_first(weights), None, stride, padding, dilation, extra
    ),
)
torch.library.register_fake(
    "cmbuild::short_linear_s16",
    lambda x, weights, *_: x.new_empty((*x.shape[:-1], weights.shape[0])),
)
torch.library.register_fake("cmbuild::short_masked_softmax", lambda x, *_: torch.empty_like(x))
for _name in ("clamp", "function", "softmax", "masked_softmax"):
    torch.library.register_fake(f"cmbuild::short_{_name}_s16", lambda x, *_: torch.empty_like(x))
torch.library.register_fake(
    "cmbuild::short_add_s16", lambda x, m, s, y, *_: _of_floats(torch.add, x, y)
)
torch.library.register_fake("cmbuild::short_mul_s16", lambda x, y, *_: _of_floats(torch.mul, x, y))
torch.library.register_fake("cmbuild::short_bmm_s16", lambda x, y, *_: _of_floats(bmm, x, y))
torch.library.register_fake(
    "cmbuild::short_sum_s16", lambda x, dims, keepdim, *_: _of_floats(sum_over, x, dims, keepdim)
)
torch.library.register_fake(
    "cmbuild::short_avg_pool2d_s16", lambda x, *window: _of_floats(avg_pool2d, x, *window)
)
torch.library.register_fake(
    "cmbuild::short_max_pool2d_s16", lambda x, *window: _of_floats(max_pool2d, x, *window)
)


def _outputs_first(weights: Tensor) -> Tensor:
    """Weights as torch orders them, of those with channels last."""
    return weights.permute(0, 3, 1, 2).to(torch.float32)


_ops = torch.ops.cmbuild


def stored_weights(weight: Tensor, least: float = 0.0) -> tuple[Tensor, Tensor]:
    """int8 weights and the scale of each output channel.

    Args:
        least: of these scales.
    """
    flat = weight.detach().double().flatten(1)
    scales = stored_steps(flat).clamp(min=least)
    stored = torch.round(flat / scales[:, None]).reshape(weight.shape)
    return stored.to(torch.int8), scales


def _layer(
    call: QuantizedCall, weight: Tensor, *, least: Any, largest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int]:
    """Weights, biases, multipliers, shifts and bounds of a layer."""
    finest = call.output.scale * _FINEST_STEP / call.inputs[0].scale
    stored, scales = stored_weights(weight, finest)
    steps = scales * call.inputs[0].scale
    bias = call.constants.get(2)
    real = torch.zeros(len(steps), dtype=torch.float64) if bias is None else bias.detach().double()
    pairs = [fixed_point(float(step) / call.output.scale) for step in steps]
    multipliers, shifts = torch.tensor(pairs, dtype=torch.int32).T.contiguous()
    biases = torch.round(real / steps).clamp(-_LARGEST_BIAS, _LARGEST_BIAS).to(torch.int64)
    return stored, biases, multipliers, shifts, *_limits(call.output, least, largest)


def _limits(output: Quantization, least: Any, largest: Any) -> tuple[int, int]:
    """The range of stored results, for a range of real ones; loops saturate to the type's."""
    low, high = (
        own if bound is None else round(bound / output.scale)
        for bound, own in ((least, -output.maximum - 1), (largest, output.maximum))
    )
    low = min(low if least is None else max(low, output.minimum), output.maximum)
    return low, max(min(high, output.maximum), low)


def _bounds_from(call: QuantizedCall, place: int) -> dict[str, Any]:
    least, largest = (*call.arguments[place:], None, None)[:2]
    return {"least": least, "largest": largest}


@quantized_op(_ops.short_conv2d.default, constants=[1, 2], rows=[1], is_short=True)
def lower_conv2d(call: QuantizedCall) -> Replacement:
    return _ops.short_conv2d_s16.default, _convolution(call)


@quantized_op(_ops.short_conv_transpose2d.default, constants=[1, 2], rows=[1], is_short=True)
def lower_conv_transpose2d(call: QuantizedCall) -> Replacement:
    return _ops.short_conv_transpose2d_s16.default, _convolution(call)


def _convolution(call: QuantizedCall) -> Sequence[Any]:
    """The arguments of a convolution: its window comes before what makes outputs of sums."""
    weight, biases, *scales = _layer(call, call.constants[1], **_bounds_from(call, 7))
    ordered = weight.permute(0, 2, 3, 1).contiguous()
    return call.arguments[0], ordered, biases, *call.arguments[3:7], *scales


@quantized_op(_ops.short_linear.default, constants=[1, 2], rows=[1], is_short=True)
def lower_linear(call: QuantizedCall) -> Replacement:
    layer = _layer(call, call.constants[1], **_bounds_from(call, 3))
    return _ops.short_linear_s16.default, (call.arguments[0], *layer)


@quantized_op(_ops.short_clamp.default, is_short=True)
def lower_clamp(call: QuantizedCall) -> Replacement:
    x, slope = call.arguments[:2]
    assert isinstance(slope, float)
    ratio = call.inputs[0].scale / call.output.scale
    multiplier, shift = fixed_point(ratio * abs(slope))
    below = (int(math.copysign(multiplier, slope)), shift)
    limits = _limits(call.output, *_bounds_from(call, 2).values())
    return _ops.short_clamp_s16.default, (x, *fixed_point(ratio), *below, *limits)


@quantized_op(_ops.short_function.default, is_short=True)
def lower_function(call: QuantizedCall) -> Replacement:
    x, expression = call.arguments
    table = interpolation_table(str(expression), call.inputs[0], call.output)
    return _ops.short_function_s16.default, (x, table)


def interpolation_table(expression: str, source: Quantization, result: Quantization) -> Tensor:
    """Results for magnitudes(), then for their negatives, int16.

    Where the function has no value, that of zero or else zero stands in. Chords lie on one side of
    a bent curve, so entries lie on the other: on average, nothing is left of that.
    """
    sizes = torch.from_numpy(magnitudes()).to(torch.float64)
    middles = (sizes[:-1] + sizes[1:]) / 2

    def steps(x: Tensor) -> Tensor:
        y: Tensor = evaluate(expression, torch.cat([x, -x]) * source.scale, torch.ops.aten)
        return y.to(torch.float64).reshape(2, -1) / result.scale

    y, between = steps(sizes), steps(middles)
    y = torch.where(y.isnan(), y[0, 0].nan_to_num(0.0), y)
    # Two thirds of the distance in the middle is the mean distance of a parabola from its chord.
    bends = ((y[:, :-1] + y[:, 1:]) / 2 - between) * (2 / 3)
    bends = torch.where(torch.diff(sizes) > 1, bends.nan_to_num(0.0, 0.0, 0.0), 0.0)
    nothing = torch.zeros(2, 1, dtype=torch.float64)
    moved = (torch.cat([nothing, bends], 1) + torch.cat([bends, nothing], 1)) / 2
    # More than that is a corner, which no chord comes near.
    y = y - torch.where(moved.abs() <= 1, moved, 0.0)
    whole = torch.floor(y + 0.5).nan_to_num(0.0, math.inf, -math.inf).flatten()
    return torch.clamp(whole, result.minimum, result.maximum).to(torch.int16)


@quantized_op(_ops.short_add.default, is_short=True)
def lower_add(call: QuantizedCall) -> Replacement:
    x, y, alpha = call.arguments[:3]
    assert isinstance(alpha, float)
    first, second, output = call.inputs[0], call.inputs[1], call.output
    scales = first.scale, abs(alpha) * second.scale
    widest = 2 * max(scales)
    (x_multiplier, x_shift), (y_multiplier, y_shift) = (fixed_point(s / widest) for s in scales)
    arguments = (
        *(x, x_multiplier, x_shift),
        *(y, int(math.copysign(y_multiplier, alpha)), y_shift),
        *fixed_point(widest / (output.scale * (1 << LONG_HEADROOM))),
        *_limits(output, *_bounds_from(call, 3).values()),
    )
    return _ops.short_add_s16.default, arguments


@quantized_op(_ops.short_mul.default, is_short=True)
def lower_mul(call: QuantizedCall) -> Replacement:
    factor = call.inputs[0].scale * call.inputs[1].scale / call.output.scale
    return _ops.short_mul_s16.default, (*call.arguments, *fixed_point(factor))


@quantized_op(_ops.short_bmm.default, is_short=True)
def lower_bmm(call: QuantizedCall) -> Replacement:
    x, y, *rest = call.arguments
    factor = call.inputs[0].scale * call.inputs[1].scale / call.output.scale
    for each in rest:
        assert isinstance(each, float)
        factor *= each
    return _ops.short_bmm_s16.default, (x, y, *fixed_point(factor))


@quantized_op(_ops.short_mean.default, is_short=True)
def lower_mean(call: QuantizedCall) -> Replacement:
    x, dims, _ = call.arguments
    shape = x.meta["val"].shape  # type: ignore[union-attr]
    return _sum(call, math.prod(shape[dim] for dim in dims))  # type: ignore[union-attr]


@quantized_op(_ops.short_sum.default, is_short=True)
def lower_sum(call: QuantizedCall) -> Replacement:
    return _sum(call, 1)


def _sum(call: QuantizedCall, divisor: int) -> Replacement:
    multiplier, shift = fixed_point(call.inputs[0].scale / call.output.scale / divisor)
    if -_FEW_SHIFTS <= shift < 0:
        # Shifts by few bits would round a second time, and a half always the same way.
        multiplier, shift = (multiplier + (1 << -shift >> 1)) >> -shift, 0
    return _ops.short_sum_s16.default, (*call.arguments, multiplier, shift)


@quantized_op(_ops.short_softmax.default, output=Fixed(1 / 32768, 0), is_short=True)
def lower_softmax(call: QuantizedCall) -> Replacement:
    return _ops.short_softmax_s16.default, (*call.arguments, *_step_of_exponents(call))


@quantized_op(_ops.short_masked_softmax.default, output=Fixed(1 / 32768, 0), is_short=True)
def lower_masked_softmax(call: QuantizedCall) -> Replacement:
    x, mask, dim, number, is_added = call.arguments
    assert isinstance(number, float)
    rows = int(empty_rows(number, bool(is_added)))
    arguments = (x, mask, dim, *_step_of_exponents(call), rows)
    return _ops.short_masked_softmax_s16.default, arguments


def _step_of_exponents(call: QuantizedCall) -> tuple[int, int]:
    return fixed_point(call.inputs[0].scale / (LONG_REACH / 65535.0))


@quantized_op(_ops.short_avg_pool2d.default, output=SameAs(0), is_short=True)
def lower_avg_pool2d(call: QuantizedCall) -> Replacement:
    return _ops.short_avg_pool2d_s16.default, call.arguments


@quantized_op(_ops.short_max_pool2d.default, output=SameAs(0), is_short=True)
def lower_max_pool2d(call: QuantizedCall) -> Replacement:
    return _ops.short_max_pool2d_s16.default, call.arguments
