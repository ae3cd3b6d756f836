"""Work, the one statement of cost outside of C, against the kernels' own C.

The kernels run on this computer with microkernels that only count, for random shapes of operators,
whole and in bands of rows, with scratch of several sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
import pytest
from harness.calls import In, Out, calling
from harness.counting import Counts, counting_kernels
from harness.examples import Example
from harness.operator_calls import operator_calls
from harness.recurrent_calls import gate_product, recurrent_calls

from cmcompiler.ir.op import KernelCall, Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import (
    DepthwiseArguments,
    DepthwiseArguments16,
    DepthwiseConv2d,
)
from cmcompiler.ops.grouped_conv2d import GroupedArguments, GroupedConv2d
from cmcompiler.ops.linear import Linear, LinearArguments, LinearArguments16
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support import nibbles
from cmcompiler.ops.support.arguments import items
from cmcompiler.ops.support.pooling import Pool2d
from cmcompiler.ops.support.product_arguments import (
    PatchArguments,
    ProductArguments,
    StripArguments,
)
from cmcompiler.ops.support.requantize import Int8Array, Range, Requantize
from cmcompiler.ops.support.requantize16 import INT16, Requantize16, RequantizedOp
from cmcompiler.ops.support.window import Window
from cmcompiler.ops.transpose_conv2d import TransposeConv2d
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from cmcompiler.plan.streams.costs.growth import growable_scratch

Random = np.random.Generator
BYTE = np.dtype(np.int8)

SHAPES = 1000
MANY = 5000


@dataclass(frozen=True)
class Layer:
    """An operator on some shapes."""

    op: Op
    input: Tensor
    output: Tensor

    @classmethod
    def of(cls, op: Op, images: tuple[int, ...], outputs: tuple[int, ...]) -> Layer:
        element = op.element if isinstance(op, RequantizedOp) else BYTE
        return cls(op, Tensor("x", element, images), Tensor("y", element, outputs))

    def __str__(self) -> str:
        return f"{self.op.title} from {self.input.shape} to {self.output.shape}"

    def calls(self, isa: Isa) -> list[KernelCall]:
        return list(self.op.kernel_calls((self.input,), (self.output,), isa))


def number(random: Random, low: int, high: int) -> int:
    return int(random.integers(low, high + 1))


def weights(random: Random, *shape: int, low: int = -9, high: int = 9) -> Int8Array:
    return random.integers(low, high + 1, shape).astype(np.int8)


@dataclass(frozen=True)
class Precision:
    """The types of a layer's weights and activations.

    Attributes:
        ends: of the weights.
    """

    ends: tuple[int, int]
    is_int16: bool = False

    def weights(self, random: Random, *shape: int) -> Int8Array:
        return weights(random, *shape, low=self.ends[0], high=self.ends[1])

    def bias(self, channels: int) -> npt.NDArray[np.int32] | npt.NDArray[np.int64]:
        return np.zeros(channels, np.int64) if self.is_int16 else np.zeros(channels, np.int32)

    def scales(self, channels: int) -> Requantize:
        multipliers, shifts = [1 << 30] * channels, [-8] * channels
        if self.is_int16:
            return Requantize16.of(multipliers, shifts, INT16, is_long=True)
        ends = {"minimum": -128, "maximum": 127}
        return Requantize.checked(multipliers, shifts, channels, zero_point=0, **ends)


PRECISIONS = (
    *[Precision((-9, 9))] * 3,
    Precision((nibbles.LEAST, nibbles.LARGEST)),
    Precision((-9, 9), is_int16=True),
)
"""Weights of eight bits, of four, and activations of 16."""


def precision(random: Random) -> Precision:
    return PRECISIONS[number(random, 0, len(PRECISIONS) - 1)]


def window(random: Random, dilated: bool = True) -> Window:
    kernels = [(1, 1), (1, 1), (3, 3), (3, 3), (3, 1), (1, 3), (5, 5), (2, 2), (2, 3)]
    kernel = kernels[number(random, 0, len(kernels) - 1)]
    stride = number(random, 1, 2), number(random, 1, 2)
    padding = (number(random, 0, 1), number(random, 0, 1)) if max(kernel) > 1 else (0, 0)
    is_dilated = dilated and random.random() < 0.2
    dilation = (number(random, 1, 3), number(random, 1, 3)) if is_dilated else (1, 1)
    return Window(kernel, stride, padding, dilation)


def images(random: Random, channels: int) -> tuple[int, int, int, int]:
    height, width = number(random, 5, 30), number(random, 5, 30)
    if random.random() < 0.15:
        width = 1
    return int(random.choice([1, 1, 1, 2, 3])), height, width, channels


def convolution(random: Random) -> Layer | None:
    groups, places = int(random.choice([1, 1, 1, 2, 3])), window(random)
    step = int(random.choice([1, 4]))
    depth, outputs = step * number(random, 1, 8 // step), step * number(random, 1, 20 // step)
    shape = images(random, groups * depth)
    out = (shape[0], *places.output_size(shape[1:3]), groups * outputs)
    if min(out) < 1:
        return None
    types = precision(random)
    op = (GroupedConv2d if groups > 1 else Conv2d)(
        types.weights(random, groups * outputs, *places.kernel, depth),
        types.bias(groups * outputs),
        places,
        0,
        types.scales(groups * outputs),
        out,
        groups,
        wide=bool(number(random, 0, 1)),
    )
    return Layer.of(op, shape, out)


def depthwise(random: Random) -> Layer | None:
    """With several filters for a channel, too."""
    places, channels, types = window(random), number(random, 1, 24), precision(random)
    shape = images(random, channels)
    outputs = channels * (1 if types.is_int16 else int(random.choice([1, 1, 1, 2, 8])))
    out = (shape[0], *places.output_size(shape[1:3]), outputs)
    if min(out) < 1:
        return None
    taps = types.weights(random, *places.kernel, outputs)
    op = DepthwiseConv2d(taps, types.bias(outputs), places, 0, types.scales(outputs), out)
    return Layer.of(op, shape, out)


def transposed(random: Random) -> Layer | None:
    places, channels, outputs = window(random), number(random, 1, 8), number(random, 1, 8)
    shape = images(random, channels)
    extra = tuple(number(random, 0, stride - 1) for stride in places.stride)
    out = (shape[0], *places.transposed_size(*shape[1:3], (extra[0], extra[1])), outputs)
    if min(out) < 1:
        return None
    types = precision(random)
    kernel = types.weights(random, outputs, *places.kernel, channels)
    op = TransposeConv2d(kernel, types.bias(outputs), places, 0, types.scales(outputs), out, shape)
    return Layer.of(op, shape, out)


def linear(random: Random) -> Layer:
    rows, depth, columns = int(random.choice([1, 1, 2, 9])), *random.integers(1, 40, 2).tolist()
    types = precision(random)
    kernel, biases = types.weights(random, columns, depth), types.bias(columns)
    op = Linear(kernel, biases, types.scales(columns), rows, bool(number(random, 0, 1)))
    return Layer.of(op, (rows, depth), (rows, columns))


LAYERS: tuple[Callable[[Random], Layer | None], ...] = (
    *(convolution, convolution, convolution, depthwise, depthwise, transposed, linear),
)


def layers(count: int, seed: int) -> Iterator[Layer]:
    random = np.random.default_rng(seed)
    made = 0
    while made < count:
        if (layer := LAYERS[made % len(LAYERS)](random)) is not None:
            yield layer
            made += 1


def differences(layer: Layer, isa: Isa, random: Random) -> tuple[int, list[str]]:
    """How many counts were compared, and those that differ."""
    compared, wrong = 0, []
    calls, is_convolution = layer.calls(isa), not isinstance(layer.op, TransposeConv2d)
    macs = 0
    for call in calls:
        grows = growable_scratch(call)
        for units in {1, 1 if grows is None else number(random, 1, grows.most)}:
            for rows in {call.rows[1], number(random, 1, max(1, call.rows[1]))}:
                counts = counting_kernels().count(call, units, (0, rows) if call.rows[1] else None)
                for name, c, python in stated(call, rows, units, counts, is_convolution):
                    compared += 1
                    if c != python:
                        wrong.append(
                            f"{isa.label} cm_{call.kernel}, {layer}, {rows} rows, {units} units: "
                            f"{name} {c} in C, {python}"
                        )
        macs += counting_kernels().count(call).macs
    # A transposed one computes taps of zero as well; the size of groups is a word of constants.
    if is_convolution and not isinstance(calls[0].typed, GroupedArguments):
        compared, most = compared + 1, products(layer.op, calls)
        is_all = not isinstance(calls[0].typed, DepthwiseArguments16) or is_inside(layer)
        if macs > most or (is_all and macs != most):
            wrong.append(f"{layer}: {macs} macs in C, {most}")
    return compared, wrong


def is_inside(layer: Layer) -> bool:
    """Whether no window crosses a side of the image."""
    assert isinstance(layer.op, DepthwiseConv2d)
    return layer.op.window.padding == (0, 0)


def products(op: Op, calls: Sequence[KernelCall]) -> int:
    """The multiplications of an op's calls: small depthwise windows may be filled up with zeros."""
    arguments = calls[0].typed
    if isinstance(op, DepthwiseConv2d) and isinstance(arguments, DepthwiseArguments):
        return op.macs // op.window.area * arguments.window.area
    return op.macs


