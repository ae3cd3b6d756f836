"""cmbuild::add, mul and div for torch: of tensors of any shapes that broadcast."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import (
    QuantizedCall,
    Replacement,
    fixed_point,
    quantized_op,
)
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ops.support.parameters import INT8

LIBRARY: Any = torch.library.Library(  # type: ignore[no-untyped-call]
    "cmbuild", "FRAGMENT"
)

HEADROOM = 20
"""Bits by which CMSIS-NN widens the operands of a sum."""


def _define(name: str, schema: str, function: Callable[..., Tensor]) -> None:
    LIBRARY.define(f"{name}({schema}) -> Tensor", tags=(torch.Tag.pointwise,))
    float_form(LIBRARY, name)(function)
    torch.library.register_fake(f"cmbuild::{name}", _like_both)


def _like_both(x: Tensor, y: Tensor, *_: Any) -> Tensor:
    """The form of a result.

    The backend's passes also run the operator on int8 tensors, of which a quotient would be float,
    and on one of them and a constant that is float still.
    """
    both = x + y
    whole = [each for each in (torch.int8, torch.int16) if each in (x.dtype, y.dtype)]
    return both.to(whole[0]) if whole else both


def _sum_with(other: int, x: Tensor, *rest: Any) -> Tensor:
    """The form of a result of two operands.

    Args:
        other: the position of the second one.
    """
    total: Tensor = x + rest[other - 1]
    return total


def add(
    x: Tensor, y: Tensor, alpha: float, least: float | None = None, largest: float | None = None
) -> Tensor:
    total = x + alpha * y
    return total if least is None and largest is None else torch.clamp(total, least, largest)


_define("add", "Tensor x, Tensor y, float alpha, float? least=None, float? largest=None", add)
_define("mul", "Tensor x, Tensor y", torch.mul)
_define("div", "Tensor x, Tensor y", torch.div)
_define("short_div", "Tensor x, Tensor y", torch.div)

DIVISIONS = {
    torch.ops.aten.div.Tensor,
    torch.ops.cmbuild.div.default,
    torch.ops.cmbuild.short_div.default,
}
"""Quotients of tensors."""

for _name, _other in (("quantized_add", 4), ("quantized_mul", 2), ("quantized_div", 2)):
    declare(LIBRARY, _name, tags=[torch.Tag.pointwise])
    torch.library.register_fake(f"cmbuild::{_name}", partial(_sum_with, _other))


@quantized_op(torch.ops.cmbuild.add.default)
def lower_sum(call: QuantizedCall) -> Replacement:
    first, second, alpha, *bounds = call.arguments
    x, y, output = call.inputs[0], call.inputs[1], call.output
    assert isinstance(alpha, float)
    scales = x.scale, abs(alpha) * y.scale
    widest = 2 * max(scales)
    (x_multiplier, x_shift), (y_multiplier, y_shift) = (fixed_point(s / widest) for s in scales)
    sign = -1 if alpha < 0 else 1
    arguments = (
        *(first, x.zero_point, x_multiplier, x_shift),
        *(second, y.zero_point, sign * y_multiplier, y_shift),
        output.zero_point,
        *fixed_point(widest / (output.scale * (1 << HEADROOM))),
        *_bounds(output, *bounds),
    )
    return _operator("quantized_add", call), arguments


def _bounds(output: Quantization, least: Any = None, largest: Any = None) -> tuple[int, int]:
    """Bounds of int8 results, for those of real ones."""
    limits = (least, output.minimum), (largest, output.maximum)
    low, high = (
        own if bound is None else round(bound / output.scale) + output.zero_point
        for bound, own in limits
    )
    return (
        min(max(low, output.minimum), output.maximum),
        max(min(high, output.maximum), output.minimum),
    )


@quantized_op(torch.ops.cmbuild.mul.default)
def lower_product(call: QuantizedCall) -> Replacement:
    first, second = call.arguments
    x, y, output = call.inputs[0], call.inputs[1], call.output
    factor = fixed_point(x.scale * y.scale / output.scale)
    arguments = (first, x.zero_point, second, y.zero_point, output.zero_point, *factor)
    return _operator("quantized_mul", call), arguments


@quantized_op(torch.ops.cmbuild.div.default)
@quantized_op(torch.ops.cmbuild.short_div.default, is_short=True)
def lower_quotient(call: QuantizedCall) -> Replacement:
    first, second = call.arguments
    x, y, output = call.inputs[0], call.inputs[1], call.output
    scale = x.scale / (y.scale * output.scale)
    arguments = (first, x.zero_point, second, y.zero_point, output.zero_point, scale)
    return _operator("quantized_div", call), arguments


def _operator(name: str, call: QuantizedCall) -> Any:
    """The backend's operator where its runtime broadcasts like that, else the compiler's own."""
    x, y = (_value(argument) for argument in call.arguments[:2])
    is_short = call.output.maximum > INT8.maximum
    is_portable = x.shape == y.shape or (name != "quantized_div" and _repeats_pixels(x, y))
    is_portable = is_portable and not is_short
    namespace = torch.ops.cortex_m if is_portable else torch.ops.cmbuild
    return getattr(namespace, name).default


def _value(argument: Any) -> Tensor:
    assert isinstance(argument, Node)
    value = argument.meta["val"]
    assert isinstance(value, Tensor)
    return value


def _repeats_pixels(x: Tensor, y: Tensor) -> bool:
    """Whether one has a number for each channel, and channels are innermost in memory."""
    if x.ndim != 4 or y.ndim != 4 or x.shape[1] != y.shape[1]:
        return False
    if x.shape[1] not in (x.numel(), y.numel()):
        return False
    larger = x if x.numel() > y.numel() else y
    return larger.shape[1] == 1 or larger.dim_order()[1] == 2
