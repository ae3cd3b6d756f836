"""Lowered logarithms of softmax compute what the float operators do, to within a step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.calls import In, Out, calling
from torch import Tensor

from cmcompiler.frontend import operators
from cmcompiler.frontend.quantized_op import QUANTIZED, QuantizedCall
from cmcompiler.ir.quantization import Quantization

operators.define()


@pytest.mark.parametrize("size", [1e-4, 1e-2, 1.0, 30.0, 1e4])
@pytest.mark.parametrize(
    ("name", "arguments"), [("log_softmax", [1]), ("logsumexp", [[0, 1], False])]
)
def test_within_a_step(name: str, arguments: list[object], size: float) -> None:
    torch.manual_seed(0)
    own = getattr(torch.ops.cmbuild, name).default
    steps = torch.randint(-128, 128, (7, 40), dtype=torch.int8)
    source = Quantization(size / 100, 11, -128, 127)
    real = own((steps.float() - 11) * source.scale, *arguments)
    low, high = min(real.min().item(), 0.0), max(real.max().item(), 0.0)
    output = Quantization((high - low) / 255, round(-128 - low * 255 / (high - low)), -128, 127)
    node = torch.fx.Graph().placeholder("x")
    call = QuantizedCall([node, *arguments], {0: source}, output, {})
    lowered, (_, *numbers) = QUANTIZED[own].lowering(call)
    given = [In(n.numpy(), constant=True) if isinstance(n, Tensor) else n for n in numbers]
    given = [tuple(n) if isinstance(n, list) else n for n in given]
    example = calling(
        f"{lowered._schema.name}.out", In(steps.numpy()), *given, Out("int8", tuple(real.shape))
    )
    exact = real.numpy() / output.scale + output.zero_point
    actual = example.reference.outputs[0]
    assert np.abs(actual - np.clip(exact, -128, 127)).max() < 0.6
