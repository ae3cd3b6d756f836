"""cmbuild::prelu for torch: ReLU with a slope below zero for each channel."""

from __future__ import annotations

from typing import Any

import torch

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, quantized_op
from cmcompiler.ops.prelu import FACTOR_BITS

LIBRARY: Any = torch.library.Library(  # type: ignore[no-untyped-call]
    "cmbuild", "FRAGMENT"
)
LIBRARY.define("prelu(Tensor x, Tensor slopes) -> Tensor")
declare(LIBRARY, "quantized_prelu")
float_form(LIBRARY, "prelu")(torch.prelu)
for _name in ("prelu", "quantized_prelu"):
    torch.library.register_fake(f"cmbuild::{_name}", lambda x, *_: torch.empty_like(x))


@quantized_op(torch.ops.cmbuild.prelu.default, constants=[1])
def lower(call: QuantizedCall) -> Replacement:
    x, output = call.inputs[0], call.output
    factors = call.constants[1].detach().double().flatten() * (x.scale / output.scale)
    above = x.scale / output.scale
    largest = max(above, float(factors.abs().max()))
    most = 1 << FACTOR_BITS
    shift = FACTOR_BITS
    while shift > 0 and largest * (1 << shift) > most:
        shift -= 1
    below = torch.round(factors * (1 << shift)).clamp(-most, most).to(torch.int32)
    arguments = (
        *(call.arguments[0], below, min(round(above * (1 << shift)), most), shift),
        *(x.zero_point, output.zero_point),
    )
    return torch.ops.cmbuild.quantized_prelu.default, arguments