def stated(
    call: KernelCall, rows: int, units: int, counts: Counts, is_convolution: bool
) -> Iterator[tuple[str, float, float]]:
    """Each count by the kernel's C, and by the arguments' Work."""
    arguments = call.typed
    assert arguments is not None, call.kernel
    work = arguments.division(rows, units)
    if isinstance(arguments, DepthwiseArguments16):
        pixels = arguments.output.batch * rows * arguments.output.width
        yield "outputs", counts.outputs, pixels * arguments.output.channels // 2
        return
    if isinstance(arguments, DepthwiseArguments):
        pixels = arguments.output.batch * rows * arguments.output.width
        yield "outputs", counts.outputs, pixels * arguments.channels
        # How the columns of a band are divided is the microkernel's.
        columns = items(arguments.chunk, 1 << 10)
        whole = arguments.division(rows, 1 << 10).portions
        yield "portions", counts.portions, whole // -(-arguments.output.width // columns)
        return
    yield "portions", counts.portions, work.portions
    yield "columns", counts.columns, work.columns
    if isinstance(arguments, LinearArguments):
        size = 2 if isinstance(arguments, LinearArguments16) else 1
        yield "outputs", counts.outputs, arguments.rows * arguments.columns // size
        return
    assert isinstance(arguments, ProductArguments)
    pixels = arguments.output.batch * rows * arguments.output.width
    channels = arguments.output.channels // arguments.channel_bytes
    yield "outputs", counts.outputs, pixels * channels
    if isinstance(arguments, PatchArguments) and rows == arguments.output.height:
        # What lies outside of the image is not gathered, and a column of pixels in one piece.
        most, count = arguments.gathering().segments, counts.segments
        is_inside = (arguments.window.pad_top, arguments.window.pad_left) == (0, 0)
        is_all = is_inside and arguments.input.width > 1 and is_convolution
        yield "segments", count if is_all else max(count, most), most
    if isinstance(arguments, StripArguments):
        is_all = is_convolution and arguments.window.pad_top == 0
        yield "lines", counts.lines if is_all else max(counts.lines, work.lines), work.lines


