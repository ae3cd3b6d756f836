"""Arithmetic on tensors of different shapes, in whole programs."""

from __future__ import annotations

import numpy as np
import torch
from harness.pte import operators
from torch import Tensor, nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target


class Mixed(nn.Module):
    """Broadcasts of pixels, rows and columns, with tensors and with constants."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3)
        self.row = nn.Parameter(torch.randn(8, 1))
        self.token = nn.Parameter(torch.randn(6))
        self.head = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        y = y * torch.sigmoid(y.mean((2, 3), keepdim=True)) + self.row
        y = torch.relu(y + y.mean((2, 3), keepdim=True)) + y
        columns, rows = y.amax(2, keepdim=True), y.amax(3, keepdim=True)
        y = y - torch.add(columns, rows, alpha=0.25)
        y = torch.maximum(y, rows) / (2 + columns.abs())
        tokens = y.flatten(2).transpose(1, 2)
        return self.head(tokens) * self.token - tokens


def test_programs_broadcast_int8_tensors():
    torch.manual_seed(0)
    module = Mixed().eval()
    samples = [(torch.randn(1, 3, 10, 10),) for _ in range(8)]
    quantized = quantize(module, samples[0], samples)
    assert quantized.float_operators == ()
    pte = lower(quantized, Target.parse("cortex-m55"))
    operators_left = operators(pte)
    # Only a number for each channel is broadcast by the backend's own runtime.
    assert (
        operators_left["cortex_m::quantized_mul"] == 1
        and operators_left["cmbuild::quantized_mul"] == 1
    )
    assert (
        operators_left["cmbuild::quantized_add"] == 2
        and not operators_left["aten::clamp"]
        and operators_left["cmbuild::quantized_div"] == 1
    )
    assert not {"aten::add", "aten::sub", "aten::mul", "aten::div"} & operators_left.keys()
    graph = build_graph(read_program(pte))
    exact = np.concatenate([module(*x).detach().numpy() for x in samples])
    results = np.concatenate([evaluate(graph, [x.numpy()]).outputs[0] for (x,) in samples])
    noise = np.square(results - exact).sum()
    assert 10 * np.log10(np.square(exact).sum() / noise) > 30
