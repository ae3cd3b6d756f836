"""cmbuild::masked_softmax for torch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import (
    Fixed,
    QuantizedCall,
    Replacement,
    fixed_point,
    quantized_op,
)
from cmcompiler.ops.support.empty_rows import EmptyRows
from cmcompiler.ops.support.parameters import INT32_MAX

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]
ops: Any = torch.ops.cmbuild

LIBRARY.define(
    "masked_softmax(Tensor x, Tensor? mask, int dim, float number, bool is_added) -> Tensor"
)
declare(LIBRARY, "quantized_masked_softmax")
for _name in ("masked_softmax", "quantized_masked_softmax"):
    torch.library.register_fake(f"cmbuild::{_name}", lambda x, *_: torch.empty_like(x))

INTEGER_BITS, FRACTIONAL_BITS = 5, 26
"""Step of differences from the maximum, as arm_softmax_s8 takes them."""

INT8_BITS = 8

ABSORBING = 3e7
"""In float32, numbers of this size have steps of 2."""


@float_form(LIBRARY, "masked_softmax")
def masked_softmax(
    x: Tensor, mask: Tensor | None, dim: int, number: float, is_added: bool
) -> Tensor:
    """The softmax of elements with a number far below them where a mask is false.

    Args:
        mask: broadcasts.
        is_added: the number is added to the elements there, and does not take their place.
    """
    if mask is None:
        return x.softmax(dim)
    result = excluding(x, mask, number, is_added).softmax(dim)
    # A row of nothing but minus infinity is not a number.
    return result.nan_to_num(0.0) if math.isinf(number) else result


def excluding(x: Tensor, mask: Tensor, number: float, is_added: bool) -> Tensor:
    return torch.where(mask, x, x + number if is_added else number)


def empty_rows(number: float, is_added: bool) -> EmptyRows:
    """The result of rows of which a mask excludes all elements."""
    if math.isinf(number):
        return EmptyRows.ZERO
    # A mask that is added to far larger numbers is lost in their rounding.
    return EmptyRows.UNMASKED if is_added and abs(number) < ABSORBING else EmptyRows.EQUAL


@quantized_op(torch.ops.cmbuild.masked_softmax.default, output=Fixed(1 / 256, -128))
def to_quantized_masked_softmax(call: QuantizedCall) -> Replacement:
    multiplier, shift = fixed_point(min(call.inputs[0].scale * 2**FRACTIONAL_BITS, INT32_MAX))
    least = -math.floor((2**INTEGER_BITS - 1) * 2.0 ** (FRACTIONAL_BITS - shift))
    finer_bits = -round(math.log2(call.output.scale)) - INT8_BITS
    *tensors, dim, number, is_added = call.arguments
    assert isinstance(number, float)
    rows = int(empty_rows(number, bool(is_added)))
    arguments = (*tensors, dim, multiplier, shift, least, finer_bits, rows)
    return torch.ops.cmbuild.quantized_masked_softmax.default, arguments
