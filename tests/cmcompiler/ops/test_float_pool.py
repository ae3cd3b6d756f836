"""Portable pools in any memory order, on every runtime and against torch."""

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

from cmcompiler.errors import Unsupported

Drawn = tuple[Example, tuple[Array, ...]]


@st.composite
def images(draw: st.DrawFn, dtype: str = "float32") -> In:
    rank = draw(st.sampled_from([3, 4, 4]))
    shape = tuple(draw(st.integers(1, n)) for n in (2, 5, 11, 11))[4 - rank :]
    return In(array(shape, dtype, draw(seeds)), tuple(draw(st.permutations(range(rank)))))


def window(draw: st.DrawFn, dilated: bool) -> tuple[tuple[int, ...], ...]:
    """Kernel, stride, padding and dilation."""
    kernel = tuple(draw(st.integers(1, 4)) for _ in range(2))
    stride = draw(st.just(()) | st.tuples(*[st.integers(1, 3)] * 2))
    padding = tuple(draw(st.integers(0, n // 2)) for n in kernel)
    dilation = tuple(draw(st.integers(1, 2)) if dilated else 1 for _ in range(2))
    return kernel, stride, padding, dilation


def out(draw: st.DrawFn, x: Array) -> Out:
    return Out(x.dtype, x.shape, tuple(draw(st.permutations(range(x.ndim)))))


@st.composite
def averages(draw: st.DrawFn) -> Drawn:
    source = draw(images())
    kernel, stride, padding, _ = window(draw, dilated=False)
    rest = (draw(st.booleans()), draw(st.booleans()), draw(st.none() | st.integers(1, 9)))
    x = torch.from_numpy(source.array)
    try:
        expected = torch.nn.functional.avg_pool2d(x, kernel, stride or None, padding, *rest).numpy()
    except RuntimeError:  # there is no output
        return draw(averages())
    arguments = (source, kernel, stride, padding, *rest)
    return calling("aten::avg_pool2d.out", *arguments, out(draw, expected)), (expected,)


@st.composite
def adaptive(draw: st.DrawFn) -> Drawn:
    source = draw(images())
    size = (draw(st.integers(1, 13)), draw(st.integers(1, 13)))
    expected = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(source.array), size).numpy()
    operator = "aten::_adaptive_avg_pool2d.out"
    return calling(operator, source, size, out(draw, expected)), (expected,)


@st.composite
def maxima(draw: st.DrawFn) -> Drawn:
    source = draw(images(draw(dtypes.filter(lambda dtype: dtype != "bool"))))
    kernel, stride, padding, dilation = window(draw, dilated=True)
    ceil_mode = draw(st.booleans())
    x = torch.from_numpy(source.array).double()
    arguments = (kernel, stride or None, padding, dilation, ceil_mode)
    try:
        places = torch.nn.functional.max_pool2d_with_indices(x, *arguments)[1].numpy()
        outs = [out(draw, np.empty(places.shape, source.array.dtype)), out(draw, places)]
        arguments = (source, kernel, stride, padding, dilation, ceil_mode)
        example = calling("aten::max_pool2d_with_indices.out", *arguments, *outs)
    except (RuntimeError, Unsupported):  # no output, or a window that covers nothing
        return draw(maxima())
    flat = source.array.reshape(*places.shape[:-2], -1)
    values = np.take_along_axis(flat, places.reshape(*places.shape[:-2], -1), -1)
    return example, (values.reshape(places.shape), places)


@st.composite
def adaptive_maxima(draw: st.DrawFn) -> Drawn:
    source = draw(images(draw(dtypes.filter(lambda dtype: dtype != "bool"))))
    size = (draw(st.integers(1, 13)), draw(st.integers(1, 13)))
    x = torch.from_numpy(source.array).double()
    values, places = torch.nn.functional.adaptive_max_pool2d_with_indices(x, size)
    expected = (values.numpy().astype(source.array.dtype), places.numpy())
    outs = [out(draw, array) for array in expected]
    return calling("aten::adaptive_max_pool2d.out", source, size, *outs), expected


KINDS = [averages, adaptive, maxima, adaptive_maxima]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=8)
@given(data=st.data())
def test_pool(runtime: Runtime, kind: object, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(kind(), min_size=1, max_size=15))
    for example, expected in drawn:
        for actual, wanted in zip(example.reference.outputs, expected, strict=True):
            assert actual.dtype == wanted.dtype
            assert np.allclose(actual, wanted, rtol=1e-5, atol=1e-6)
    runtime.check(*(example for example, _ in drawn))


def test_the_last_nan_wins(runtime: Runtime) -> None:
    x = np.array([[[[1, np.nan, 7, np.nan, 9]]]], np.float32)
    outs = [Out(np.float32, (1, 1, 1, 1)), Out(np.int64, (1, 1, 1, 1))]
    arguments = (In(x), (1, 5), (), (0, 0), (1, 1), False)
    example = calling("aten::max_pool2d_with_indices.out", *arguments, *outs)
    value, place = example.reference.outputs
    assert np.isnan(value.item())
    assert place.item() == torch.max_pool2d(torch.from_numpy(x), (1, 5)).numel() + 2
    runtime.check(example)


def test_int8_maxima_are_those_of_the_quantised_pool_where_places_are_not_needed() -> None:
    x = In(np.zeros((1, 8, 6, 6), np.int8), (0, 2, 3, 1))
    outs = [Out(np.int8, (1, 8, 3, 3), (0, 2, 3, 1)), Out(np.int64, (1, 8, 3, 3))]
    arguments = (x, (2, 2), (), (0, 0), (1, 1), False)
    graph = calling("aten::max_pool2d_with_indices.out", *arguments, *outs).graph
    titles = [node.op.title for node in graph.nodes]
    assert titles == ["max_pool2d 2×2", "max_pool2d indices"]
