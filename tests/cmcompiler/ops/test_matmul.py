"""Float matrices of any memory order, on every runtime and against torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from harness.calls import Given, In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import array, extreme_floats, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import InvalidProgram

Drawn = tuple[str, list[Given], torch.Tensor]


def matrix(draw: st.DrawFn, *shape: int) -> tuple[In, torch.Tensor]:
    x = array(shape, "float32", draw(seeds))
    order = tuple(draw(st.permutations(range(len(shape)))))
    return In(x, order, constant=draw(st.booleans())), torch.from_numpy(x)


def sizes(draw: st.DrawFn, count: int) -> list[int]:
    return [draw(st.integers(1, 20)) for _ in range(count)]


def mm(draw: st.DrawFn) -> Drawn:
    m, k, n = sizes(draw, 3)
    (a, x), (b, y) = matrix(draw, m, k), matrix(draw, k, n)
    return "mm", [a, b], x @ y


def bmm(draw: st.DrawFn) -> Drawn:
    m, k, n = sizes(draw, 3)
    count = draw(st.integers(1, 4))
    (a, x), (b, y) = matrix(draw, count, m, k), matrix(draw, count, k, n)
    return "bmm", [a, b], x @ y


def addmm(draw: st.DrawFn) -> Drawn:
    m, k, n = sizes(draw, 3)
    (a, x), (b, y) = matrix(draw, m, k), matrix(draw, k, n)
    shape = draw(st.sampled_from([(m, n), (n,), (m, 1), (1, 1), ()]))
    c, z = matrix(draw, *shape)
    beta, alpha = draw(st.sampled_from([(1, 1), (0, 1), (0.5, -2.0)]))
    return "addmm", [c, a, b, beta, alpha], torch.addmm(z, x, y, beta=beta, alpha=alpha)


def linear(draw: st.DrawFn) -> Drawn:
    k, n = sizes(draw, 2)
    leading = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(0, 3)))]
    (a, x), (b, y), (c, z) = matrix(draw, *leading, k), matrix(draw, n, k), matrix(draw, n)
    if draw(st.booleans()):
        return "linear", [a, b, None], torch.nn.functional.linear(x, y)
    return "linear", [a, b, c], torch.nn.functional.linear(x, y, z)


KINDS: list[Callable[[st.DrawFn], Drawn]] = [mm, bmm, addmm, linear]


@st.composite
def products(draw: st.DrawFn, kind: Callable[[st.DrawFn], Drawn]) -> tuple[Example, Array]:
    name, arguments, expected = kind(draw)
    order = tuple(draw(st.permutations(range(expected.dim()))))
    out = Out(np.float32, tuple(expected.shape), order)
    return calling(f"aten::{name}.out", *arguments, out), expected.numpy()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=5)
@given(data=st.data())
def test_product(runtime: Runtime, kind: Callable[[st.DrawFn], Drawn], data: st.DataObject) -> None:
    drawn = data.draw(st.lists(products(kind), min_size=1, max_size=15))
    for example, expected in drawn:
        assert np.allclose(example.reference.outputs[0], expected, rtol=1e-5, atol=1e-5)
    runtime.check(*(example for example, _ in drawn))


@st.composite
def extreme_products(draw: st.DrawFn) -> Example:
    m, k, n = sizes(draw, 3)
    shapes = ((n,), (m, k), (k, n))
    c, a, b = (In(extreme_floats(shape, draw(seeds))) for shape in shapes)
    return calling("aten::addmm.out", c, a, b, 1, 1, Out(np.float32, (m, n)))


@settings(max_examples=5)
@given(st.lists(extreme_products(), min_size=1, max_size=15))
def test_subnormal_infinite_and_undefined(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def test_sums_go_from_the_first_product_to_the_last() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape, np.float32) for shape in ((1, 50), (50, 1)))
    example = calling("aten::mm.out", In(a), In(b), Out(np.float32, (1, 1)))
    total = np.float32(0)
    for x, y in zip(a[0], b[:, 0], strict=True):
        total = total + x * y
    assert example.reference.outputs[0].item() == total


def test_nothing_to_add_up(runtime: Runtime) -> None:
    a, b = (In(np.zeros(shape, np.float32)) for shape in ((2, 0), (0, 3)))
    example = calling("aten::mm.out", a, b, Out(np.float32, (2, 3)))
    assert not example.reference.outputs[0].any()
    runtime.check(example)


def test_shapes_that_do_not_fit() -> None:
    a, b = (In(np.zeros(shape, np.float32)) for shape in ((2, 4), (5, 3)))
    with pytest.raises(InvalidProgram, match=r"\[1, 2, 4\] by \[1, 5, 3\]"):
        calling("aten::mm.out", a, b, Out(np.float32, (2, 3)))
