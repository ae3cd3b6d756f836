"""Quantised operators in any memory order match the same with contiguous tensors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.calls import Given, In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import int8_array, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.ir.movement.view import View

ADD = (3, 1 << 30, 0, -5, 1717986918, -1, 7, 1503238553, -18, -128, 127)
SOFTMAX = (0, -128, 1 << 30, 22, -255)


def add(lhs: In, rhs: In) -> list[Given]:
    return [lhs, *ADD[:3], rhs, *ADD[3:]]


def mul(lhs: In, rhs: In) -> list[Given]:
    return [lhs, 3, rhs, -5, 7, 1503238553, -5]


def div(lhs: In, rhs: In) -> list[Given]:
    return [lhs, 3, rhs, -5, 7, 20.0]


def both(lhs: In, rhs: In) -> list[Given]:
    return [lhs, rhs]


TWO = {
    "cortex_m::quantized_add.out": add,
    "cortex_m::quantized_mul.out": mul,
    "cortex_m::quantized_div.out": div,
    "cortex_m::minimum.out": both,
    "cortex_m::maximum.out": both,
}


def contiguous(source: In) -> In:
    return In(source.array, None, source.constant)


def reference(example: Example) -> Array:
    (output,) = example.reference.outputs
    return output


@st.composite
def orders(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    if rank == 4 and draw(st.booleans()):
        return draw(st.sampled_from([(0, 1, 2, 3), (0, 2, 3, 1), (0, 2, 1, 3)]))
    return tuple(draw(st.permutations(range(rank))))


@st.composite
def pairs(draw: st.DrawFn, operator: str) -> tuple[Example, Example]:
    """A call in some memory orders, operands constant or not, and the same with contiguous ones."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    sides = []
    for _ in range(2):
        dims = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in shape)
        dims = dims[draw(st.integers(0, 1)) :] if dims[0] == 1 else dims
        order = draw(orders(len(dims)))
        sides.append(In(int8_array(dims, draw(seeds)), order, draw(st.integers(0, 3)) == 0))
    if all(side.constant for side in sides):
        sides[0] = In(sides[0].array, sides[0].order)
    result = np.broadcast_shapes(*(side.array.shape for side in sides))
    given_arguments = TWO[operator](*sides)
    plain = TWO[operator](*map(contiguous, sides))
    order = draw(orders(len(result)))
    return (
        calling(operator, *given_arguments, Out("int8", result, order)),
        calling(operator, *plain, Out("int8", result)),
    )


@pytest.mark.parametrize("operator", sorted(TWO))
@settings(max_examples=4)
@given(data=st.data())
def test_two_operands(runtime: Runtime, operator: str, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(pairs(operator), min_size=1, max_size=20))
    for example, plain in drawn:
        assert np.array_equal(reference(example), reference(plain))
    runtime.check(*(example for example, _ in drawn))


@settings(max_examples=5)
@given(data=st.data())
def test_softmax_of_any_dimension(runtime: Runtime, data: st.DataObject) -> None:
    examples = []
    for _ in range(data.draw(st.integers(1, 10))):
        shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
        source = In(int8_array(shape, data.draw(seeds)), data.draw(orders(len(shape))))
        dim = data.draw(st.integers(-len(shape), len(shape) - 1))
        out = Out("int8", shape, data.draw(orders(len(shape))))
        example = calling("cortex_m::softmax.out", source, dim, *SOFTMAX, out)
        moved = In(np.moveaxis(source.array, dim, -1).copy())
        last = Out("int8", moved.array.shape)
        plain = calling("cortex_m::softmax.out", moved, -1, *SOFTMAX, last)
        assert np.array_equal(np.moveaxis(reference(example), dim, -1), reference(plain))
        examples.append(example)
    runtime.check(*examples)


def pool(name: str, image: In, window: list[Given], out: Out) -> Example:
    zero_points: list[Given] = [0, 0, -128, 127] if "max" in name else [0, 1 << 30, 1, None]
    dilation: list[Given] = [(1, 1)] if "max" in name else []
    size, stride, padding, ceil_mode = window
    arguments = [image, size, stride, padding, *dilation, ceil_mode, *zero_points]
    return calling(f"cortex_m::{name}.out", *arguments, out)


