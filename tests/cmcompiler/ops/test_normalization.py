"""Layer, group and batch norm in any memory order, on every runtime and against torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from harness.calls import In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import extreme_floats, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

Drawn = tuple[Example, tuple[Array, ...]]


def tensor(draw: st.DrawFn, *shape: int) -> tuple[In, torch.Tensor]:
    rng = np.random.default_rng(draw(seeds))
    x = (rng.normal(size=shape) * 3 + rng.integers(-9, 9)).astype(np.float32)
    return In(x, tuple(draw(st.permutations(range(len(shape)))))), torch.from_numpy(x)


def parameter(draw: st.DrawFn, *shape: int) -> tuple[In | None, torch.Tensor | None]:
    if draw(st.booleans()):
        return None, None
    x = np.random.default_rng(draw(seeds)).normal(size=shape).astype(np.float32)
    return In(x, constant=draw(st.booleans())), torch.from_numpy(x)


def outs(draw: st.DrawFn, results: tuple[Array, ...]) -> list[Out]:
    whole = results[0]
    order = tuple(draw(st.permutations(range(whole.ndim))))
    return [Out(x.dtype, x.shape, order if x is whole else None) for x in results]


def layer_norm(draw: st.DrawFn) -> Drawn:
    leading = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(0, 2)))]
    shape = tuple(draw(st.integers(1, 9)) for _ in range(draw(st.integers(1, 2))))
    source, x = tensor(draw, *leading, *shape)
    (weight, w), (bias, b) = parameter(draw, *shape), parameter(draw, *shape)
    results = tuple(y.numpy() for y in torch.native_layer_norm(x, shape, w, b, 1e-3))
    arguments = (source, shape, weight, bias, 1e-3, *outs(draw, results))
    return calling("aten::native_layer_norm.out", *arguments), results


def group_norm(draw: st.DrawFn) -> Drawn:
    groups = draw(st.integers(1, 3))
    channels = groups * draw(st.integers(1, 3))
    sizes = [draw(st.integers(1, 5)) for _ in range(draw(st.integers(0, 2)))]
    source, x = tensor(draw, draw(st.integers(1, 3)), channels, *sizes)
    (weight, w), (bias, b) = parameter(draw, channels), parameter(draw, channels)
    numbers = (len(x), channels, int(np.prod(sizes)), groups, 1e-3)
    results = tuple(y.numpy() for y in torch.native_group_norm(x, w, b, *numbers))
    arguments = (source, weight, bias, *numbers, *outs(draw, results))
    return calling("aten::native_group_norm.out", *arguments), results


def batch_norm(draw: st.DrawFn) -> Drawn:
    channels = draw(st.integers(1, 5))
    sizes = [draw(st.integers(1, 5)) for _ in range(draw(st.integers(0, 2)))]
    source, x = tensor(draw, draw(st.integers(1, 3)), channels, *sizes)
    (weight, w), (bias, b) = parameter(draw, channels), parameter(draw, channels)
    rng = np.random.default_rng(draw(seeds))
    mean = rng.normal(size=channels).astype(np.float32)
    variance = rng.uniform(0.1, 4, channels).astype(np.float32)
    statistics = (torch.from_numpy(mean), torch.from_numpy(variance))
    result = torch.native_batch_norm(x, w, b, *statistics, False, 0.1, 1e-3)[0].numpy()
    given_ones = (In(mean, constant=True), In(variance, constant=True))
    operator = "aten::_native_batch_norm_legit_no_training.out"
    program = (source, weight, bias, *given_ones, 0.1, 1e-3, *outs(draw, (result,)))
    return calling(operator, *program, None, None), (result,)


def instance_norm(draw: st.DrawFn) -> Drawn:
    channels = draw(st.integers(1, 4))
    sizes = [draw(st.integers(1, 5)) for _ in range(draw(st.integers(1, 2)))]
    source, x = tensor(draw, draw(st.integers(1, 3)), channels, *sizes)
    (weight, w), (bias, b) = parameter(draw, channels), parameter(draw, channels)
    call = torch.ops.aten._native_batch_norm_legit.no_stats
    results = tuple(y.numpy() for y in call(x, w, b, True, 0.1, 1e-3))
    arguments = (source, weight, bias, True, 0.1, 1e-3, *outs(draw, results))
    return calling("aten::_native_batch_norm_legit.no_stats_out", *arguments), results


@st.composite
def extreme_calls(draw: st.DrawFn) -> Example:
    """Of many groups; with long runs of one channel, too."""
    shape = (draw(st.integers(1, 9)), draw(st.integers(1, 3)), draw(st.integers(1, 40)))
    x = In(extreme_floats(shape, draw(seeds)))
    if draw(st.booleans()):
        weight, bias = (In(extreme_floats(shape[2:], draw(seeds))) for _ in range(2))
        outs = [Out(np.float32, s) for s in (shape, (*shape[:2], 1), (*shape[:2], 1))]
        return calling("aten::native_layer_norm.out", x, shape[2:], weight, bias, 1e-30, *outs)
    weight, bias = (In(extreme_floats(shape[1:2], draw(seeds))) for _ in range(2))
    outs = [Out(np.float32, s) for s in (shape, (shape[0], 1), (shape[0], 1))]
    return calling("aten::native_group_norm.out", x, weight, bias, *shape, 1, 1e-30, *outs)


KINDS: list[Callable[[st.DrawFn], Drawn]] = [layer_norm, group_norm, batch_norm, instance_norm]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=6)
@given(data=st.data())
def test_norm(runtime: Runtime, kind: Callable[[st.DrawFn], Drawn], data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.composite(kind)(), min_size=1, max_size=15))
    for example, expected in drawn:
        for actual, wanted in zip(example.reference.outputs, expected, strict=True):
            assert np.allclose(actual, wanted, rtol=1e-4, atol=1e-4)
    runtime.check(*(example for example, _ in drawn))


def test_numbers_far_from_zero_keep_their_variance() -> None:
    """Mean of squares minus square of mean would lose all digits."""
    x = (np.arange(8) + 10_000).astype(np.float32)
    whole = [Out(np.float32, (8,)), Out(np.float32, (1,)), Out(np.float32, (1,))]
    example = calling("aten::native_layer_norm.out", In(x), (8,), None, None, 0.0, *whole)
    actual, mean, inverse = example.reference.outputs
    assert mean.item() == 10_003.5
    assert inverse.item() == pytest.approx(1 / np.std(np.arange(8)))
    assert actual == pytest.approx((np.arange(8) - 3.5) / np.std(np.arange(8)))


@settings(max_examples=5)
@given(st.lists(extreme_calls(), min_size=1, max_size=15))
def test_subnormal_infinite_and_undefined(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_nothing_but_negative_zeros(runtime: Runtime) -> None:
    x = In(np.full((2, 9), -0.0, np.float32))
    outs = [Out(np.float32, shape) for shape in ((2, 9), (2, 1), (2, 1))]
    runtime.check(calling("aten::native_layer_norm.out", x, (9,), None, None, 1e-5, *outs))