UNITY = (1 << 30, -19)


def program(random: Random) -> Example:
    """One call of an operator whose work is its multiply-accumulates and its outputs alone."""
    rows, columns = number(random, 1, 9), number(random, 1, 33)
    x, out = In(weights(random, rows, columns)), Out("int8", (rows, columns))
    y = In(weights(random, *[(rows, columns), (1, columns), (rows, 1)][number(random, 0, 2)]))
    steps, batch, depth, units = (number(random, 1, most) for most in (5, 2, 20, 20))
    sequence = In(weights(random, steps, batch, depth))
    hidden, place = Out("int8", (steps, batch, units)), (0, False, False)
    both = (*gate_product(3 * units, depth), *gate_product(3 * units, units))
    narrowing, initial = (1 << 30, -7, 3), (1 << 30, -6)
    short = In(weights(random, rows, columns).astype(np.int16))
    short_out = Out("int16", (rows, columns))
    calls = {
        "cortex_m::minimum.out": (x, y, out),
        "cortex_m::maximum.out": (x, y, out),
        "cortex_m::quantized_add.out": (
            *(x, 3, *UNITY, y, -5, *UNITY, 1, 1 << 30, -19, -128, 127, out),
        ),
        "cortex_m::quantized_mul.out": (x, 3, y, -5, 1, 1 << 30, -5, out),
        "cortex_m::quantized_activation.out": (x, In(weights(random, 256), constant=True), out),
        "cmbuild::short_add_s16.out": (
            *(short, 1 << 30, -1, short, 1 << 30, -1, 1 << 30, 0, -32768, 32767, short_out),
        ),
        "cmbuild::short_mul_s16.out": (short, short, 1 << 30, -14, short_out),
        "cortex_m::softmax.out": (x, 1, 0, -128, 1 << 30, 23, -124, out),
        "cortex_m::quantized_batch_matmul.out": (
            *(In(weights(random, batch, rows, depth)), 3),
            *(In(weights(random, batch, units, depth)), -5, 1, 1 << 30, -7),
            *(In(np.zeros(1, np.int32), constant=True), Out("int8", (batch, rows, units))),
        ),
        "cmbuild::quantized_gru.out": (sequence, None, *both, 15, *narrowing, *place, hidden),
        "cmbuild::quantized_rnn.out": (
            *(sequence, None, *gate_product(units, depth), *gate_product(units, units), "tanh"),
            *(*narrowing, *initial, *place, hidden),
        ),
    }
    name = list(calls)[number(random, 0, len(calls) - 1)]
    return calling(name, *calls[name])


