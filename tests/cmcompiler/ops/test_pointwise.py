"""Portable unary and binary functions, of all element types, on every runtime."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from harness.calls import In, Out, calling
from harness.examples import Array, Example
from harness.runtime import Runtime
from harness.strategies import array, extreme_floats, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import Unsupported
from cmcompiler.ops.arithmetic import SCALARS, TENSORS
from cmcompiler.ops.binary import BinaryFunction
from cmcompiler.ops.support.element import CODES, FLOAT
from cmcompiler.ops.unary import FLOATS, OF_FLOATS_ONLY

ANY = sorted(dtype.name for dtype in CODES)
INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]
SPECIAL = np.array([0, -0.0, np.nan, np.inf, -np.inf, 1, -1, 0.5, 2.5, -3.5, 6, 1e30], np.float32)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """All values of an integer type, or small ones; floats of all magnitudes, or special ones."""
    rng = np.random.default_rng(seed)
    if dtype not in ("float32", "float64"):
        small = rng.integers(0 if dtype == "uint8" else -3, 4, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.3, small, array(shape, dtype, seed))
    spread = rng.normal(0, 3, shape) * 10.0 ** rng.integers(-2, 3, shape)
    chosen = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), spread)
    return chosen.astype(dtype)


def result_type(*dtypes: npt.DTypeLike) -> np.dtype:
    """torch's type promotion for tensors."""
    if FLOAT in map(np.dtype, dtypes):
        return FLOAT
    return np.result_type(*dtypes)


