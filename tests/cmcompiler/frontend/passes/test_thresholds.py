"""Comparisons of int8 elements with numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cmcompiler import api

COMPARISONS = [
    *(operator.gt, operator.ge, operator.lt, operator.le),
    *(operator.eq, operator.ne),
]

NUMBERS = [0.0, 0.5, -0.7, 3.0, -3.0, 100.0, -100.0, math.inf, -math.inf]
"""Some outside of the range of the layer's outputs."""


class Comparing(nn.Module):
    def __init__(self, compare: Callable[[Tensor, float], Tensor]) -> None:
        super().__init__()
        self.compare = compare

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        scores = x.flip(-1)
        return scores, *(self.compare(scores, number) for number in NUMBERS)


@pytest.mark.parametrize("compare", COMPARISONS)
def test_elements_compare_as_the_numbers_that_they_stand_for(
    compare: Callable[[Tensor, float], Tensor],
) -> None:
    samples = [(torch.linspace(-2, 2, 32)[None],) for _ in range(2)]
    compiled = api.compile(Comparing(compare), samples[0], samples)
    given = [(sample.numpy(),) for (sample,) in samples[:1]]
    scores, *actual = next(iter(api.reference(compiled, given)))
    scale, zero_point = compiled.contract.outputs[0].scale, compiled.contract.outputs[0].zero_point
    assert scale is not None and zero_point is not None
    for number, result in zip(NUMBERS, actual, strict=True):
        nearest = number
        if compare in (operator.eq, operator.ne) and math.isfinite(number):
            nearest = float(np.float32(round(number / scale) * scale))
        expected = compare(torch.from_numpy(scores), nearest).numpy()
        assert np.array_equal(result, expected), number
