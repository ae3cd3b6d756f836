"""cmbuild::log_softmax and cmbuild::logsumexp for torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, quantized_op
from cmcompiler.ops.log_softmax import (
    EXPONENTIAL_BITS,
    LARGEST_LOG_MULTIPLIER,
    LARGEST_MULTIPLIER,
    MOST_FRACTION_BITS,
)
from cmcompiler.ops.support.parameters import INT8, INT32_MAX

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]

declare(LIBRARY, "quantized_log_softmax", "quantized_logsumexp")
for _prefix in ("", "short_"):
    LIBRARY.define(f"{_prefix}log_softmax(Tensor x, int dim) -> Tensor")
    LIBRARY.define(f"{_prefix}logsumexp(Tensor x, int[] dims, bool keepdim) -> Tensor")


def _reduced(x: Tensor, dims: Sequence[int], keepdim: bool, *_: object) -> Tensor:
    return x.new_empty(x.to(torch.float32).sum(list(dims), keepdim).shape)


for _name in ("log_softmax", "short_log_softmax", "quantized_log_softmax"):
    torch.library.register_fake(
        f"cmbuild::{_name}",
        lambda x, *_: torch.empty_like(x, memory_format=torch.contiguous_format),
    )
for _name in ("logsumexp", "short_logsumexp", "quantized_logsumexp"):
    torch.library.register_fake(f"cmbuild::{_name}", _reduced)


@float_form(LIBRARY, "log_softmax")
@float_form(LIBRARY, "short_log_softmax")
def log_softmax(x: Tensor, dim: int) -> Tensor:
    return torch.log_softmax(x, dim).contiguous()


@float_form(LIBRARY, "logsumexp")
@float_form(LIBRARY, "short_logsumexp")
def logsumexp(x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    return torch.logsumexp(x, list(dims), keepdim).contiguous()


@quantized_op(torch.ops.cmbuild.log_softmax.default)
@quantized_op(torch.ops.cmbuild.short_log_softmax.default, is_short=True)
def to_quantized_log_softmax(call: QuantizedCall) -> Replacement:
    arguments = (*call.arguments, *_parameters(call))
    return torch.ops.cmbuild.quantized_log_softmax.default, arguments


@quantized_op(torch.ops.cmbuild.logsumexp.default)
@quantized_op(torch.ops.cmbuild.short_logsumexp.default, is_short=True)
def to_quantized_logsumexp(call: QuantizedCall) -> Replacement:
    arguments = (*call.arguments, call.inputs[0].zero_point, *_parameters(call))
    return torch.ops.cmbuild.quantized_logsumexp.default, arguments


def _parameters(call: QuantizedCall) -> tuple[Tensor, int, int, int, int]:
    """Exponentials, multipliers of differences and of logarithms to base 2, shift, zero point."""
    source, output = call.inputs[0].scale, call.output
    distances = torch.arange(256, dtype=torch.float64) * source
    limits = LARGEST_MULTIPLIER, LARGEST_LOG_MULTIPLIER
    if output.maximum > INT8.maximum:
        distances = torch.cat([256 * distances, distances])
        limits = INT32_MAX, INT32_MAX
    exponentials = (torch.exp(-distances) * 2.0**EXPONENTIAL_BITS).round().to(torch.int32)
    factors = source / output.scale, math.log(2) / output.scale
    room = min(
        math.frexp(most / factor)[1] - 1 for factor, most in zip(factors, limits, strict=True)
    )
    shift = max(0, min(room, MOST_FRACTION_BITS))
    multiplier, log_multiplier = (
        min(round(math.ldexp(factor, shift)), most)
        for factor, most in zip(factors, limits, strict=True)
    )
    return exponentials, multiplier, log_multiplier, shift, output.zero_point
