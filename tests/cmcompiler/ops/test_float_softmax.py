"""Softmax of floats over any dimension, on every runtime and against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.calls import In, Out, calling
from harness.examples import Example
from harness.runtime import Runtime
from harness.strategies import seeds
from hypothesis import given, settings
from hypothesis import strategies as st


@st.composite
def calls(draw: st.DrawFn, name: str) -> tuple[Example, np.ndarray]:
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    rng = np.random.default_rng(draw(seeds))
    x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3)).astype(np.float32)
    orders = st.permutations(range(len(shape))).map(tuple)
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    out = Out(np.float32, shape, draw(orders))
    example = calling(f"aten::_{name}.out", In(x, draw(orders)), dim, False, out)
    return example, getattr(torch, name)(torch.from_numpy(x), dim).numpy()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@settings(max_examples=8)
@given(data=st.data())
def test_softmax(runtime: Runtime, name: str, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(calls(name), min_size=1, max_size=20))
    for example, expected in drawn:
        assert np.allclose(example.reference.outputs[0], expected, rtol=2e-5, atol=2e-7)
    runtime.check(*(example for example, _ in drawn))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_every_magnitude(runtime: Runtime, name: str) -> None:
    """Distances from the largest whose powers are 1, normal, subnormal or 0, next to each other."""
    rng = np.random.default_rng(1)
    steps = [
        0,
        2**-149,
        2**-126,
        2**-70,
        1e-20,
        1e-6,
        1,
        80,
        87.3,
        90,
        103,
        103.9,
        104.1,
        1e4,
        np.inf,
    ]
    x = -rng.choice(np.array(steps, np.float32), (60, 23)) * rng.choice([1, 1, 0.97], (60, 23))
    x[:, 5] = rng.choice([0, 2**-149], 60)
    x = x.astype(np.float32)
    runtime.check(calling(f"aten::_{name}.out", In(x), 1, False, Out(np.float32, x.shape)))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_limits(runtime: Runtime, name: str) -> None:
    inf, nan = np.inf, np.nan
    rows = [[0, -inf, 1], [nan, 0, 1], [0, 1, nan], [inf, 0, 1], [-1e30, 1e30, 0], [-90, 0, -100]]
    x = np.array(rows, np.float32)
    example = calling(f"aten::_{name}.out", In(x), 1, False, Out(np.float32, x.shape))
    expected = getattr(torch, name)(torch.from_numpy(x), 1).numpy()
    (actual,) = example.reference.outputs
    assert np.allclose(actual, expected, rtol=1e-5, atol=1e-44, equal_nan=True)
    runtime.check(example)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_a_number_is_a_row_of_one(runtime: Runtime, name: str) -> None:
    example = calling(f"aten::_{name}.out", In(np.float32(3)), -1, False, Out(np.float32, ()))
    (actual,) = example.reference.outputs
    assert actual == (0 if name == "log_softmax" else 1)
    runtime.check(example)
