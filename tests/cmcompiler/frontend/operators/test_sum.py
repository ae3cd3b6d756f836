"""Sums and means of quantised numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cmcompiler.frontend import operators
from cmcompiler.frontend.operators.sum import to_quantized_sum
from cmcompiler.frontend.quantized_op import QuantizedCall
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ops.support.parameters import Rescale


@pytest.mark.parametrize("factor", [0.33, 0.24, 0.2, 0.13, 0.01])
def test_sums_are_rounded_without_an_offset(factor: float) -> None:
    operators.define()
    source, output = Quantization(factor, 0, -128, 127), Quantization(1.0, 0, -128, 127)
    call = QuantizedCall((torch.zeros(4), [0], False), {0: source}, output, {})
    _, arguments = to_quantized_sum(call)
    multiplier, shift = arguments[-2:]
    assert isinstance(multiplier, int) and isinstance(shift, int)
    sums = np.arange(1000, dtype=np.int32)
    error = Rescale(0, multiplier, shift).scale(sums) - sums * factor
    assert abs(error.mean()) < 0.1 and np.abs(error).max() < 0.6
