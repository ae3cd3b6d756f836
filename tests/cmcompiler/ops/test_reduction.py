"""Reductions over any dimensions of any memory order, on every runtime and against torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from harness.calls import Given, In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import array, dtypes, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import Unsupported

Expected = tuple[Array, ...]
Drawn = tuple[Example, Expected]

EXTREMES = ("amax", "amin", "max", "min")
FLAWS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)


@st.composite
def tensors(draw: st.DrawFn, dtype: str | None = None) -> In:
    shape = tuple(draw(st.lists(st.integers(1, 7), max_size=4)))
    x = array(shape, dtype or draw(dtypes), draw(seeds))
    if x.dtype.kind == "f" and draw(st.integers(0, 3)) == 0:
        rng = np.random.default_rng(draw(seeds))
        x = np.where(rng.random(shape) < 0.2, rng.choice(FLAWS, shape), x)
    elif x.dtype.kind in "iu" and draw(st.booleans()):
        x = np.array(x % 4, x.dtype)
    return In(x, tuple(draw(st.permutations(range(len(shape))))))


def dimensions(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    """Distinct dimensions, in any order, some counted from the end."""
    if rank == 0:
        return ()
    dims = draw(st.lists(st.integers(0, rank - 1), unique=True, max_size=rank))
    return tuple(dim - rank if draw(st.booleans()) else dim for dim in dims)


def out(draw: st.DrawFn, x: Array) -> Out:
    return Out(x.dtype, x.shape, tuple(draw(st.permutations(range(x.ndim)))))


def calls(draw: st.DrawFn, operator: str, arguments: list[Given], *expected: object) -> Drawn:
    results = tuple(x.numpy() for x in expected if isinstance(x, torch.Tensor))
    outs = [out(draw, x) for x in results]
    return calling(f"aten::{operator}", *arguments, *outs), results


@st.composite
def accumulations(draw: st.DrawFn, name: str) -> Drawn:
    source = draw(tensors("float32" if name == "mean" else None))
    x, keep = torch.from_numpy(source.array), draw(st.booleans())
    if name == "prod":
        if x.dim() == 0 or draw(st.booleans()):
            return calls(draw, "prod.out", [source, None], x.prod())
        dim = draw(st.integers(-x.dim(), x.dim() - 1))
        return calls(draw, "prod.int_out", [source, dim, keep, None], x.prod(dim, keepdim=keep))
    dims = draw(st.none() | st.just(dimensions(draw, x.dim())))
    expected = getattr(torch, name)(x, dims, keepdim=keep)
    operator = "sum.IntList_out" if name == "sum" else "mean.out"
    return calls(draw, operator, [source, dims, keep, None], expected)


@st.composite
def extremes(draw: st.DrawFn, name: str) -> Drawn:
    source = draw(tensors())
    x, keep = torch.from_numpy(source.array), draw(st.booleans())
    dims = dimensions(draw, x.dim())
    expected = getattr(torch, name)(x, dims, keepdim=keep)
    return calls(draw, f"{name}.out", [source, dims, keep], expected)


@st.composite
def places(draw: st.DrawFn, name: str) -> Drawn:
    source = draw(tensors(draw(dtypes.filter(lambda dtype: dtype != "bool"))))
    x, keep = torch.from_numpy(source.array), draw(st.booleans())
    if x.dim() == 0 or draw(st.booleans()):
        return calls(draw, f"{name}.out", [source, None, False], first(name, x, None, False))
    dim = draw(st.integers(-x.dim(), x.dim() - 1))
    return calls(draw, f"{name}.out", [source, dim, keep], first(name, x, dim, keep))


def first(name: str, x: torch.Tensor, dim: int | None, keep: bool) -> torch.Tensor:
    """The index of the first extreme, which torch does not guarantee."""
    find = np.argmax if "max" in name else np.argmin
    actual = np.asarray(find(x.numpy(), axis=dim, keepdims=keep and dim is not None))
    return torch.from_numpy(actual.astype(np.int64))


@st.composite
def extremes_and_places(draw: st.DrawFn, name: str) -> Drawn:
    source = draw(tensors(draw(dtypes.filter(lambda dtype: dtype != "bool"))))
    x, keep = torch.from_numpy(source.array), draw(st.booleans())
    if x.dim() == 0:
        keep = False
    dim = draw(st.integers(-x.dim(), x.dim() - 1)) if x.dim() else 0
    values = getattr(torch, f"a{name}")(x, dim, keepdim=keep)
    actual = first(name, x, dim, keep) if x.dim() else torch.tensor(0)
    arguments: list[Given] = [source, dim, keep]
    return calls(draw, f"{name}.dim_{name}", arguments, values, actual)


@st.composite
def truths(draw: st.DrawFn, name: str) -> Drawn:
    source = draw(tensors())
    x, keep = torch.from_numpy(source.array), draw(st.booleans())
    function = getattr(torch, name)
    if draw(st.booleans()):
        return calls(draw, f"{name}.all_out", [source], function(x != 0))
    dims = dimensions(draw, x.dim())
    expected = function(x != 0, dims, keepdim=keep) if dims else function(x != 0)
    if not dims and keep:
        expected = expected.reshape((1,) * x.dim())
    return calls(draw, f"{name}.dims_out", [source, dims, keep], expected)


@st.composite
def variances(draw: st.DrawFn, name: str) -> Drawn:
    source = draw(tensors("float32").filter(lambda source: np.isfinite(source.array).all()))
    x, keep = torch.from_numpy(source.array), draw(st.booleans())
    dims = draw(st.none() | st.just(dimensions(draw, x.dim())))
    if name == "var" and draw(st.booleans()):
        unbiased = draw(st.booleans())
        expected = torch.var(x, dims or None, unbiased=unbiased, keepdim=keep)
        return calls(draw, "var.out", [source, dims, unbiased, keep], expected)
    correction = draw(st.sampled_from([None, 0, 1, 2]))
    options = {"correction": 1 if correction is None else correction, "keepdim": keep}
    arguments: list[Given] = [source, dims, correction, keep]
    actual = torch.var_mean(x, dims, **options)
    if name == "var":
        return calls(draw, "var.correction_out", arguments, actual[0])
    return calls(draw, "var_mean.correction_out", arguments, *actual)


@st.composite
def running(draw: st.DrawFn, name: str) -> Drawn:
    source = draw(tensors())
    rank = max(source.array.ndim, 1)
    dim = draw(st.integers(-rank, rank - 1))
    expected = getattr(torch, name)(torch.from_numpy(source.array), dim)
    return calls(draw, f"{name}.out", [source, dim, None], expected)


KINDS: list[tuple[Callable[[str], st.SearchStrategy[Drawn]], str]] = [
    (accumulations, "sum"), (accumulations, "mean"), (accumulations, "prod"),
    (extremes, "amax"), (extremes, "amin"), (places, "argmax"), (places, "argmin"),
    (extremes_and_places, "max"), (extremes_and_places, "min"), (truths, "any"), (truths, "all"),
    (variances, "var"), (variances, "var_mean"), (running, "cumsum"),
    (running, "cumprod"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize(("kind", "name"), KINDS, ids=[name for _, name in KINDS])
@settings(max_examples=4)
@given(data=st.data())
def test_reduction(
    runtime: Runtime,
    kind: Callable[[str], st.SearchStrategy[Drawn]],
    name: str,
    data: st.DataObject,
) -> None:
    drawn = data.draw(st.lists(kind(name), min_size=1, max_size=20))
    for example, expected in drawn:
        for actual, wanted in zip(example.reference.outputs, expected, strict=True):
            assert actual.dtype == wanted.dtype
            if wanted.dtype.kind == "f" and name not in EXTREMES:
                assert np.allclose(actual, wanted, rtol=1e-5, atol=1e-5, equal_nan=True)
            else:
                assert np.array_equal(actual, wanted, equal_nan=wanted.dtype.kind == "f")
    runtime.check(*(example for example, _ in drawn))


def test_floats_are_added_one_after_the_other_in_the_order_of_dimensions() -> None:
    x = np.random.default_rng(1).standard_normal((3, 4, 5), np.float32)
    source = In(x, (1, 2, 0))
    example = calling("aten::sum.IntList_out", source, (2, 0), False, None, Out("float32", (4,)))
    total = np.zeros(4, np.float32)
    for i in range(3):
        for j in range(5):
            total = total + x[i, :, j]
    assert np.array_equal(example.reference.outputs[0], total)


def test_a_lone_dimension_stands_for_a_list() -> None:
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    example = calling("aten::amax.out", In(x), 1, False, Out("int8", (2,)))
    assert example.reference.outputs[0].tolist() == [2, 5]


def test_nothing(runtime: Runtime) -> None:
    x = In(np.zeros((0, 3), np.float32))
    out_of = Out("float32", (3,))
    total = calling("aten::sum.IntList_out", x, (0,), False, None, out_of)
    mean = calling("aten::mean.out", x, (0,), False, None, out_of)
    assert total.reference.outputs[0].tolist() == [0, 0, 0]
    assert np.isnan(mean.reference.outputs[0]).all()
    runtime.check(total, mean)
    with pytest.raises(Unsupported, match="amax of nothing"):
        calling("aten::amax.out", x, (0,), False, out_of)
