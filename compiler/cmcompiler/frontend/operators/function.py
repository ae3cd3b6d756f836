"""cmbuild::function: any function of a tensor's elements, on int8 by a table."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.expression import evaluate
from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, quantized_op
from cmcompiler.ir.quantization import Quantization

LIBRARY: Any = torch.library.Library(  # type: ignore[no-untyped-call]
    "cmbuild", "FRAGMENT"
)
LIBRARY.define("function(Tensor x, str expression) -> Tensor", tags=(torch.Tag.pointwise,))
torch.library.register_fake("cmbuild::function", lambda x, _: torch.empty_like(x))


@float_form(LIBRARY, "function")
def function(x: Tensor, expression: str) -> Tensor:
    result: Tensor = evaluate(expression, x, torch.ops.aten)
    return result


@quantized_op(torch.ops.cmbuild.function.default, is_portable=True)
def lower(call: QuantizedCall) -> Replacement:
    x, expression = call.arguments
    table = function_table(str(expression), call.inputs[0], call.output)
    return torch.ops.cortex_m.quantized_activation.default, (x, table)


def function_table(expression: str, source: Quantization, result: Quantization) -> Tensor:
    """Results for -128 to 127, int8 [256]; rounds halves away from zero, as the backend does.

    Where the function has no value, the nearest argument's that has one stands in.
    """
    x = (torch.arange(-128, 128, dtype=torch.float64) - source.zero_point) * source.scale
    y = evaluate(expression, x, torch.ops.aten).to(torch.float64)
    steps = _filled(y) / result.scale + result.zero_point
    rounded = torch.copysign(torch.floor(torch.abs(steps) + 0.5), steps)
    return torch.clamp(rounded, result.minimum, result.maximum).to(torch.int8)


def _filled(y: Tensor) -> Tensor:
    known = torch.nonzero(~torch.isnan(y)).flatten()
    if len(known) in (0, len(y)):
        return torch.nan_to_num(y, posinf=math.inf, neginf=-math.inf)
    distances = torch.abs(torch.arange(len(y))[:, None] - known)
    return y[known[torch.argmin(distances, dim=1)]]
