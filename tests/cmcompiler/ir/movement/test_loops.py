"""Strided windows and the loops over them, compared with NumPy's views."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.errors import Unsupported
from cmcompiler.ir.movement.loops import DEEPEST, Loops, Strided
from cmcompiler.ops.support.affine import EVERY, find_affine
from cmcompiler.ops.support.requantize import Range

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


@st.composite
def windows(draw: st.DrawFn) -> tuple[Strided, np.ndarray]:
    """A random window, and NumPy's view after the same steps."""
    shape = draw(shapes)
    window, view = Strided.dense(shape), np.arange(np.prod(shape)).reshape(shape)
    for _ in range(draw(st.integers(0, 4))):
        rank = view.ndim
        dim = draw(st.integers(0, rank - 1))
        match draw(st.sampled_from(["permute", "slice", "select", "flip", "insert", "split"])):
            case "permute":
                order = draw(st.permutations(range(rank)))
                window, view = window.permute(order), view.transpose(order)
            case "slice":
                start = draw(st.integers(0, view.shape[dim] - 1))
                step = draw(st.integers(1, 2))
                part = view[(slice(None),) * dim + (slice(start, None, step),)]
                window, view = window.slice(dim, start, part.shape[dim], step), part
            case "select" if rank > 1:
                window, view = window.select(dim, 0), view.take(0, dim)
            case "flip":
                window, view = window.flip(dim), np.flip(view, dim)
            case "insert":
                repeated = np.expand_dims(view, dim).repeat(3, dim)
                window, view = window.insert(dim, 3), repeated
            case "split" if view.shape[dim] % 2 == 0:
                halves = (*view.shape[:dim], view.shape[dim] // 2, 2, *view.shape[dim + 1 :])
                window, view = window.split(dim, 2), view.reshape(halves)
    return window, view


@given(windows(), st.data())
def test_loops_read_what_numpy_sees(drawn: tuple[Strided, np.ndarray], data: st.DataObject) -> None:
    window, view = drawn
    order = data.draw(st.permutations(range(view.ndim)))
    target = Strided.dense([view.shape[dim] for dim in order]).inverse(order)
    loops = Loops.over(window, target)
    source = np.arange(window.bounds[1] + 1)
    output = np.empty(view.size, source.dtype)
    output[loops.read(1, np.arange(view.size))] = Strided(
        loops.counts, loops.steps[0], window.offset
    ).read(source)
    assert np.array_equal(target.read(output), view)
    assert loops.dense(1)
    low, high = window.bounds
    assert low == view.min()
    assert high == view.max()


@given(shapes, st.data())
def test_equal_layouts_are_one_loop(shape: tuple[int, ...], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    window = Strided.dense(shape).permute(order)
    loops = Loops.over(window, window, window)
    assert loops.counts == (np.prod(shape),)
    assert loops.inner == (1, 1, 1)


@given(shapes, shapes)
def test_broadcasts_are_numpys(small: tuple[int, ...], large: tuple[int, ...]) -> None:
    x = np.arange(np.prod(small)).reshape(small)
    try:
        expected = np.broadcast_to(x, large)
    except ValueError:
        with pytest.raises(ValueError, match="does not broadcast"):
            Strided.dense(small).broadcast(large)
        return
    assert np.array_equal(Strided.dense(small).broadcast(large).read(x), expected)


def test_more_loops_than_a_kernel_nests_are_refused() -> None:
    rank = DEEPEST + 2
    dense = Strided.dense((2,) * rank)
    with pytest.raises(Unsupported, match=f"{rank} nested loops"):
        Loops.over(dense, dense.permute(range(rank)[::-1]))


def test_functions_that_are_not_straight_have_no_affine_form() -> None:
    product = np.clip(np.multiply.outer(EVERY.astype(int), EVERY.astype(int)) >> 7, -128, 127)
    assert find_affine(product.astype(np.int8), 1.0, 1.0, Range(-128, 127)) is None


@given(st.integers(-128, 127), st.integers(-128, 127))
def test_clamped_sums_have_an_affine_form(low: int, high: int) -> None:
    limits = Range(min(low, high), max(low, high))
    sums = np.add.outer(EVERY.astype(int), EVERY.astype(int))
    form = find_affine(limits.clamp(sums), 1.0, 1.0, limits)
    assert form is not None
    x, y = np.meshgrid(EVERY.astype(np.int64), EVERY.astype(np.int64), indexing="ij")
    total = x * form.lhs_factor + y * form.rhs_factor + form.offset
    assert np.abs(total).max() < 2**31
    assert np.array_equal(limits.clamp(total >> form.shift), limits.clamp(sums))
