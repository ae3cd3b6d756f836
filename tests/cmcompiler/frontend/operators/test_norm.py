"""Lowered norms compute what the float operators do, to within a step."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from harness.calls import In, Out, calling
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from cmcompiler.frontend import operators
from cmcompiler.frontend.float_form import FLOAT_FORMS, UNROUNDED_FORMS
from cmcompiler.frontend.quantized_op import QUANTIZED, QuantizedCall
from cmcompiler.ir.quantization import Quantization

operators.define()
"""Registered once: torch keeps them for the life of the process."""


def error_in_steps(
    operator: str, x: Tensor, parameters: dict[int, Tensor], *arguments: object
) -> float:
    """Largest difference between the float and the int8 operator, beyond its range excepted."""
    own = getattr(torch.ops.cmbuild, operator).default
    source = quantization(x)
    steps = (x / source.scale).round() + source.zero_point
    real = own((steps - source.zero_point) * source.scale, *arguments)
    output = quantization(real)
    node = torch.fx.Graph().placeholder("x")
    node.meta["val"] = x
    given = [node, *arguments]
    call = QuantizedCall(given, {0: source}, output, parameters)
    lowered, numbers = QUANTIZED[own].lowering(call)
    made = [
        In(steps.to(torch.int8).numpy())
        if number is node
        else In(number.numpy(), constant=True)
        if isinstance(number, Tensor)
        else tuple(number)
        if isinstance(number, list)
        else number
        for number in numbers
    ]
    example = calling(f"{lowered._schema.name}.out", *made, Out("int8", tuple(x.shape)))
    actual = example.reference.outputs[0].astype(np.float64) - output.zero_point
    return float(np.abs(actual - real.numpy() / output.scale).max())


def quantization(x: Tensor) -> Quantization:
    low, high = min(x.min().item(), 0.0), max(x.max().item(), 0.0)
    scale = max((high - low) / 255, 1e-9)
    return Quantization(scale, round(-128 - low / scale), -128, 127)


@pytest.mark.parametrize("dims", [[2], [1], [1, 2], [2, 1], [3, 1], [1, 2, 3], [0, 3]])
@pytest.mark.parametrize("shaped", [False, True])
def test_parts_in_float_compute_the_same(dims: list[int], shaped: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 5)
    sizes = [x.shape[dim] for dim in dims]
    weight, bias = (torch.randn(sizes if shaped else math.prod(sizes)) for _ in range(2))
    for name, arguments in (
        ("layer_norm", (dims, weight, bias, 1e-5)),
        ("layer_norm", (dims, None, bias, 1e-5)),
        ("rms_norm", (dims, weight, 1e-5)),
        ("rms_norm", (dims, None, 1e-5)),
        ("group_norm", (3, torch.randn(3), torch.randn(3), 1e-5)),
    ):
        forms = (FLOAT_FORMS, UNROUNDED_FORMS)
        exact, actual = (form[f"cmbuild::{name}"](x, *arguments) for form in forms)
        torch.testing.assert_close(actual, exact)


sizes = st.floats(1e-3, 1e3)


@given(st.integers(0, 1000), sizes, sizes, st.sampled_from([1e-12, 1e-5, 0.1]))
def test_norms(seed: int, size: float, weight_size: float, eps: float) -> None:
    torch.manual_seed(seed)
    x = torch.randn(2, 6, 3, 4) * size + torch.randn(1) * size
    weight, bias = (torch.randn(6) * weight_size for _ in range(2))
    both = {2: weight, 3: bias}
    assert error_in_steps("layer_norm", x, both, [1], weight, bias, eps) < 0.51
    assert error_in_steps("rms_norm", x, {2: weight}, [1], weight, eps) < 0.51
    assert error_in_steps("group_norm", x, both, 3, weight, bias, eps) < 0.51


@pytest.mark.parametrize("dims", [[0], [3, 1], [1, 2, 3]])
def test_without_parameters_over_any_dimensions(dims: list[int]) -> None:
    torch.manual_seed(1)
    x = torch.randn(2, 6, 3, 4)
    assert error_in_steps("layer_norm", x, {}, dims, None, None, 1e-5) < 0.51
    assert error_in_steps("rms_norm", x, {}, dims, None, 1e-5) < 0.51
