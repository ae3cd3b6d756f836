"""Every operator with every size of its tensors changed, also to zero: refused, or right."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from harness.calls import Given, In, Out, calling, program_calling
from harness.examples import Example
from harness.operator_calls import Arguments, operator_calls
from harness.runtime import Runtime

from cmcompiler.errors import CompilerError, InvalidProgram, Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.isa import Isa
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support.requantize import Range
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.program import Method, TensorList

CALLS = operator_calls()


def resized(argument: Given, old: int, new: int, *, numbers: bool) -> Given:
    """The argument with dimensions of another size; with `numbers`, also those of lists."""

    def change(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new if type(n) is int and n == old else n for n in sizes)

    match argument:
        case list():
            return [resized(x, old, new, numbers=numbers) for x in argument]  # type: ignore[return-value]
        case In():
            shape = change(argument.array.shape)
            empty = np.zeros(shape, argument.array.dtype)
            return replace(
                argument, array=np.resize(argument.array, shape) if empty.size else empty
            )
        case Out():
            return replace(argument, shape=change(argument.shape))
        case tuple() if numbers:
            return change(argument)  # type: ignore[arg-type]
    return argument


def sizes_of(arguments: Arguments) -> set[int]:
    members = [x for given in arguments for x in (given if isinstance(given, list) else [given])]
    shapes = [
        x.array.shape if isinstance(x, In) else x.shape for x in members if isinstance(x, (In, Out))
    ]
    return {size for shape in shapes for size in shape}


def accepted() -> Iterator[Example]:
    for operator, arguments in CALLS.items():
        for old in sorted(sizes_of(arguments)):
            for new in {0, 1, 2, 5} - {old}:
                for numbers in (False, True):
                    changed = [resized(x, old, new, numbers=numbers) for x in arguments]
                    try:
                        example = calling(operator, *changed)
                        make_plan(example.graph, Isa.SCALAR)
                    except CompilerError as error:
                        assert error.message.isprintable()
                        continue
                    yield replace(example, name=f"{operator} of {changed}")


def test_other_sizes_are_refused_or_right(native: Runtime) -> None:
    native.check(*accepted())


def test_an_output_that_is_named_twice_is_refused() -> None:
    parts: list[Out] = [Out("float32", (2, 3)), Out("float32", (2, 3))]
    source = In(np.zeros((4, 3), np.float32))
    operator = "aten::split_with_sizes_copy.out"
    program = program_calling(operator, source, (2, 2), 0, parts)
    (method,) = program.methods
    assert isinstance(method, Method)
    values = (
        replace(value, items=value.items[:1] * 2) if isinstance(value, TensorList) else value
        for value in method.values
    )
    twice = replace(program, methods=(replace(method, values=tuple(values)),))
    with pytest.raises(InvalidProgram, match=r"out\[0\] and out\[1\] are one tensor"):
        build_graph(twice)


@pytest.mark.parametrize("margin", [(1 << 63) - 1, 1 << 62])
def test_margins_do_not_wrap(margin: int) -> None:
    image = In(np.zeros((1, 1, 2, 2), np.int8))
    around = (0, margin, margin, 0), (0, margin, margin, 0)
    with pytest.raises(InvalidProgram, match="output is"):
        calling("cortex_m::pad.out", image, *around, 0, Out("int8", (1, 1, 2, 2)))


def test_the_reference_of_large_windows_takes_little_memory() -> None:
    op = MaxPool2d(Window((200, 200)), (1, 201, 201, 1), Range(-128, 127))
    images = np.zeros((1, 400, 400, 1), np.int8)
    tracemalloc.start()
    try:
        op.reference(images)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_strides_that_take_very_many_kernel_calls_are_refused() -> None:
    image = In(np.ones((1, 1, 1, 1), np.int8))
    weights, bias = In(np.ones((1, 1, 1, 1), np.int8), constant=True), None
    scaled = (In(np.array([number], np.int32), constant=True) for number in (1 << 30, 1))
    scratch = [In(np.zeros(4, np.uint8))] * 2
    with pytest.raises(Unsupported, match="take 4,225 kernel calls"):
        calling(
            "cortex_m::quantized_transpose_conv2d.out",
            *(image, weights, bias, (65, 65), (0, 0), (64, 64), (1, 1), 0, 0),
            *(*scaled, -128, 127, *scratch),
            Out("int8", (1, 1, 65, 65)),
        )
