"""Selection, indexing and scattering in all memory orders match NumPy on every runtime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from harness.calls import Given, In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import array, dtypes, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.ir.reference import evaluate

FLOATS = In(np.arange(12, dtype=np.float32).reshape(4, 3))

Drawn = tuple[str, list[Given], Array]
"""Operator, its arguments before the output, and the output."""


def tensor(draw: st.DrawFn, shape: tuple[int, ...], dtype: str | None = None) -> In:
    order = tuple(draw(st.permutations(range(len(shape)))))
    return In(array(shape, dtype or draw(dtypes), draw(seeds)), order)


def shape_of(draw: st.DrawFn, least: int = 1) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(1, 5), min_size=least, max_size=4)))


def indices(draw: st.DrawFn, shape: tuple[int, ...], count: int, negative: bool = True) -> In:
    rng = np.random.default_rng(draw(seeds))
    chosen = rng.integers(-count if negative else 0, count, shape)
    order = tuple(draw(st.permutations(range(len(shape)))))
    return In(chosen.astype(draw(st.sampled_from(["int32", "int64"]))), order)


def where(draw: st.DrawFn) -> Drawn:
    shape, dtype = shape_of(draw), draw(dtypes)
    sides = [tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in shape) for _ in range(3)]
    condition = tensor(draw, sides[0], "bool")
    lhs, rhs = (tensor(draw, side, dtype) for side in sides[1:])
    expected = np.where(condition.array, lhs.array, rhs.array)
    return "aten::where.self_out", [condition, lhs, rhs], expected


def masked_fill(draw: st.DrawFn) -> Drawn:
    shape = shape_of(draw)
    source, mask = tensor(draw, shape), tensor(draw, shape, "bool")
    expected = np.where(mask.array, np.array(1, source.array.dtype), source.array)
    return "aten::masked_fill.Scalar_out", [source, mask, 1], expected


def triangle(draw: st.DrawFn) -> Drawn:
    source = tensor(draw, shape_of(draw, least=2))
    name, part = draw(st.sampled_from([("tril", np.tril), ("triu", np.triu)]))
    diagonal = draw(st.integers(-3, 3))
    return f"aten::{name}.out", [source, diagonal], part(source.array, diagonal)


def full(draw: st.DrawFn) -> Drawn:
    shape, dtype = shape_of(draw), draw(dtypes)
    value = draw(st.integers(0, 1) if dtype == "bool" else st.integers(0, 100))
    return "aten::full.out", [shape, value], np.full(shape, value, dtype)


def arange(draw: st.DrawFn) -> Drawn:
    start, step = draw(st.integers(-5, 5)), draw(st.sampled_from([1, 2, 0.5]))
    count = draw(st.integers(1, 20))
    dtype = np.float32 if isinstance(step, float) else np.int64
    expected = (start + np.arange(count) * step).astype(dtype)
    return "aten::arange.start_out", [start, start + count * step, step], expected


def gather(draw: st.DrawFn) -> Drawn:
    source = tensor(draw, shape_of(draw))
    x = source.array
    dim = draw(st.integers(0, x.ndim - 1))
    sizes = tuple(draw(st.integers(1, n)) for n in x.shape)
    index = indices(draw, sizes, x.shape[dim], negative=False)
    within = x[tuple(slice(0, n) if d != dim else slice(None) for d, n in enumerate(sizes))]
    expected = np.take_along_axis(within, index.array.astype(np.int64), dim)
    return "aten::gather.out", [source, dim, index, False], expected


def index_select(draw: st.DrawFn) -> Drawn:
    source = tensor(draw, shape_of(draw))
    dim = draw(st.integers(0, source.array.ndim - 1))
    index = indices(draw, (draw(st.integers(1, 5)),), source.array.shape[dim], negative=False)
    return "aten::index_select.out", [source, dim, index], source.array.take(index.array, dim)


def regular_select(draw: st.DrawFn) -> Drawn:
    """Constant indices as of windows: nested loops with steps of any sign."""
    shape = (draw(st.integers(1, 3)), draw(st.integers(4, 20)), draw(st.integers(1, 3)))
    source, dim = tensor(draw, shape), draw(st.integers(0, 2))
    places = np.zeros((1,), np.int64)
    for _ in range(draw(st.integers(1, 3))):
        count, step = draw(st.integers(1, 4)), draw(st.integers(-2, 5))
        places = (places[:, None] + np.arange(count) * step).reshape(-1)
    places = places % shape[dim] - draw(st.sampled_from([0, shape[dim]]))
    index = In(places, constant=True)
    return "aten::index_select.out", [source, dim, index], source.array.take(places, dim)


def embedding(draw: st.DrawFn) -> Drawn:
    table = tensor(draw, (draw(st.integers(1, 9)), draw(st.integers(1, 9))))
    index = indices(draw, shape_of(draw), table.array.shape[0], negative=False)
    return "aten::embedding.out", [table, index, -1, False, False], table.array[index.array]


def some_indices(draw: st.DrawFn, x: Array) -> tuple[list[In | None], Array]:
    """Indices for some dimensions, and NumPy's equivalent."""
    shape = shape_of(draw)[:2]
    dims = draw(st.sets(st.integers(0, x.ndim - 1), min_size=1, max_size=3))
    given_indices: list[In | None] = [
        indices(draw, shape, x.shape[dim]) if dim in dims else None for dim in range(max(dims) + 1)
    ]
    chosen = tuple(slice(None) if i is None else i.array for i in given_indices)
    return given_indices, chosen