def pool(random: Random) -> Layer | None:
    places, channels = window(random), number(random, 1, 20)
    shape = images(random, channels)
    out = (shape[0], *places.output_size(shape[1:3]), channels)
    if min(out) < 1 or max(places.padding) > min(places.kernel) // 2:
        return None
    op = (
        MaxPool2d(places, out, Range(-128, 127)) if number(random, 0, 1) else AvgPool2d(places, out)
    )
    return Layer.of(op, shape, out)


def pool_differences(layer: Layer, isa: Isa) -> tuple[int, list[str]]:
    (call,) = layer.calls(isa)
    counts, outputs = counting_kernels().count(call), prod(layer.output.shape)
    assert isinstance(layer.op, Pool2d)
    if call.rows != (0, layer.output.shape[1]):  # one window, row by row
        return 1, []
    most = outputs * layer.op.window.area
    is_inside = layer.op.window.padding == (0, 0)
    wrong = []
    if counts.outputs != outputs:
        wrong.append(f"{layer.op.title}: {counts.outputs} outputs in C, {outputs}")
    if counts.taps > most or (is_inside and counts.taps != most):
        wrong.append(f"{layer.op.title}: {counts.taps} taps in C, {most}")
    return 2, wrong


def program_differences(example: Example, isa: Isa) -> tuple[int, list[str]]:
    plan = make_plan(example.graph, isa, PlanOptions(streams=False))
    counts = counting_kernels().count_plan(plan)
    outputs = sum(step.elements for step in plan.steps)
    wrong = []
    if counts.macs != plan.macs:
        wrong.append(f"{example}: {counts.macs} macs in C, {plan.macs}")
    if counts.outputs != outputs:
        wrong.append(f"{example}: {counts.outputs} outputs in C, {outputs}")
    return 2, wrong


def check(shapes: int, seed: int) -> int:
    """How many counts agree.

    Raises:
        AssertionError: naming counts that differ.
    """
    random, compared, wrong = np.random.default_rng([seed, 1]), 0, []
    for layer in layers(shapes * 7 // 10, seed):
        for isa in Isa:
            count, differ = differences(layer, isa, random)
            compared, wrong = compared + count, wrong + differ
    pools = filter(None, (pool(random) for _ in range(shapes // 10)))
    for layer in pools:
        for isa in Isa:
            count, differ = pool_differences(layer, isa)
            compared, wrong = compared + count, wrong + differ
    for _ in range(shapes * 2 // 10):
        count, differ = program_differences(program(random), Isa(number(random, 0, 2)))
        compared, wrong = compared + count, wrong + differ
    assert not wrong, "\n".join([f"{len(wrong)} of {compared:,} counts differ", *wrong[:20]])
    return compared


def test_work_is_what_the_kernels_do() -> None:
    assert check(SHAPES, 0) > 5 * SHAPES


@pytest.mark.long
def test_work_is_what_the_kernels_do_on_many_shapes() -> None:
    assert check(MANY, 1) > 5 * MANY


AT_MOST = {
    "aten::convolution.out": "taps outside of the image are left out",
    "cmbuild::quantized_svdf.out": "the newest features are multiplied beside the filter",
    "cmbuild::quantized_attention.out": "a causal mask leaves keys out",
    "cmbuild::short_bmm_s16.out": "its kernel multiplies without a microkernel",
}
"""Operators whose microkernels are asked for fewer multiply-accumulates than are stated."""


@pytest.mark.parametrize("isa", Isa)
def test_macs_of_every_operator(isa: Isa) -> None:
    wrong, compared = [], 0
    for name, arguments in {**operator_calls(), **recurrent_calls()}.items():
        graph = calling(name, *arguments).graph
        plan = make_plan(graph, isa, PlanOptions(streams=False))
        if not all(step.is_call for step in plan.steps):
            continue
        compared += 1
        counted, stated_macs = counting_kernels().count_plan(plan).macs, plan.macs
        if counted < stated_macs if name in AT_MOST else counted == stated_macs:
            continue
        wrong.append(f"{name}: {counted} in C, {stated_macs}")
    assert wrong == []
    assert compared > 200
