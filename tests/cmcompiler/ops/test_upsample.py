"""Nearest and bilinear images in any memory order, on every runtime and against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.calls import In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import array, dtypes, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

Drawn = tuple[Example, Array]
Sizes = tuple[tuple[int, int] | None, tuple[float, float] | None]

FACTORS = st.sampled_from([0.4, 0.5, 1.0, 1.3, 2.0, 2.5, 3.0])


@st.composite
def images(draw: st.DrawFn, dtype: str) -> In:
    shape = tuple(draw(st.integers(1, n)) for n in (2, 3, 9, 9))
    return In(array(shape, dtype, draw(seeds)), tuple(draw(st.permutations(range(4)))))


def sizes(draw: st.DrawFn, source: In) -> Sizes:
    """An output size, or factors."""
    if draw(st.booleans()):
        return (draw(st.integers(1, 20)), draw(st.integers(1, 20))), None
    height, width = source.array.shape[2:]
    factors = (draw(FACTORS), draw(FACTORS))
    if min(int(height * factors[0]), int(width * factors[1])) == 0:
        return (1, 1), None
    return None, factors


def out(draw: st.DrawFn, x: Array) -> Out:
    return Out(x.dtype, x.shape, tuple(draw(st.permutations(range(4)))))


@st.composite
def nearest(draw: st.DrawFn) -> Drawn:
    source = draw(images(draw(dtypes)))
    size, factors = sizes(draw, source)
    # torch supports only floats here: use the indices of the elements.
    places = torch.arange(source.array.size, dtype=torch.float32).reshape(source.array.shape)
    actual = torch.ops.aten.upsample_nearest2d.vec(places, size, factors).numpy()
    expected = source.array.reshape(-1)[actual.astype(int)]
    arguments = (source, size, factors, out(draw, expected))
    return calling("aten::upsample_nearest2d.vec_out", *arguments), expected


@st.composite
def bilinear(draw: st.DrawFn) -> Drawn:
    source, corners = draw(images("float32")), draw(st.booleans())
    size, factors = sizes(draw, source)
    x = torch.from_numpy(source.array)
    expected = torch.ops.aten.upsample_bilinear2d.vec(x, size, corners, factors).numpy()
    arguments = (source, size, corners, factors, out(draw, expected))
    return calling("aten::upsample_bilinear2d.vec_out", *arguments), expected


@pytest.mark.parametrize("kind", [nearest, bilinear], ids=lambda kind: kind.__name__)
@settings(max_examples=10)
@given(data=st.data())
def test_upsample(runtime: Runtime, kind: object, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(kind(), min_size=1, max_size=15))
    for example, expected in drawn:
        (actual,) = example.reference.outputs
        assert actual.dtype == expected.dtype
        assert np.allclose(actual, expected, rtol=1e-5, atol=1e-5)
    runtime.check(*(example for example, _ in drawn))


def test_whole_factors_are_one_copy() -> None:
    x = In(np.zeros((1, 3, 4, 5), np.int8), (0, 2, 3, 1))
    target = Out(np.int8, (1, 3, 8, 15), (0, 2, 3, 1))
    graph = calling("aten::upsample_nearest2d.vec_out", x, None, (2.0, 3.0), target).graph
    assert [node.op.label for node in graph.nodes] == ["copy"]
