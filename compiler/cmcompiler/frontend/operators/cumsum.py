"""cmbuild::cumsum for torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, fixed_point, quantized_op

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]

for _name in ("cumsum", "short_cumsum"):
    LIBRARY.define(f"{_name}(Tensor x, int dim) -> Tensor")
declare(LIBRARY, "quantized_cumsum")
for _name in ("cumsum", "short_cumsum", "quantized_cumsum"):
    torch.library.register_fake(f"cmbuild::{_name}", lambda x, *_: torch.empty_like(x))


@float_form(LIBRARY, "cumsum")
@float_form(LIBRARY, "short_cumsum")
def cumsum(x: Tensor, dim: int) -> Tensor:
    return torch.empty_like(x).copy_(x.cumsum(dim))


@quantized_op(torch.ops.cmbuild.cumsum.default)
@quantized_op(torch.ops.cmbuild.short_cumsum.default, is_short=True)
def to_quantized_cumsum(call: QuantizedCall) -> Replacement:
    source, output = call.inputs[0], call.output
    factor = fixed_point(source.scale / output.scale)
    numbers = (source.zero_point, output.zero_point, *factor)
    return torch.ops.cmbuild.quantized_cumsum.default, (*call.arguments, *numbers)
