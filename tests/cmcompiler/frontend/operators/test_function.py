"""Tables of functions, and functions in whole programs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.pte import operators
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.operators.function import function_table
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

GALLERY = {
    "leaky_relu(x, 0.1)": lambda x: np.where(x > 0, x, 0.1 * x),
    "elu(x)": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu(x)": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "celu(x, 0.5)": lambda x: np.maximum(x, 0) + np.minimum(0.5 * np.expm1(x / 0.5), 0),
    "silu(x)": lambda x: x / (1 + np.exp(-x)),
    "mish(x)": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "gelu(x, approximate='tanh')": lambda x: (
        0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    ),
    "softplus(x)": lambda x: np.log1p(np.exp(x)),
    "hardswish(x)": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardsigmoid(x)": lambda x: np.clip(x + 3, 0, 6) / 6,
    "threshold(x, 0.5, -1.0)": lambda x: np.where(x > 0.5, x, -1),
    "pow.Tensor_Scalar(x, 3)": lambda x: x**3,
    "div.Tensor(x, add.Tensor(abs(x), 1))": lambda x: x / (abs(x) + 1),
    "exp(x)": np.exp,
    "sin(x)": np.sin,
}


@pytest.mark.parametrize("expression", GALLERY)
@settings(max_examples=10)
@given(
    scale=st.floats(1e-3, 0.1),
    zero_point=st.integers(-128, 127),
    output_scale=st.floats(1e-3, 0.1),
    output_zero_point=st.integers(-128, 127),
)
def test_a_table_holds_the_function(expression, scale, zero_point, output_scale, output_zero_point):
    source = Quantization(scale, zero_point, -128, 127)
    result = Quantization(output_scale, output_zero_point, -128, 127)
    table = function_table(expression, source, result).numpy().astype(np.float64)
    exact = GALLERY[expression]((np.arange(-128, 128) - zero_point) * scale)
    steps = np.clip(exact / output_scale + output_zero_point, -128, 127)
    assert np.abs(table - steps).max() <= 0.5 + 1e-6


def test_halves_round_away_from_zero_and_bounds_hold():
    unit, quarter = Quantization(1.0, 0, -128, 127), Quantization(0.5, 0, -128, 127)
    table = function_table("mul.Tensor(x, 1)", quarter, unit)
    assert [int(table[128 + x]) for x in (-3, -1, 1, 3)] == [-2, -1, 1, 2]
    narrow = Quantization(1.0, 0, -5, 7)
    table = function_table("neg(x)", unit, narrow)
    assert (int(table.min()), int(table.max())) == (-5, 7)


def test_the_nearest_value_stands_in_where_there_is_none():
    unit = Quantization(1.0, 0, -128, 127)
    table = function_table("log(x)", unit, Quantization(0.1, 10, -128, 127))
    assert int(table[128]) == -128 and int(table[129]) == 10
    assert set(table[:128].tolist()) == {-128}
    table = function_table("sqrt(sub.Tensor(x, 4))", unit, unit)
    assert set(table[:132].tolist()) == {0} and int(table[128 + 8]) == 2


class Gated(nn.Module):
    """Functions after a convolution with a norm, of two users, of sums and of inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Mish())
        self.mix = nn.Conv2d(8, 8, 1)
        self.gates = nn.Conv2d(8, 16, 1)
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.stem(x / 2 + 0.25)
        z = self.mix(y)
        y = nn.functional.leaky_relu(z, 0.2, inplace=True) + y
        a, b = self.gates(y).chunk(2, 1)
        y = torch.tanh(a) * torch.sigmoid(b) + nn.functional.hardswish(y)
        return nn.functional.elu(self.head(y.mean((2, 3))))


def test_programs_compute_functions_by_table():
    torch.manual_seed(0)
    module = Gated().eval()
    samples = [(torch.randn(1, 3, 12, 12),) for _ in range(8)]
    quantized = quantize(module, samples[0], samples)
    assert quantized.float_operators == ()
    pte = lower(quantized, Target.parse("cortex-m55"))
    operators_left = operators(pte)
    assert operators_left["cortex_m::quantized_activation"] == 7
    assert not any("function" in name or "hardswish" in name for name in operators_left)
    graph = build_graph(read_program(pte))
    exact = np.concatenate([module(*x).detach().numpy() for x in samples])
    results = np.concatenate([evaluate(graph, [x.numpy()]).outputs[0] for (x,) in samples])
    noise = np.square(results - exact).sum()
    assert 10 * np.log10(np.square(exact).sum() / noise) > 30
