"""Data movement in all memory orders matches NumPy on every runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from harness.calls import Given, In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import array, dtypes, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ops.support.element import converted


@dataclass(frozen=True)
class Movement:
    """A call and its expected outputs."""

    example: Example
    expected: tuple[Array, ...]


Drawn = tuple[str, list[Given], Array | list[Array]]
"""Operator, its arguments before the output, and the output or outputs."""


@st.composite
def tensors(draw: st.DrawFn, rank: int | None = None, least: int = 1) -> In:
    ranks = st.integers(least, 4) if rank is None else st.just(rank)
    shape = tuple(draw(st.integers(1, 6)) for _ in range(draw(ranks)))
    order = draw(st.permutations(range(len(shape))))
    return In(array(shape, draw(dtypes), draw(seeds)), tuple(order))


def signed(draw: st.DrawFn, dim: int, rank: int) -> int:
    """A dimension as programs may name it, from the front or from the back."""
    return dim - rank if draw(st.booleans()) else dim


def some_dim(draw: st.DrawFn, x: Array) -> int:
    return draw(st.integers(0, x.ndim - 1))


def permute(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    dims = tuple(draw(st.permutations(range(source.array.ndim))))
    operator = draw(st.sampled_from(["cortex_m::transpose.out", "aten::permute_copy.out"]))
    return operator, [source, dims], source.array.transpose(dims)


def swap(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    x = source.array
    a, b = some_dim(draw, x), some_dim(draw, x)
    given_dims = [signed(draw, a, x.ndim), signed(draw, b, x.ndim)]
    return "aten::transpose_copy.int_out", [source, *given_dims], x.swapaxes(a, b)


def t(draw: st.DrawFn) -> Drawn:
    source = draw(tensors(rank=2))
    return "aten::t_copy.out", [source], source.array.T


def slice_(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    x = source.array
    dim = some_dim(draw, x)
    bounds = st.none() | st.integers(-8, 8) | st.just(2**63 - 1)
    start, end, step = draw(bounds), draw(bounds), draw(st.integers(1, 3))
    expected = x[(slice(None),) * dim + (slice(start, end, step),)]
    arguments = [source, signed(draw, dim, x.ndim), start, end, step]
    return "aten::slice_copy.Tensor_out", arguments, expected


def narrow(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    x = source.array
    dim = some_dim(draw, x)
    start = draw(st.integers(0, x.shape[dim] - 1))
    length = draw(st.integers(1, x.shape[dim] - start))
    expected = x[(slice(None),) * dim + (slice(start, start + length),)]
    return "aten::narrow_copy.out", [source, dim, start, length], expected


def select(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    x = source.array
    dim = some_dim(draw, x)
    index = draw(st.integers(-x.shape[dim], x.shape[dim] - 1))
    return "aten::select_copy.int_out", [source, dim, index], x.take(index, axis=dim)


def unbind(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    dim = some_dim(draw, source.array)
    parts = [source.array.take(i, axis=dim) for i in range(source.array.shape[dim])]
    return "aten::unbind_copy.int_out", [source, dim], parts


def split(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    x = source.array
    dim = some_dim(draw, x)
    size = draw(st.integers(1, x.shape[dim]))
    parts = np.split(x, range(size, x.shape[dim], size), axis=dim)
    if draw(st.booleans()):
        return "aten::split_copy.Tensor_out", [source, size, dim], parts
    sizes = tuple(part.shape[dim] for part in parts)
    return "aten::split_with_sizes_copy.out", [source, sizes, dim], parts


def cat(draw: st.DrawFn) -> Drawn:
    first = draw(tensors())
    x, dim = first.array, some_dim(draw, first.array)
    sources = [first]
    for _ in range(draw(st.integers(0, 3))):
        shape = list(x.shape)
        shape[dim] = draw(st.integers(1, 4))
        order = tuple(draw(st.permutations(range(x.ndim))))
        sources.append(In(array(tuple(shape), x.dtype.name, draw(seeds)), order))
    expected = np.concatenate([source.array for source in sources], axis=dim)
    return "aten::cat.out", [sources, signed(draw, dim, x.ndim)], expected


def stack(draw: st.DrawFn) -> Drawn:
    first = draw(tensors())
    x = first.array
    others = [In(array(x.shape, x.dtype.name, draw(seeds))) for _ in range(draw(st.integers(0, 3)))]
    dim = draw(st.integers(0, x.ndim))
    sources = [first, *others]
    return "aten::stack.out", [sources, dim], np.stack([s.array for s in sources], axis=dim)


def expand(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    shape = tuple(draw(st.integers(1, 4)) if n == 1 else n for n in source.array.shape)
    sizes = (*draw(st.lists(st.integers(1, 3), max_size=2)), *shape)
    return "aten::expand_copy.out", [source, sizes, False], np.broadcast_to(source.array, sizes)


def repeat(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    counts = [draw(st.integers(1, 3)) for _ in range(source.array.ndim + draw(st.integers(0, 1)))]
    return "aten::repeat.out", [source, tuple(counts)], np.tile(source.array, counts)


def flip(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    dims = draw(st.sets(st.integers(0, source.array.ndim - 1)))
    return "aten::flip.out", [source, tuple(dims)], np.flip(source.array, tuple(dims))


def roll(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    dims = tuple(draw(st.sets(st.integers(0, source.array.ndim - 1), min_size=1)))
    shifts = tuple(draw(st.integers(-7, 7)) for _ in dims)
    return "aten::roll.out", [source, shifts, dims], np.roll(source.array, shifts, dims)


def unfold(draw: st.DrawFn) -> Drawn:
    source = draw(tensors(rank=3))
    x, dim = source.array, some_dim(draw, source.array)
    size, step = draw(st.integers(1, x.shape[dim])), draw(st.integers(1, 3))
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim)
    expected = windows[(slice(None),) * dim + (slice(None, None, step),)]
    return "aten::unfold_copy.out", [source, dim, size, step], expected


def diagonal(draw: st.DrawFn) -> Drawn:
    source = draw(tensors(least=2))
    x = source.array
    a, b = draw(st.permutations(range(x.ndim)))[:2]
    offset = draw(st.integers(1 - x.shape[a], x.shape[b] - 1))
    return "aten::diagonal_copy.out", [source, offset, a, b], np.diagonal(x, offset, a, b)


def as_strided(draw: st.DrawFn) -> Drawn:
    source = In(array((draw(st.integers(10, 40)),), draw(dtypes), draw(seeds)))
    sizes = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    strides = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    start = draw(st.integers(0, 1))
    x = source.array[start:]
    expected = np.lib.stride_tricks.as_strided(x, sizes, [s * x.itemsize for s in strides])
    return "aten::as_strided_copy.out", [source, sizes, strides, start], expected


def pad(draw: st.DrawFn) -> Drawn:
    source = draw(tensors())
    x = source.array
    # Of another type than the tensor, too, as programs may have it.
    value = draw(st.one_of(st.integers(-300, 300), st.floats(-3, 3, width=32)))
    count = draw(st.integers(0, x.ndim))
    margins = [draw(st.tuples(*[st.integers(-1, 2)] * 2)) for _ in range(count)]
    margins = [
        m if n + sum(m) > 0 else (0, 0) for m, n in zip(margins, x.shape[::-1], strict=False)
    ]
    whole = [(0, 0)] * (x.ndim - count) + margins[::-1]
    kept = x[
        tuple(slice(max(0, -a), n - max(0, -b)) for (a, b), n in zip(whole, x.shape, strict=True))
    ]
    fill = converted(np.array(value), x.dtype)
    expected = np.pad(kept, [(max(0, a), max(0, b)) for a, b in whole], constant_values=fill)
    flat = tuple(amount for margin in margins for amount in margin)
    return "aten::constant_pad_nd.out", [source, flat, value], expected


def border(draw: st.DrawFn) -> Drawn:
    source = draw(tensors(rank=3))
    x = source.array
    name, mode = draw(st.sampled_from([("reflection", "reflect"), ("replication", "edge")]))
    count = draw(st.integers(1, 2))
    longest = [n - 1 if mode == "reflect" else 3 for n in x.shape[::-1]][:count]
    margins = [draw(st.tuples(st.integers(0, n), st.integers(0, n))) for n in longest]
    whole = [(0, 0)] * (x.ndim - count) + margins[::-1]
    flat = tuple(amount for margin in margins for amount in margin)
    return f"aten::{name}_pad{count}d.out", [source, flat], np.pad(x, whole, mode=mode)


def pixel_shuffle(draw: st.DrawFn) -> Drawn:
    factor = draw(st.integers(1, 3))
    batch, channels, height, width = (draw(st.integers(1, 3)) for _ in range(4))
    blocks = (batch, channels, factor, factor, height, width)
    large = (batch, channels, height * factor, width * factor)
    small = In(array((batch, channels * factor**2, height, width), draw(dtypes), draw(seeds)))
    expected = small.array.reshape(blocks).transpose(0, 1, 4, 2, 5, 3).reshape(large)
    if draw(st.booleans()):
        order = tuple(draw(st.permutations(range(4))))
        return "aten::pixel_unshuffle.out", [In(expected, order), factor], small.array
    return "aten::pixel_shuffle.out", [small, factor], expected


KINDS: list[Callable[[st.DrawFn], Drawn]] = [
    permute, swap, t, slice_, narrow, select, unbind, split, cat, stack, expand, repeat, flip,
    roll, unfold, diagonal, as_strided, pad, border, pixel_shuffle,
]  # fmt: skip


@st.composite
def movements(draw: st.DrawFn, kind: Callable[[st.DrawFn], Drawn]) -> Movement:
    operator, arguments, expected = kind(draw)
    results = expected if isinstance(expected, list) else [expected]
    outs = [Out(x.dtype, x.shape, tuple(draw(st.permutations(range(x.ndim))))) for x in results]
    out = outs if isinstance(expected, list) else outs[0]
    return Movement(calling(operator, *arguments, out), tuple(results))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
@settings(max_examples=4)
@given(data=st.data())
def test_movement(
    runtime: Runtime, kind: Callable[[st.DrawFn], Drawn], data: st.DataObject
) -> None:
    cases = data.draw(st.lists(movements(kind), min_size=1, max_size=20))
    for case in cases:
        for output, expected in zip(case.example.reference.outputs, case.expected, strict=True):
            assert np.array_equal(output, expected, equal_nan=expected.dtype.kind == "f")
    runtime.check(*(case.example for case in cases))


@pytest.mark.parametrize("operator", ["cat", "stack"])
def test_parts_of_several_types_are_converted(runtime: Runtime, operator: str) -> None:
    dtypes = [np.float32, np.int64, np.int8, np.bool_]
    parts = [np.array([[0, 1, 3]]).astype(dtype) for dtype in dtypes]
    joined = {"cat": np.concatenate, "stack": np.stack}[operator]
    expected = joined([part.astype(np.float32) for part in parts])
    out = Out(np.float32, expected.shape)
    example = calling(f"aten::{operator}.out", [In(part) for part in parts], 0, out)
    assert np.array_equal(example.reference.outputs[0], expected)
    runtime.check(example)
