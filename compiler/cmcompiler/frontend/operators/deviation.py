"""cmbuild::deviation for torch: variances, standard deviations and Euclidean lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, quantized_op
from cmcompiler.ops.deviation import FARTHEST_SHIFT

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]

_own = "Tensor x, int[] dims, bool keepdim, float divisor, bool is_centred, bool is_root"
for _name in ("deviation", "short_deviation"):
    LIBRARY.define(f"{_name}({_own}) -> Tensor")
declare(LIBRARY, "quantized_deviation")


def _shape(x: Tensor, dims: Sequence[int], keepdim: bool, *_: object) -> Tensor:
    return x.new_empty(x.to(torch.float32).sum(list(dims), keepdim).shape)


for _name in ("deviation", "short_deviation", "quantized_deviation"):
    torch.library.register_fake(f"cmbuild::{_name}", _shape)


@float_form(LIBRARY, "deviation")
@float_form(LIBRARY, "short_deviation")
def deviation(x: Tensor, dims: Sequence[int], keepdim: bool, divisor: float, *kind: bool) -> Tensor:
    """The sum of squares over a divisor, or its root; of distances from the mean if centred.

    Args:
        kind: whether it is centred, and whether it is the root.
    """
    is_centred, is_root = kind
    x = x - x.mean(list(dims), True) if is_centred else x
    mean = (x * x).sum(list(dims), keepdim) / divisor
    return (mean.sqrt() if is_root else mean).contiguous()


@quantized_op(torch.ops.cmbuild.deviation.default)
@quantized_op(torch.ops.cmbuild.short_deviation.default, is_short=True)
def to_quantized_deviation(call: QuantizedCall) -> Replacement:
    x, dims, keepdim, divisor, is_centred, is_root = _arguments(call)
    count = math.prod(x.meta["val"].shape[dim] for dim in dims)
    source, output = call.inputs[0], call.output
    factor = source.scale**2 / (divisor * (count if is_centred else 1))
    factor = (math.sqrt(factor) if is_root else factor) / output.scale
    mantissa, shift = math.frexp(factor)
    multiplier = min(round(math.ldexp(mantissa, 31)), (1 << 31) - 1)
    shift = max(-FARTHEST_SHIFT, min(shift, FARTHEST_SHIFT))
    centre = None if is_centred else source.zero_point
    numbers = (centre, is_root, multiplier, shift, output.zero_point)
    return torch.ops.cmbuild.quantized_deviation.default, (x, dims, keepdim, *numbers)


def _arguments(call: QuantizedCall) -> Sequence[Any]:
    return call.arguments