def index(draw: st.DrawFn) -> Drawn:
    source = tensor(draw, shape_of(draw))
    given_indices, chosen = some_indices(draw, source.array)
    return "aten::index.Tensor_out", [source, given_indices], source.array[chosen]


def index_put(draw: st.DrawFn) -> Drawn:
    source = tensor(draw, shape_of(draw))
    given_indices, chosen = some_indices(draw, source.array)
    expected = source.array.copy()
    adds = expected.dtype.kind == "i" and draw(st.booleans())
    shape = expected[chosen].shape if adds else ()
    values = tensor(draw, shape, expected.dtype.name)
    if adds:
        np.add.at(expected, chosen, values.array)
    else:
        expected[chosen] = values.array
    return "aten::index_put.out", [source, given_indices, values, adds], expected


def scatter(draw: st.DrawFn) -> Drawn:
    source = tensor(draw, shape_of(draw))
    x = source.array
    dim = draw(st.integers(0, x.ndim - 1))
    rng = np.random.default_rng(draw(seeds))
    # Distinct places, as the order of writes to one place is undefined.
    order = rng.random(x.shape).argsort(axis=dim)
    sizes = tuple(draw(st.integers(1, n)) for n in x.shape)
    chosen = In(order[tuple(slice(0, n) for n in sizes)])
    values = tensor(draw, x.shape, x.dtype.name)
    part = values.array[tuple(slice(0, n) for n in sizes)]
    expected = x.copy()
    within = expected[tuple(slice(0, n) if d != dim else slice(None) for d, n in enumerate(sizes))]
    kind = draw(st.sampled_from(["src_out", "add", "value_out"]))
    if kind == "add" and x.dtype.kind in "iu":
        grown = np.take_along_axis(within, chosen.array, dim) + part
        np.put_along_axis(within, chosen.array, grown, dim)
        return "aten::scatter_add.out", [source, dim, chosen, values], expected
    if kind == "value_out":
        np.put_along_axis(within, chosen.array, np.array(1, x.dtype), dim)
        return "aten::scatter.value_out", [source, dim, chosen, 1], expected
    np.put_along_axis(within, chosen.array, part, dim)
    return "aten::scatter.src_out", [source, dim, chosen, values], expected


def slice_scatter(draw: st.DrawFn) -> Drawn:
    source = tensor(draw, shape_of(draw))
    x = source.array.copy()
    dim = draw(st.integers(0, x.ndim - 1))
    start, step = draw(st.integers(0, x.shape[dim] - 1)), draw(st.integers(1, 2))
    place = (slice(None),) * dim + (slice(start, None, step),)
    part = tensor(draw, x[place].shape, draw(st.sampled_from([x.dtype.name, "int8", "bool"])))
    x[place] = part.array
    return "aten::slice_scatter.out", [source, part, dim, start, None, step], x


def select_scatter(draw: st.DrawFn) -> Drawn:
    source = tensor(draw, shape_of(draw))
    x = source.array.copy()
    dim = draw(st.integers(0, x.ndim - 1))
    chosen = draw(st.integers(-x.shape[dim], x.shape[dim] - 1))
    place = (slice(None),) * dim + (chosen,)
    part = tensor(draw, x[place].shape, x.dtype.name)
    x[place] = part.array
    return "aten::select_scatter.out", [source, part, dim, chosen], x


KINDS: list[Callable[[st.DrawFn], Drawn]] = [
    where, masked_fill, triangle, full, arange, gather, index_select, regular_select, embedding,
    index, index_put, scatter, slice_scatter, select_scatter,
]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, kind: Callable[[st.DrawFn], Drawn]) -> tuple[Example, Array]:
    operator, arguments, expected = kind(draw)
    order = tuple(draw(st.permutations(range(expected.ndim))))
    return calling(operator, *arguments, Out(expected.dtype, expected.shape, order)), expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=4)
