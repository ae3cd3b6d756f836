"""What a hint proposes is quantised."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import Function
from torch import nn

from cmcompiler.frontend.hints import hint
from cmcompiler.frontend.quantization import quantize

MASK = torch.arange(64).reshape(8, 8) % 3 > 0

PROPOSED = {
    "conv": nn.Conv2d(4, 8, 3, groups=2),
    "matmul": nn.Linear(8, 5),
    "einsum": nn.Conv2d(4, 5, 1),
    "pow": Function(lambda x: x * x),
    "masked_fill": Function(lambda x: x.masked_fill(MASK, -8.0)),
    "interpolate": Function(lambda x: F.interpolate(x, scale_factor=3, mode="nearest")),
    "grid_sampler_2d": nn.ConvTranspose2d(4, 4, 2, 2),
}
"""By the operator that is left in float."""


@pytest.mark.parametrize("operator", PROPOSED)
def test_what_a_hint_proposes_is_quantised(operator):
    assert "quantized_op" not in hint(operator)
    samples = [(torch.randn(1, 4, 8, 8),) for _ in range(2)]
    quantized = quantize(PROPOSED[operator].eval(), samples[0], samples, refinement=False)
    assert quantized.float_operators == ()
