"""cmbuild::sum and cmbuild::mean for torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, fixed_point, quantized_op

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]

FEW_BITS = -2
"""A right shift by so few bits rounds halves, which are many, up a second time."""

for _name in ("sum", "mean"):
    LIBRARY.define(f"{_name}(Tensor x, int[] dims, bool keepdim) -> Tensor")
declare(LIBRARY, "quantized_sum")


def _shape(x: Tensor, dims: Sequence[int], keepdim: bool, *_: object) -> Tensor:
    return x.new_empty(x.to(torch.float32).sum(list(dims), keepdim).shape)


for _name in ("sum", "mean", "quantized_sum"):
    torch.library.register_fake(f"cmbuild::{_name}", _shape)


@float_form(LIBRARY, "sum")
def sum_over(x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    return x.sum(list(dims), keepdim).contiguous()


@float_form(LIBRARY, "mean")
def mean_over(x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    return x.mean(list(dims), keepdim).contiguous()


@quantized_op(torch.ops.cmbuild.sum.default)
def to_quantized_sum(call: QuantizedCall) -> Replacement:
    return _quantized(call, 1)


@quantized_op(torch.ops.cmbuild.mean.default)
def to_quantized_mean(call: QuantizedCall) -> Replacement:
    x, dims, _ = _arguments(call)
    return _quantized(call, math.prod(x.meta["val"].shape[dim] for dim in dims))


def _arguments(call: QuantizedCall) -> Sequence[Any]:
    return call.arguments


def _quantized(call: QuantizedCall, divisor: int) -> Replacement:
    source, output = call.inputs[0], call.output
    multiplier, shift = fixed_point(source.scale / output.scale / divisor)
    if FEW_BITS <= shift < 0:
        multiplier, shift = multiplier >> -shift, 0
    numbers = (source.zero_point, output.zero_point, multiplier, shift)
    return torch.ops.cmbuild.quantized_sum.default, (*call.arguments, *numbers)
