"""cmbuild::layer_norm, rms_norm and group_norm for torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form, unrounded_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, quantized_op
from cmcompiler.ops.norm import EPSILON_BITS, LARGEST_BIAS, LARGEST_EPSILON, fraction_bits

RESULT_BITS = 16
"""Fractional bits of the result in steps, as long as the multipliers fit."""

LIBRARY: Any = torch.library.Library(  # type: ignore[no-untyped-call]
    "cmbuild", "FRAGMENT"
)


LIBRARY.define(
    "layer_norm(Tensor x, int[] dims, Tensor? weight, Tensor? bias, float eps) -> Tensor"
)
LIBRARY.define("rms_norm(Tensor x, int[] dims, Tensor? weight, float eps) -> Tensor")
LIBRARY.define(
    "group_norm(Tensor x, int groups, Tensor? weight, Tensor? bias, float eps) -> Tensor"
)
declare(LIBRARY, "quantized_layer_norm", "quantized_group_norm")
for _name in (
    *("layer_norm", "rms_norm", "group_norm"),
    *("quantized_layer_norm", "quantized_group_norm"),
):
    torch.library.register_fake(f"cmbuild::{_name}", lambda x, *_: torch.empty_like(x))


@float_form(LIBRARY, "layer_norm")
def layer_norm(
    x: Tensor, dims: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Normalises over any dimensions; the parameters have one element for each of theirs."""
    shape = [x.shape[dim] for dim in dims]
    weight, bias = (None if p is None else p.reshape(shape) for p in (weight, bias))
    return _over(x, dims, lambda x: torch.nn.functional.layer_norm(x, shape, weight, bias, eps))


@float_form(LIBRARY, "rms_norm")
def rms_norm(x: Tensor, dims: Sequence[int], weight: Tensor | None, eps: float) -> Tensor:
    """As layer_norm, without subtracting the mean."""
    shape = [x.shape[dim] for dim in dims]
    weight = None if weight is None else weight.reshape(shape)
    return _over(x, dims, lambda x: torch.nn.functional.rms_norm(x, shape, weight, eps))


@float_form(LIBRARY, "group_norm")
def group_norm(
    x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    result = torch.nn.functional.group_norm(x, groups, weight, bias, eps)
    return torch.empty_like(x).copy_(result)


@unrounded_form("layer_norm")
def _unrounded_layer_norm(
    x: Tensor, dims: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    shape = [x.shape[dim] for dim in dims]
    weight, bias = (None if p is None else _shaped(p, shape) for p in (weight, bias))
    order, back = _orders(x, dims)
    if order == list(range(x.ndim)):
        return torch.nn.functional.layer_norm(x, shape, weight, bias, eps)
    x = x.permute(order).contiguous()
    return torch.nn.functional.layer_norm(x, shape, weight, bias, eps).permute(back).contiguous()


@unrounded_form("rms_norm")
def _unrounded_rms_norm(
    x: Tensor, dims: Sequence[int], weight: Tensor | None, eps: float
) -> Tensor:
    result = x * torch.rsqrt((x * x).mean(list(dims), True) + eps)
    if weight is None:
        return result
    if list(dims) == sorted(dims):
        sizes = [x.shape[dim] if dim in dims else 1 for dim in range(dims[0], x.ndim)]
        return result * _shaped(weight, sizes)
    order, back = _orders(x, dims)
    sizes = [x.shape[dim] if dim in dims else 1 for dim in order]
    return result * weight.reshape(sizes).permute(back)


@unrounded_form("group_norm")
def _unrounded_group_norm(
    x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    return torch.nn.functional.group_norm(x, groups, weight, bias, eps)


def _over(x: Tensor, dims: Sequence[int], compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Computes with these dimensions last, and returns the strides of x."""
    order, back = _orders(x, dims)
    return torch.empty_like(x).copy_(compute(x.permute(order)).permute(back))


def _shaped(parameter: Tensor, shape: Sequence[int]) -> Tensor:
    return parameter if list(parameter.shape) == list(shape) else parameter.reshape(shape)


def _orders(x: Tensor, dims: Sequence[int]) -> tuple[list[int], list[int]]:
    """The order of x's dimensions with these last, and the order that takes that back."""
    order = [*(dim for dim in range(x.ndim) if dim not in dims), *dims]
    return order, [order.index(dim) for dim in range(x.ndim)]


@quantized_op(torch.ops.cmbuild.layer_norm.default, constants=[2, 3])
def to_quantized_layer_norm(call: QuantizedCall) -> Replacement:
    x, dims, _, _, eps = _arguments(call)
    weight, bias = call.constants.get(2), call.constants.get(3)
    count = math.prod(x.meta["val"].shape[dim] for dim in dims)
    parameters = _parameters(call, (weight, bias), count, count, eps)
    return torch.ops.cmbuild.quantized_layer_norm.default, (x, dims, None, *parameters)


@quantized_op(torch.ops.cmbuild.rms_norm.default, constants=[2])
def to_quantized_rms_norm(call: QuantizedCall) -> Replacement:
    x, dims, _, eps = _arguments(call)
    count = math.prod(x.meta["val"].shape[dim] for dim in dims)
    parameters = _parameters(call, (call.constants.get(2), None), count, count, eps)
    centre = call.inputs[0].zero_point
    return torch.ops.cmbuild.quantized_layer_norm.default, (x, dims, centre, *parameters)


@quantized_op(torch.ops.cmbuild.group_norm.default, constants=[2, 3])
def to_quantized_group_norm(call: QuantizedCall) -> Replacement:
    x, groups, _, _, eps = _arguments(call)
    _, channels, *sizes = x.meta["val"].shape
    weight, bias = call.constants.get(2), call.constants.get(3)
    count = channels // groups * math.prod(sizes)
    parameters = _parameters(call, (weight, bias), channels, count, eps)
    return torch.ops.cmbuild.quantized_group_norm.default, (x, groups, *parameters)


def _arguments(call: QuantizedCall) -> Sequence[Any]:
    return call.arguments


def _parameters(
    call: QuantizedCall,
    affine: tuple[Tensor | None, Tensor | None],
    size: int,
    count: int,
    eps: float,
) -> tuple[Tensor, Tensor, int, int, int]:
    """Multipliers, biases, epsilon, shift and zero point.

    Args:
        affine: weight and bias.
        size: elements of each.
        count: elements of a group.
    """
    output = call.output
    default = torch.ones(size), torch.zeros(size)
    weight, bias = (
        (other if given is None else given).double().reshape(size) / output.scale
        for given, other in zip(affine, default, strict=True)
    )
    # A multiplier of 2^31 would keep the fractional bits that the normalised elements have.
    spare = 31 - fraction_bits(count)
    largest = math.frexp(max(weight.abs().max().item(), 2.0**-30))[1]
    shift = max(0, min(RESULT_BITS, 31 - spare - largest))
    multipliers = (weight * 2.0 ** (spare + shift)).round().clamp(1 - 2**31, 2**31 - 1)
    biases = (bias * 2.0**shift).round().clamp(-LARGEST_BIAS, LARGEST_BIAS)
    epsilon = round(2**EPSILON_BITS * count**2 * eps / call.inputs[0].scale ** 2)
    return (
        multipliers.to(torch.int32),
        biases.to(torch.int32),
        min(max(epsilon, 1), LARGEST_EPSILON),
        shift,
        output.zero_point,
    )
