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
from cmcompiler.ops.support.parameters import INT32_MAX

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]

LIBRARY.define("masked_softmax(Tensor x, Tensor mask, int dim) -> Tensor")
declare(LIBRARY, "quantized_masked_softmax")
for _name in ("masked_softmax", "quantized_masked_softmax"):
    torch.library.register_fake(f"cmbuild::{_name}", lambda x, *_: torch.empty_like(x))

INTEGER_BITS, FRACTIONAL_BITS = 5, 26
"""Of differences from the maximum, as arm_softmax_s8 takes them."""


@float_form(LIBRARY, "masked_softmax")
def masked_softmax(x: Tensor, mask: Tensor, dim: int) -> Tensor:
    """The softmax of the elements where the mask, which broadcasts, is true; elsewhere 0."""
    return torch.where(mask, x, -math.inf).softmax(dim).nan_to_num(0.0)


@quantized_op(torch.ops.cmbuild.masked_softmax.default, output=Fixed(1 / 256, -128))
def to_quantized_masked_softmax(call: QuantizedCall) -> Replacement:
    multiplier, shift = fixed_point(min(call.inputs[0].scale * 2**FRACTIONAL_BITS, INT32_MAX))
    least = -math.floor((2**INTEGER_BITS - 1) * 2.0 ** (FRACTIONAL_BITS - shift))
    arguments = (*call.arguments, multiplier, shift, least)
    return torch.ops.cmbuild.quantized_masked_softmax.default, arguments