@given(data=st.data())
def test_indexing(
    runtime: Runtime, kind: Callable[[st.DrawFn], Drawn], data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(cases(kind), min_size=1, max_size=20))
    for example, expected in drawn:
        (output,) = example.reference.outputs
        assert np.array_equal(output, expected, equal_nan=expected.dtype.kind == "f")
    runtime.check(*(example for example, _ in drawn))


def test_indices_outside_are_brought_inside(runtime: Runtime) -> None:
    source, chosen = In(np.arange(5, dtype=np.int8)), In(np.array([-9, 5, 2**40], np.int64))
    example = calling("aten::index_select.out", source, 0, chosen, Out("int8", (3,)))
    assert example.reference.outputs[0].tolist() == [0, 4, 4]
    runtime.check(example)


@pytest.mark.parametrize(
    ("operator", "arguments", "first"),
    [
        ("aten::embedding.out", (FLOATS, In(np.array([1, -1])), -1, False, False), -1),
        ("aten::embedding.out", (FLOATS, In(np.array([4, 9])), -1, False, False), 4),
        ("aten::index_select.out", (FLOATS, 0, In(np.array([-5, 4]))), -5),
        ("aten::index.Tensor_out", (FLOATS, [In(np.array([3, 7]))]), 7),
        ("aten::index.Tensor_out", (FLOATS, [In(np.array([3, 0])), In(np.array([3, 1]))]), 3),
        ("aten::gather.out", (FLOATS, 0, In(np.array([[0], [4]])), False), 4),
        ("aten::scatter.value_out", (FLOATS, 0, In(np.array([[0], [-9]])), 1), -9),
    ],
)
def test_indices_that_torch_refuses_are_refused_before_a_device_takes_the_nearest(
    operator: str, arguments: tuple[Given, ...], first: int
) -> None:
    shapes = {"gather": (2, 1), "scatter": (4, 3)}
    name = operator.removeprefix("aten::").partition(".")[0]
    shape = (2,) if first == 3 else shapes.get(name, (2, 3))
    example = calling(operator, *arguments, Out("float32", shape))
    assert evaluate(example.graph, example.inputs).outputs[0].size
    with pytest.raises(
        InvalidRequest, match=f"sample 3: index {first} is outside of .* at {operator}"
    ):
        evaluate(example.graph, example.inputs, sample=3)


def test_float_sums_in_one_place_are_in_order(runtime: Runtime) -> None:
    source, chosen = In(np.zeros(2, np.float32)), In(np.zeros(50, np.int64))
    values = In(np.random.default_rng(0).normal(0, 1e3, 50).astype(np.float32))
    arguments = (source, [chosen], values, True, Out("float32", (2,)))
    runtime.check(calling("aten::index_put.out", *arguments))


def test_values_are_put_where_a_mask_is_true(runtime: Runtime) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (2, 3, 4)).astype(np.int8)
    examples = []
    for place, shapes in {
        (0, 3): [(), (1,)],
        (0, 2): [(), (4,), (1, 4)],
        (1, 3): [(), (1,), (2, 1)],
        (1, 2): [(4,), (1, 1), (2, 1, 4)],
    }.items():
        mask = rng.random(x.shape[slice(*place)]) < 0.5
        where: list[In | None] = [*[None] * place[0], In(mask)]
        for shape in shapes:
            values = rng.integers(-9, 9, shape).astype(np.int8)
            expected = x.copy()
            expected[(slice(None),) * place[0] + (mask,)] = values
            out = Out("int8", x.shape, (2, 0, 1))
            example = calling("aten::index_put.out", In(x), where, In(values), False, out)
            assert np.array_equal(example.reference.outputs[0], expected)
            examples.append(example)
    runtime.check(*examples)


@pytest.mark.parametrize("values, adds", [((2,), False), ((), True)])
def test_what_depends_on_how_many_are_true_is_refused(values: tuple[int, ...], adds: bool) -> None:
    x, mask = In(np.zeros(3, np.int8)), In(np.array([True, False, True]))
    given = In(np.ones(values, np.int8))
    with pytest.raises(Unsupported, match="mask"):
        calling("aten::index_put.out", x, [mask], given, adds, Out("int8", (3,)))


def test_a_number_is_gathered_from_a_number(runtime: Runtime) -> None:
    x, chosen = In(np.array(7, np.int8)), In(np.array(0, np.int64))
    example = calling("aten::gather.out", x, -1, chosen, False, Out("int8", ()))
    assert example.reference.outputs[0] == 7
    runtime.check(example)