@pytest.mark.parametrize("name", ["quantized_avg_pool2d", "quantized_max_pool2d"])
def test_pools_and_their_explicit_twins(runtime: Runtime, name: str) -> None:
    x = int8_array((2, 5, 7, 6), 1)
    window: list[Given] = [(3, 2), (2, 2), (1, 0), True]
    size = (2, 5, 4, 3)
    whole = reference(pool(name, In(x), window, Out("int8", size)))
    for order in ((0, 2, 3, 1), (0, 1, 2, 3), (1, 0, 3, 2)):
        example = pool(name, In(x, order), window, Out("int8", size, (0, 2, 3, 1)))
        assert np.array_equal(reference(example), whole)
        runtime.check(example)
    image = In(x.transpose(0, 2, 3, 1).copy())
    explicit = pool(f"{name}_nhwc", image, window, Out("int8", (2, 4, 3, 5)))
    assert np.array_equal(reference(explicit).transpose(0, 3, 1, 2), whole)
    runtime.check(explicit)


@pytest.mark.parametrize(
    ("shape", "order", "pre", "post"),
    [
        ((1, 3, 4, 5), (0, 2, 3, 1), (0, 1, 2, 0), (0, 3, 0, 0)),  # margins as NHWC
        ((1, 3, 4, 5), (0, 1, 2, 3), (0, 0, 1, 2), (0, 0, 3, 0)),
        ((1, 1, 4, 5), (0, 1, 2, 3), (0, 1, 2, 0), (0, 3, 0, 0)),  # one channel counts as NHWC
    ],
)
def test_pad(
    runtime: Runtime,
    shape: tuple[int, ...],
    order: tuple[int, ...],
    pre: tuple[int, ...],
    post: tuple[int, ...],
) -> None:
    x = int8_array(shape, 1)
    expected = np.pad(x, [(0, 0), (0, 0), (1, 3), (2, 0)], constant_values=-7)
    out = Out("int8", expected.shape, order)
    example = calling("cortex_m::pad.out", In(x, order), pre, post, -7, out)
    assert np.array_equal(reference(example), expected)
    runtime.check(example)


def test_pad_of_fewer_dimensions(runtime: Runtime) -> None:
    x = int8_array((2, 3), 1)
    expected = np.pad(x, [(1, 0), (0, 2)], constant_values=5)
    arguments = (In(x), (0, 0, 1, 0), (0, 0, 0, 2), 5, Out("int8", expected.shape))
    example = calling("cortex_m::pad.out", *arguments)
    assert np.array_equal(reference(example), expected)
    runtime.check(example)


def test_orders_that_differ_in_dimensions_of_one_are_the_same() -> None:
    x, y = int8_array((1, 8, 1, 1), 1), int8_array((1, 8, 1, 1), 2)
    out = Out("int8", x.shape, (0, 2, 3, 1))
    graph = calling("cortex_m::minimum.out", In(x, (0, 2, 3, 1)), In(y), out).graph
    assert [node.op.label for node in graph.nodes if not isinstance(node.op, View)] == ["minimum"]


def test_movement_that_keeps_memory_is_no_kernel_call() -> None:
    x = In(int8_array((2, 3, 4, 5), 1), (0, 2, 3, 1))
    out = Out("int8", (2, 4, 5, 3))
    graph = calling("cortex_m::transpose.out", x, (0, 2, 3, 1), out).graph
    assert all(node.op.view_of is not None for node in graph.nodes)


@pytest.mark.parametrize(
    ("operator", "arguments", "complaint"),
    [
        ("cortex_m::quantized_mul.out", [40000, 1, 0, 1 << 30, 0], "self_zero_point = 40000"),
        ("cortex_m::quantized_mul.out", [0, 1, 0, 1 << 30, 40], "output_shift = 40"),
        ("cortex_m::quantized_mul.out", [0, 1, 0, 1 << 33, 0], "output_multiplier"),
    ],
)
def test_parameters_that_no_kernel_takes(
    operator: str, arguments: list[int], complaint: str
) -> None:
    x = In(int8_array((3,), 1))
    with pytest.raises(CompilerError, match=complaint):
        calling(operator, x, arguments[0], x, *arguments[1:], Out("int8", (3,)))


@pytest.mark.parametrize("scale", [0.0, math.inf, math.nan, -1.0, 1e-40])
def test_scales_that_make_no_sense(scale: float) -> None:
    x = In(np.zeros(3, np.float32))
    with pytest.raises(CompilerError, match="scale"):
        operator = "cortex_m::quantize_per_tensor.out"
        calling(operator, x, scale, 0, -128, 127, 1, Out("int8", (3,)))
