"""Bilinear images on every runtime, and within a step of torch."""

from __future__ import annotations

import numpy as np
import torch
from harness.calls import In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import array, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

FACTORS = st.sampled_from([0.4, 0.5, 1.0, 1.3, 2.0, 2.5, 3.0, 4.0])
Drawn = tuple[Example, Array]


@st.composite
def bilinear(draw: st.DrawFn) -> Drawn:
    shape = tuple(draw(st.integers(1, n)) for n in (2, 19, 9, 9))
    dtype = draw(st.sampled_from(["int8", "int16"]))
    source = array(shape, dtype, draw(seeds))
    corners, size, factors = draw(st.booleans()), None, (draw(FACTORS), draw(FACTORS))
    if draw(st.booleans()) or min(int(shape[2] * factors[0]), int(shape[3] * factors[1])) == 0:
        size, factors = (draw(st.integers(1, 20)), draw(st.integers(1, 20))), None
    x = torch.from_numpy(source.astype(np.float64))
    real = torch.ops.aten.upsample_bilinear2d.vec(x, size, corners, factors).numpy()
    order = tuple(draw(st.permutations(range(4)))) if draw(st.booleans()) else (0, 2, 3, 1)
    example = calling(
        "cmbuild::quantized_upsample_bilinear2d.out",
        *(In(source, order), real.shape[2:], corners, factors, Out(dtype, real.shape, order)),
    )
    return example, real


@settings(max_examples=10)
@given(drawn=st.lists(bilinear(), min_size=1, max_size=15))
def test_every_runtime_equals_the_reference(runtime: Runtime, drawn: list[Drawn]) -> None:
    runtime.check(*(example for example, _ in drawn))


@given(drawn=bilinear())
def test_results_are_rounded_blends(drawn: Drawn) -> None:
    example, real = drawn
    (actual,) = example.reference.outputs
    assert np.abs(actual - real).max() <= (0.52 if actual.dtype == np.int8 else 1.51)
