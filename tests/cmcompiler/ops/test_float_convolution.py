"""Convolution of floats in all its forms, on every runtime and against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.calls import In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import array, extreme_floats, seeds
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError


@st.composite
def calls(draw: st.DrawFn, rank: int, transposed: bool) -> tuple[Example, Array]:
    def each(least: int, most: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(least, most)) for _ in range(rank))

    groups = draw(st.sampled_from([1, 1, 2, 3]))
    inputs, outputs = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    kernel, stride, dilation, padding = each(1, 4), each(1, 3), each(1, 3), each(0, 3)
    extra = (0,) * rank
    if transposed:
        pairs = zip(stride, dilation, strict=True)
        extra = tuple(draw(st.integers(0, max(pair) - 1)) for pair in pairs)
        weights = (inputs, outputs // groups, *kernel)
    else:
        weights = (outputs, inputs // groups, *kernel)
    shape = (draw(st.integers(1, 2)), inputs, *each(1, 8))
    x, w, b = (array(s, "float32", draw(seeds)) for s in (shape, weights, (outputs,)))
    bias = b if draw(st.booleans()) else None
    settings_of_it = (stride, padding, dilation, transposed, extra, groups)
    try:
        expected = torch.convolution(
            *(None if y is None else torch.from_numpy(y) for y in (x, w, bias)), *settings_of_it
        )
    except RuntimeError:  # there is no output
        assume(False)
    orders = st.permutations(range(rank + 2)).map(tuple)
    out = Out(np.float32, tuple(expected.shape), draw(orders))
    weight = In(w, draw(orders), constant=draw(st.booleans()))
    given_bias = None if bias is None else In(bias, constant=True)
    source = In(x, draw(orders))
    example = calling("aten::convolution.out", source, weight, given_bias, *settings_of_it, out)
    return example, expected.numpy()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
@settings(max_examples=4)
@given(data=st.data())
def test_convolution(runtime: Runtime, rank: int, transposed: bool, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(calls(rank, transposed), min_size=1, max_size=15))
    for example, expected in drawn:
        assert np.allclose(example.reference.outputs[0], expected, rtol=1e-5, atol=2e-5)
    runtime.check(*(example for example, _ in drawn))


@st.composite
def extreme_calls(draw: st.DrawFn) -> Example:
    groups, inputs, outputs = (draw(st.integers(1, 6)) for _ in range(3))
    height, width = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    shapes = (
        (1, groups * inputs, height, width),
        (groups * outputs, inputs, 3, 3),
        (groups * outputs,),
    )
    x, w, b = (extreme_floats(shape, draw(seeds)) for shape in shapes)
    order = draw(st.sampled_from([(0, 1, 2, 3), (0, 2, 3, 1)]))
    out = Out(np.float32, (1, groups * outputs, height, width), order)
    parameters = ((1, 1), (1, 1), (1, 1), False, (0, 0), groups)
    return calling("aten::convolution.out", In(x, order), In(w), In(b), *parameters, out)


@settings(max_examples=4)
@given(st.lists(extreme_calls(), min_size=1, max_size=15))
def test_subnormal_infinite_and_undefined(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@st.composite
def wide_calls(draw: st.DrawFn) -> Example:
    """With more channels and places than a microkernel takes at once."""
    channels, outputs, size = (draw(st.integers(1, 40)) for _ in range(3))
    kernel, dilation = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    reach = dilation * (kernel - 1)
    groups = channels if draw(st.booleans()) else 1
    outputs = channels * draw(st.integers(1, 2)) if groups > 1 else outputs
    count = size + 2 * (reach // 2) - reach
    shapes = ((1, channels, size), (outputs, channels // groups, kernel), (outputs,))
    x, w, b = (In(array(shape, "float32", draw(seeds))) for shape in shapes)
    parameters = ((1,), (reach // 2,), (dilation,), False, (0,), groups)
    return calling(
        "aten::convolution.out", x, w, b, *parameters, Out(np.float32, (1, outputs, count))
    )


@settings(max_examples=4)
@given(st.lists(wide_calls(), min_size=1, max_size=10))
def test_many_channels_and_places(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_strides_far_beyond_the_image(runtime: Runtime) -> None:
    rng = np.random.default_rng(1)
    x, w = (In(rng.standard_normal((1, 20000, 1, 1), np.float32), (0, 2, 3, 1)) for _ in range(2))
    far = ((32767, 32767), (32767, 32767), (32767, 32767))
    out = Out(np.float32, (1, 1, 3, 3))
    runtime.check(calling("aten::convolution.out", x, w, None, *far, False, (0, 0), 1, out))


def test_sums_go_over_channels_then_taps_and_the_bias_comes_last() -> None:
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal((1, 5, 3, 4), np.float32) for _ in range(2))
    bias = np.array([0.3], np.float32)
    out = Out(np.float32, (1, 1, 1, 1))
    parameters = ((1, 1), (0, 0), (1, 1), False, (0, 0), 1)
    example = calling("aten::convolution.out", In(x), In(w), In(bias), *parameters, out)
    total = np.float32(0)
    for a, b in zip(x.ravel(), w.ravel(), strict=True):
        total = total + a * b
    assert example.reference.outputs[0].item() == total + bias[0]


@pytest.mark.parametrize(
    ("weights", "out", "message"),
    [
        ((4, 2, 3), (1, 4, 6), r"weights are \[4, 2, 3\] for 1 groups of 3"),
        ((4, 3, 3), (1, 4, 5), r"output is \[1, 4, 5\] for \[1, 3, 8\]"),
        ((4, 3, 3, 1), (1, 4, 6), "images of 3 dimensions, weights of 4"),
    ],
)
def test_what_does_not_fit(weights: tuple[int, ...], out: tuple[int, ...], message: str) -> None:
    x, w = (In(np.zeros(shape, np.float32)) for shape in ((1, 3, 8), weights))
    with pytest.raises(CompilerError, match=message):
        calling(
            "aten::convolution.out",
            *(x, w, None, (1,), (0,), (1,), False, (0,), 1, Out(np.float32, out)),
        )
