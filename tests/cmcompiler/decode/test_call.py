"""Readers of operators get operands in the order they want, and checked arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cmcompiler.decode.call import Call
from cmcompiler.decode.registry import Schema
from cmcompiler.decode.scope import Scope
from cmcompiler.errors import CompilerError, InvalidProgram, Unsupported
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.pte.program import Allocation, Method, TensorList, TensorValue, Value

INT8 = np.dtype(np.int8)
NHWC = (0, 2, 3, 1)
NCHW = (0, 1, 2, 3)


def image(order: tuple[int, ...], *sizes: int, offset: int = 0) -> TensorValue:
    return TensorValue(INT8, sizes, order, allocation=Allocation(1, offset))


def call(declaration: str, *values: Value, inputs: int = 1) -> Call:
    """A call with these values as arguments, the first ones inputs of the method."""
    method = Method("forward", values, (), (), (), (0, 1 << 20))
    scope = Scope(method)
    for index, value in enumerate(values[:inputs]):
        if isinstance(value, TensorValue) and value.data is None:
            scope.input(index, value)
    schema = Schema.parse(declaration)
    names = [name for _, name in schema.parameters]
    return Call(schema.name, names, f"{schema.name} #0", range(len(values)), scope)


def image_call(source: TensorValue, target: TensorValue, name: str = "ns::op.out") -> Call:
    return call(f"{name}(Tensor input, *, Tensor(a!) out)", source, target)


@pytest.mark.parametrize(
    ("order", "sizes", "movement"),
    [
        (NHWC, (1, 3, 4, 5), None),
        (NCHW, (1, 3, 4, 5), Transpose((0, 2, 3, 1))),
        (NCHW, (2, 1, 4, 5), View((2, 4, 5, 1))),
        ((0, 2, 1, 3), (2, 1, 4, 5), View((2, 4, 5, 1))),
        (NCHW, (1, 3, 1, 1), View((1, 1, 1, 3))),
        ((0, 3, 2, 1), (1, 3, 4, 5), Transpose((0, 2, 1, 3))),
    ],
)
def test_images_are_nhwc(
    order: tuple[int, ...], sizes: tuple[int, ...], movement: Transpose | View | None
) -> None:
    given = image_call(image(order, *sizes), image(order, *sizes, offset=4096))
    tensor = given.nhwc("input")
    assert tensor.shape == tuple(sizes[dim] for dim in NHWC)
    assert [node.op for node in given.nodes] == ([] if movement is None else [movement])


def test_images_of_explicit_operators_are_nhwc_already() -> None:
    source = image(NCHW, 1, 4, 5, 3)
    given = image_call(source, image(NCHW, 1, 4, 5, 3, offset=4096), "ns::op_nhwc.out")
    assert given.nhwc("input").shape == (1, 4, 5, 3)
    assert not given.nodes


@pytest.mark.parametrize("order", [NHWC, NCHW, (0, 3, 2, 1)])
def test_results_are_brought_to_the_order_of_the_program(order: tuple[int, ...]) -> None:
    """An op that copies its NHWC image returns the same logical image in any dim order."""
    given = image_call(image(NHWC, 2, 3, 4, 5), image(order, 2, 3, 4, 5, offset=4096))
    source, result = given.nhwc("input"), given.nhwc_output()
    given.emit(View(source.shape), [source], [result])
    array: Any = np.arange(120, dtype=np.int8).reshape(2, 4, 5, 3)
    for node in given.finish():
        (array,) = node.op.reference(array)
    logical = np.arange(120, dtype=np.int8).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2)
    assert np.array_equal(array, logical.transpose(order))


def test_constants_are_arranged_without_a_node() -> None:
    data = memoryview(bytes(range(24)))
    source = TensorValue(INT8, (1, 2, 3, 4), NCHW, data)
    given = image_call(source, image(NHWC, 1, 2, 3, 4))
    tensor = given.nhwc("input")
    expected = np.arange(24).reshape(1, 2, 3, 4).transpose(NHWC)
    assert tensor.data is not None
    assert np.array_equal(tensor.data, expected)
    assert np.array_equal(given.constant("input"), np.arange(24).reshape(1, 2, 3, 4))
    assert not given.nodes


def test_booleans_of_a_constant_are_0_or_1() -> None:
    source = TensorValue(np.dtype(np.bool_), (3,), (0,), memoryview(b"\0\2\xff"))
    array = image_call(source, image((0,), 3)).constant("input")
    assert array.view(np.uint8).tolist() == [0, 1, 1]


def test_strides_and_axes() -> None:
    tensor = Tensor("t", INT8, (2, 4, 5, 3))
    operand = Operand(tensor, (2, 3, 4, 5), NHWC)
    assert operand.strides == (60, 1, 15, 3)
    assert [operand.physical_axis(dim) for dim in (0, 1, -1, -2)] == [0, 3, 2, 1]
    with pytest.raises(IndexError):
        operand.physical_axis(4)


def test_results_must_be_written() -> None:
    given = image_call(image((0,), 3), image((0,), 3, offset=64))
    given.output()
    with pytest.raises(ValueError, match="must write value_1 once"):
        given.finish()


DECLARATION = (
    "ns::op.out(Tensor input, int n, float f, bool b, int[] ns, float[] fs, str s, ScalarType t, "
    "Tensor? none, Tensor[] list, Tensor?[] some, ScalarType code, *, Tensor(a!)[] out)"
)


def full_call() -> Call:
    return call(
        DECLARATION,
        image((0,), 3),
        5,
        0.5,
        True,
        (1, 2),
        (1.0, 2.0),
        "text",
        1,
        None,
        TensorList((0, 0)),
        TensorList((0, None)),
        12,
        TensorList((13, 14)),
        image((0,), 3, offset=64),
        image((0,), 3, offset=128),
    )


def test_arguments_by_name() -> None:
    given = full_call()
    assert given.integer("n") == given.integer("n", 5, 5) == 5
    assert given.number("f") == 0.5
    assert given.number("n") == 5.0
    assert given.scalar("b") is given.boolean("b") is True
    assert given.integers("ns", 2, 1, 2) == (1, 2)
    assert given.integers("n") == (5,)
    assert given.numbers("fs") == (1.0, 2.0)
    assert given.string("s") == "text"
    assert given.dtype("t") == INT8
    assert given.is_none("none") and given.optional("none") is None
    assert given.optional_constant("none") is None
    assert [operand.shape for operand in given.tensors("list")] == [(3,), (3,)]
    assert [operand is None for operand in given.optional_tensors("some")] == [False, True]
    assert [operand.tensor.name for operand in given.outputs()] == ["value_13", "value_14"]


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda c: c.tensor("n"), InvalidProgram, "n is not a tensor"),
        (lambda c: c.tensor("none"), InvalidProgram, "none is None"),
        (lambda c: c.tensor("input", dtype=np.int16), Unsupported, "input is int8, not int16"),
        (lambda c: c.tensor("input", rank=4), Unsupported, "input has 1 dimensions, not 4"),
        (lambda c: c.nhwc("input"), Unsupported, "input has 1 dimensions, not 4"),
        (lambda c: c.constant("input"), Unsupported, "input is not constant"),
        (lambda c: c.integer("b"), InvalidProgram, "b is not an integer"),
        (lambda c: c.integer("f"), InvalidProgram, "f is not an integer"),
        (lambda c: c.integer("n", 6), Unsupported, "n = 5 is outside 6.."),
        (lambda c: c.integer("n", None, 4), Unsupported, "n = 5 is outside ..4"),
        (lambda c: c.number("s"), InvalidProgram, "s is not a number"),
        (lambda c: c.boolean("n"), InvalidProgram, "n is not a boolean"),
        (lambda c: c.integers("fs"), InvalidProgram, "fs is not a list of integers"),
        (lambda c: c.integers("f"), InvalidProgram, "f is not a list"),
        (lambda c: c.integers("ns", 3), InvalidProgram, "ns has 2 items, not 3"),
        (lambda c: c.integers("ns", 2, 2), Unsupported, "ns = 1 is outside 2.."),
        (lambda c: c.dtype("code"), Unsupported, "code is scalar type 12"),
        (lambda c: c.tensors("some"), InvalidProgram, "a member of some is None"),
        (lambda c: c.tensors("ns"), InvalidProgram, "ns is not a list of tensors"),
        (lambda c: c.unsupported("too odd"), Unsupported, "too odd"),
    ],
)
def test_refusals_name_the_instruction(
    ask: Callable[[Call], object], error: type[CompilerError], message: str
) -> None:
    given = full_call()
    with pytest.raises(error) as refused:
        ask(given)
    assert refused.value.message == f"ns::op.out #0: {message}"