@st.composite
def operands(draw: st.DrawFn, dtypes: list[str]) -> tuple[In, In]:
    """Two tensors that broadcast, each in any memory order."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    sides = []
    for _ in range(2):
        dims = tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in shape)
        order = tuple(draw(st.permutations(range(len(dims)))))
        sides.append(In(numbers(dims, draw(st.sampled_from(dtypes)), draw(seeds)), order))
    return sides[0], sides[1]


TWO = {**TENSORS, "add.out": BinaryFunction.ADD, "sub.out": BinaryFunction.SUB}
BITS = (
    BinaryFunction.AND,
    BinaryFunction.OR,
    BinaryFunction.XOR,
    BinaryFunction.SHIFT_LEFT,
    BinaryFunction.SHIFT_RIGHT,
)


@st.composite
def of_two(draw: st.DrawFn, operator: str) -> Example:
    function = TWO[operator]
    dtypes = (
        INTEGERS if function in BITS else ["float32"] if function is BinaryFunction.ATAN2 else ANY
    )
    lhs, rhs = draw(operands(dtypes))
    dtype = result_type(lhs.array.dtype, rhs.array.dtype)
    if function.gives_truth:
        dtype = np.dtype(np.bool_)
    elif function is BinaryFunction.DIV:
        dtype = FLOAT
    shape = np.broadcast_shapes(lhs.array.shape, rhs.array.shape)
    order = tuple(draw(st.permutations(range(len(shape)))))
    alpha = [draw(st.sampled_from([1, 2, -3]))] if operator in ("add.out", "sub.out") else []
    return calling(f"aten::{operator}", lhs, rhs, *alpha, Out(dtype, shape, order))


@st.composite
def of_one(draw: st.DrawFn, operator: str) -> Example:
    dtype = draw(st.sampled_from(INTEGERS if SCALARS[operator] in BITS else ANY))
    source = In(numbers((draw(st.integers(1, 40)),), dtype, draw(seeds)))
    scalar: int | float = draw(st.integers(1, 5))
    if dtype == "float32" and draw(st.booleans()):
        scalar = draw(st.sampled_from([0.5, -2.0, 3.0]))
    result = np.dtype(dtype)
    if SCALARS[operator].gives_truth:
        result = np.dtype(np.bool_)
    elif SCALARS[operator] is BinaryFunction.DIV:
        result = FLOAT
    elif dtype == "bool":
        result = np.dtype(np.int64)
    return calling(f"aten::{operator}", source, scalar, Out(result, source.array.shape))


@st.composite
def of_floats(draw: st.DrawFn, name: str) -> Example:
    dtype = draw(st.sampled_from(["float32"] if name in OF_FLOATS_ONLY else ANY))
    shape = draw(st.sampled_from([(), (0,)]) | st.tuples(st.integers(1, 40)))
    source = In(numbers(shape, dtype, draw(seeds)))
    return calling(f"aten::{name}.out", source, Out(FLOAT, shape))


@pytest.mark.parametrize("operator", sorted(TWO))
@settings(max_examples=2)
@given(data=st.data())
def test_two_tensors(runtime: Runtime, operator: str, data: st.DataObject) -> None:
    runtime.check(*data.draw(st.lists(of_two(operator), min_size=1, max_size=20)))


@pytest.mark.parametrize("operator", sorted(SCALARS))
@settings(max_examples=2)
@given(data=st.data())
def test_a_tensor_and_a_number(runtime: Runtime, operator: str, data: st.DataObject) -> None:
    runtime.check(*data.draw(st.lists(of_one(operator), min_size=1, max_size=20)))


@pytest.mark.parametrize("name", sorted(FLOATS))
@settings(max_examples=2)
@given(data=st.data())
def test_functions_of_floats(runtime: Runtime, name: str, data: st.DataObject) -> None:
    runtime.check(*data.draw(st.lists(of_floats(name), min_size=1, max_size=20)))


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "atan"])
def test_angles_of_any_size(runtime: Runtime, name: str) -> None:
    patterns = np.arange(0, 0x7F800000, 600_011, dtype=np.uint32).view(np.float32)
    hardest = np.array([16367173 * 2.0**72, np.finfo(np.float32).max], np.float32)
    x = In(np.concatenate([patterns, -patterns, hardest]))
    runtime.check(calling(f"aten::{name}.out", x, Out(FLOAT, x.array.shape)))


ONE = {
    "clamp.out": [0, 3],
    "hardtanh.out": [-1, 1],
    "relu.out": [],
    "neg.out": [],
    "abs.out": [],
    "sign.out": [],
    "floor.out": [],
    "ceil.out": [],
    "round.out": [],
    "trunc.out": [],
}


@pytest.mark.parametrize("operator", sorted(ONE))
@settings(max_examples=3)
@given(data=st.data())
def test_functions_that_keep_the_type(runtime: Runtime, operator: str, data: st.DataObject) -> None:
    examples = []
    for dtype in [*INTEGERS, "float32"]:
        source = In(numbers((data.draw(st.integers(1, 40)),), dtype, data.draw(seeds)))
        out = Out(dtype, source.array.shape)
        examples.append(calling(f"aten::{operator}", source, *ONE[operator], out))
    runtime.check(*examples)


ONE_SIDED: dict[str, list[float]] = {"relu": [], "hardtanh": [-(2.0**-126), 2.0**-127]}


@st.composite
def long_calls(draw: st.DrawFn) -> Example:
    """More floats than a vector has, subnormal ones among them; one side may be a single number."""
    shape = (draw(st.integers(1, 100)),)
    operator = draw(
        st.sampled_from(["add", "sub", "mul", "div", "minimum", "maximum", "relu", "hardtanh"])
    )
    if operator in ONE_SIDED:
        x = In(extreme_floats(shape, draw(seeds)))
        limits = ONE_SIDED[operator]
        return calling(f"aten::{operator}.out", x, *limits, Out(FLOAT, shape))
    single = draw(st.sampled_from([(), (0,), (1,)]))
    sides = [
        In(extreme_floats((1,) if side in single else shape, draw(seeds))) for side in range(2)
    ]
    alpha = [1] if operator in ("add", "sub") else []
    return calling(f"aten::{operator}.out", *sides, *alpha, Out(FLOAT, shape))


@settings(max_examples=5)
@given(st.lists(long_calls(), min_size=10, max_size=40))
def test_subnormal_infinite_and_undefined(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


@pytest.mark.parametrize("operator", sorted(ONE_SIDED))
def test_limits_let_nan_pass(runtime: Runtime, operator: str) -> None:
    x = np.linspace(-3, 3, 67, dtype=np.float32)
    x[::5] = np.nan
    runtime.check(
        calling(f"aten::{operator}.out", In(x), *ONE_SIDED[operator], Out(FLOAT, x.shape))
    )


def result(operator: str, *arguments: object, dtype: npt.DTypeLike) -> list[float]:
    """Result of a call on rows of numbers, used as tensors."""
    given_arguments = [In(x) if isinstance(x, np.ndarray) else x for x in arguments]
    size = max(x.array.size for x in given_arguments if isinstance(x, In))
    example = calling(operator, *given_arguments, Out(dtype, (size,)))
    (output,) = example.reference.outputs
    return output.tolist()


F = np.array([-2.5, -1, 0, 1.5, 7], np.float32)
N = np.array([-7, -1, 0, 3, 100], np.int32)
RATIOS = [-7 / 100, -1 / 3, math.nan, -3, -100 / 7]
ELUS = [2 * math.expm1(-2.5), 2 * math.expm1(-1), 0, 1.5, 7]
LOGITS = [0, math.log(9), -math.log(3)]
NOT_ZERO = [True, True, False, True, True]


@pytest.mark.parametrize(
    ("operator", "arguments", "dtype", "expected"),
    [
        ("aten::clamp.out", (F, None, 1.0), "float32", [-2.5, -1, 0, 1, 1]),
        ("aten::clamp.out", (F, 2.0, 1.0), "float32", [1, 1, 1, 1, 1]),
        ("aten::clamp.out", (N, -2, 5), "int32", [-2, -1, 0, 3, 5]),
        ("aten::round.out", (F,), "float32", [-2, -1, 0, 2, 7]),
        ("aten::leaky_relu.out", (F, 0.5), "float32", [-1.25, -0.5, 0, 1.5, 7]),
        ("aten::div.out", (N, N[::-1].copy()), "float32", RATIOS),
        ("aten::div.Scalar_mode_out", (N, 2, "floor"), "int32", [-4, -1, 0, 1, 50]),
        ("aten::div.Scalar_mode_out", (N, 2, "trunc"), "int32", [-3, 0, 0, 1, 50]),
        ("aten::div.Scalar_mode_out", (F, 2.0, "trunc"), "float32", [-1, 0, 0, 0, 3]),
        ("aten::div.Scalar_mode_out", (F, 2.0, "floor"), "float32", [-2, -1, 0, 0, 3]),
        ("aten::remainder.Scalar_out", (N, 4), "int32", [1, 3, 0, 3, 0]),
        ("aten::remainder.Scalar_out", (F, 2.0), "float32", [1.5, 1, 0, 1.5, 1]),
        ("aten::fmod.Scalar_out", (N, 4), "int32", [-3, -1, 0, 3, 0]),
        ("aten::rsub.Scalar_out", (N, 10, 2), "int32", [24, 12, 10, 4, -190]),
        ("aten::add.Scalar_out", (F, 1.0, 2.0), "float32", [-0.5, 1, 2, 3.5, 9]),
        ("aten::pow.Tensor_Scalar_out", (N, 2), "int32", [49, 1, 0, 9, 10000]),
        ("aten::pow.Scalar_out", (2, np.array([0, 5, -1], np.int64)), "int64", [1, 32, 0]),
        ("aten::bitwise_not.out", (N,), "int32", [6, 0, -1, -4, -101]),
        ("aten::bitwise_not.out", (N > 0,), "bool", [True, True, True, False, False]),
        ("aten::logical_not.out", (F,), "bool", [False, False, True, False, False]),
        ("aten::isnan.out", (np.array([1, np.nan], np.float32),), "bool", [False, True]),
        ("aten::isinf.out", (np.array([1, -np.inf], np.float32),), "bool", [False, True]),
        ("aten::gt.Scalar_out", (N, 2.5), "bool", [False, False, False, True, True]),
        ("aten::hardswish.out", (F,), "float32", [-2.5 * 0.5 / 6, -2 / 6, 0, 1.5 * 4.5 / 6, 7]),
        ("aten::elu.out", (F, 2, 1, 1), "float32", ELUS),
        ("dim_order_ops::_to_dim_order_copy.out", (F, False, None), "int8", [-2, -1, 0, 1, 7]),
        ("dim_order_ops::_to_dim_order_copy.out", (F, False, None), "bool", NOT_ZERO),
        ("aten::logit.out", (np.array([0.5, 2, 0.25], np.float32), 0.1), "float32", LOGITS),
        ("aten::copy.out", (N, F, False), "int32", [-2, -1, 0, 1, 7]),
    ],
)  # fmt: skip
def test_values(
    operator: str, arguments: tuple[object, ...], dtype: str, expected: list[float]
) -> None:
    actual = result(operator, *arguments, dtype=dtype)
    assert actual == pytest.approx(expected, rel=1e-6, nan_ok=True)


@settings(max_examples=5)
@given(data=st.data())
def test_conversions(runtime: Runtime, data: st.DataObject) -> None:
    examples = []
    for source in (*ANY, "float64"):
        for target in (*ANY, "float64"):
            given_numbers = numbers((data.draw(st.integers(1, 30)),), source, data.draw(seeds))
            out = Out(target, given_numbers.shape)
            operator = "dim_order_ops::_to_dim_order_copy.out"
            examples.append(calling(operator, In(given_numbers), False, None, out))
    runtime.check(*examples)


def test_glu(runtime: Runtime) -> None:
    x = np.random.default_rng(0).normal(0, 2, (3, 4, 5)).astype(np.float32)
    example = calling("aten::glu.out", In(x, (2, 0, 1)), 1, Out("float32", (3, 2, 5)))
    expected = x[:, :2] / (1 + np.exp(-x[:, 2:].astype(np.float64)))
    assert np.allclose(example.reference.outputs[0], expected, rtol=1e-6)
    runtime.check(example)


def test_int8_functions_of_one_number_are_tables() -> None:
    x = In(np.zeros(5, np.int8))
    for operator, arguments, dtype in (
        ("aten::clamp.out", [-3, 4], "int8"),
        ("aten::gt.Scalar_out", [2], "bool"),
        ("aten::add.Scalar_out", [2, 1], "int8"),
    ):
        graph = calling(operator, x, *arguments, Out(dtype, (5,))).graph
        assert [node.op.label for node in graph.nodes] == ["activation"]


@pytest.mark.parametrize("name", sorted(OF_FLOATS_ONLY))
def test_functions_that_have_no_value_for_an_integer_are_refused(name: str) -> None:
    """Inside a quantised function they would have lost their scales."""
    with pytest.raises(Unsupported, match=f"aten::{name}.out #0: self is int8, not float32"):
        calling(f"aten::{name}.out", In(np.zeros(4, np.int8)), Out(np.int8, (4,)))


BYTE_FUNCTIONS = {
    name: function
    for name, function in TENSORS.items()
    if function.gives_truth or function in BITS[:3]
}


def test_every_pair_of_bytes(runtime: Runtime) -> None:
    """All of them, repeated operands, and counts that fill no vector."""
    every = np.arange(256).astype(np.uint8)
    examples = []
    for name, function in BYTE_FUNCTIONS.items():
        for dtype in ("int8", "uint8", "bool"):
            numbers = np.array([0, 1, 1, 0], np.bool_) if dtype == "bool" else every.view(dtype)
            rows = In(numbers[:, None])
            truth = np.bool_ if function.gives_truth else dtype
            out = Out(truth, (len(numbers),) * 2)
            examples.append(calling(f"aten::{name}", rows, In(numbers), out))
            few = Out(truth, (23,))
            lhs, rhs = (np.resize(numbers[::step], 23) for step in (1, -1))
            examples.append(calling(f"aten::{name}", In(lhs), In(rhs), few))
    runtime.check(*examples)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
def test_choices_between_bytes(runtime: Runtime, dtype: str) -> None:
    random = np.random.default_rng(3)
    examples = []
    for count in (1, 4, 15, 33):
        shapes = [(3, count), (3, 1), (count,), (1, 1)]
        for condition, lhs, rhs in (shapes[:3], shapes[1:], shapes[::-1][:3], [shapes[0]] * 3):
            truth = In(random.integers(0, 2, condition).astype(np.bool_))
            sides = [In(random.integers(-128, 128, x).astype(dtype)) for x in (lhs, rhs)]
            out = Out(dtype, np.broadcast_shapes(condition, lhs, rhs))
            examples.append(calling("aten::where.self_out", truth, *sides, out))
    runtime.check(*examples)
