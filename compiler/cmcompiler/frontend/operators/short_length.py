"""cmbuild::short_length for torch: the root of the sum of two squares, with int16 activations."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, quantized_op
from cmcompiler.ops.short_length import FACTOR_BITS, FARTHEST_SHIFT

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]
LIBRARY.define("short_length(Tensor x, Tensor y) -> Tensor")
declare(LIBRARY, "short_length_s16")
for _name in ("short_length", "short_length_s16"):
    torch.library.register_fake(f"cmbuild::{_name}", lambda x, *_: torch.empty_like(x))


@float_form(LIBRARY, "short_length")
def length(x: Tensor, y: Tensor) -> Tensor:
    return torch.hypot(x, y)


@quantized_op(torch.ops.cmbuild.short_length.default, is_short=True)
def lower_length(call: QuantizedCall) -> Replacement:
    x, y = call.arguments
    scales = call.inputs[0].scale, call.inputs[1].scale
    largest = max(scales)
    factors = (round(2**FACTOR_BITS * (scale / largest) ** 2) for scale in scales)
    mantissa, shift = math.frexp(largest / call.output.scale * 2.0 ** (-FACTOR_BITS / 2))
    multiplier = min(round(math.ldexp(mantissa, 31)), (1 << 31) - 1)
    shift = max(-FARTHEST_SHIFT, min(shift, FARTHEST_SHIFT))
    return torch.ops.cmbuild.short_length_s16.default, (x, y, *factors, multiplier, shift)
