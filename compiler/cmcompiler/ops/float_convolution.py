"""Convolution of floats in one to three dimensions, transposed or not: aten::convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import Annotated

import numpy as np
import numpy.typing as npt

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place, Struct
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Address, KernelCall, Op, Packed, Scratch, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.matmul import NONE
from cmcompiler.ops.support.dot import DOT, FLOAT_BYTES, TAP_BYTES, blocks_of, byte_steps
from cmcompiler.ops.support.functions import Floats

LARGEST = (1 << 15) - 1
"""Limit of a stride, a padding or a dilation."""

SPATIAL_FIRST = (3, 4, 5, 0, 1, 2)


@dataclass(frozen=True)
class AxisFields(Struct):
    """How outputs along an axis meet inputs and taps; steps from one to the next."""

    c_name = "cm_axis"

    segments: Place
    segment_count: Int32
    output_step: Annotated[Int32, "from one output of a segment to the next"]
    input_step: Int32
    tap_input: Annotated[Int32, "from one tap that meets an input to the next"]
    tap_weight: Int32


@dataclass(frozen=True)
class ConvolutionSteps(Struct):
    """Steps of images, results and weights."""

    input_batch: Int32
    input_group: Int32
    input_channel: Int32
    output_batch: Int32
    output_group: Int32
    output_channel: Int32
    weight_group: Int32
    weight_output: Int32
    weight_channel: Int32


@dataclass(frozen=True)
class FloatConvolutionArguments(Arguments):
    """Float images, weights and results of any memory order."""

    c_name = "cm_convolution_f32"

    input: Place
    weights: Place
    bias: Place
    output: Place
    taps: Annotated[Place, "scratch for those of a block of channels"]
    block: Int32
    blocks: Int32
    batch: Int32
    groups: Int32
    output_channels: Annotated[Int32, "of one group"]
    channel_input: Annotated[Int32, "from the inputs of one output channel to those of the next"]
    steps: Annotated[ConvolutionSteps, INLINE]
    depth: AxisFields
    height: AxisFields
    width: AxisFields


@dataclass(frozen=True, slots=True)
class Axis:
    """How a kernel slides along one dimension: tap k of output o meets input (o · stride -
    padding + k · dilation) / spread, if there is one. A transposed convolution has its stride as
    the spread, and walks backwards: its padding and dilation are negative.
    """

    input: int
    output: int
    kernel: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    spread: int = 1

    @property
    def period(self) -> int:
        """Taps from one that meets an input to the next that may."""
        return self.spread // gcd(self.spread, self.dilation)

    @property
    def advance(self) -> int:
        """Inputs that a period moves on."""
        return self.period * self.dilation // self.spread

    @property
    def turn(self) -> int:
        """Outputs from one to the next whose taps may meet inputs in the same way."""
        return max(min(self.spread // gcd(self.spread, self.stride), self.output), 1)

    def pairs(self, tap: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Outputs and the inputs that the tap of each meets."""
        outputs = np.arange(self.output)
        places = outputs * self.stride - self.padding + tap * self.dilation
        inputs = places // self.spread
        met = (places % self.spread == 0) & (inputs >= 0) & (inputs < self.input)
        return outputs[met], inputs[met]

    def segments(self) -> npt.NDArray[np.intp]:
        """Outputs, a turn apart, that meet inputs with the same taps.

        Rows: how many there are, their taps, the first one, its first input, its first tap.
        """
        return np.concatenate([self._segments(first) for first in range(self.turn)])

    def _segments(self, first: int) -> npt.NDArray[np.intp]:
        outputs = np.arange(first, self.output, self.turn)
        taps = np.arange(min(self.kernel, self.period))
        places = first * self.stride - self.padding + taps * self.dilation
        meeting = taps[places % self.spread == 0]
        if not meeting.size or not outputs.size or not self.input:
            numbers = [outputs.size, 0, first, 0, 0]
            return np.array([numbers] if outputs.size else [], np.intp).reshape(-1, 5)
        tap, move = int(meeting[0]), abs(self.advance)
        inputs = (outputs * self.stride - self.padding + tap * self.dilation) // self.spread
        # Taps before and from the first one on that lies in the image.
        ahead = inputs if self.advance > 0 else self.input - 1 - inputs
        skipped = np.maximum(-(ahead // move), 0)
        there = np.minimum(
            (self.input - 1 - ahead) // move + 1, len(range(tap, self.kernel, self.period))
        )
        counts = np.maximum(there - skipped, 0)
        skipped = np.where(counts > 0, skipped, 0)
        inputs = np.where(counts > 0, inputs + skipped * self.advance, 0)
        changes = np.flatnonzero(np.diff(skipped) | np.diff(counts)) + 1
        starts = np.array([0, *changes])
        sizes = np.diff([*starts, outputs.size])
        weights = np.where(counts > 0, tap + skipped * self.period, 0)
        return np.stack([sizes, *(x[starts] for x in (counts, outputs, inputs, weights))], axis=1)

    def fields(self, source: int, target: int, weight: int) -> AxisFields:
        """How a kernel walks along it, with the steps of input, output and weights in bytes."""
        segments = self.segments()
        table = segments * (1, 1, target, source, weight)
        counts, taps = segments[:, 0], segments[:, 1]
        # Steps that nobody takes may not fit 32 bits.
        is_long, meets_many = (counts > 1).any(), (taps > 1).any()
        is_moving = (counts[taps > 0] > 1).any()
        return AxisFields(
            segments=Packed(table.astype("<i4").tobytes(), 4),
            segment_count=len(segments),
            output_step=self.turn * target if is_long else 0,
            input_step=self.turn * self.stride // self.spread * source if is_moving else 0,
            tap_input=self.advance * source if meets_many else 0,
            tap_weight=self.period * weight if meets_many else 0,
        )


@dataclass(frozen=True)
class FloatConvolution(Op):
    """Sums over input channels, then taps in their order, of float32 products, plus the bias.

    A sum starts at 0; each product and sum is rounded. Inputs of the node: images, weights, and
    the bias if there is one.

    Attributes:
        images: window [N, groups, channels, depth, height, width].
        weights: window [groups, output channels, channels, taps of three dimensions].
        output: window [N, groups, output channels, depth, height, width] on all of it.
        shape: of the output, physical.
    """

    label = "conv_f32"
    element = np.dtype(np.float32)

    axes: tuple[Axis, Axis, Axis]
    images: Strided
    weights: Strided
    output: Strided
    shape: tuple[int, ...]

    @property
    def title(self) -> str:
        sides = [str(axis.kernel) for axis in self.axes]
        return f"convolution {'×'.join(sides[1:] if sides[0] == '1' else sides)}"

    @property
    def macs(self) -> int:
        spread = prod(axis.spread for axis in self.axes)
        return self.output.numel * prod(self.weights.shape[2:]) // spread

    def reference(self, *inputs: Floats) -> tuple[Floats, ...]:
        # Here, the spatial dimensions come first.
        images = self.images.permute(SPATIAL_FIRST).read(inputs[0])
        weights = self.weights.read(inputs[1])
        output = self.output.permute(SPATIAL_FIRST)
        total = np.zeros(output.shape, np.float32)
        taps = [list(map(axis.pairs, range(axis.kernel))) for axis in self.axes]
        with np.errstate(all="ignore"):
            for channel, z, y, x in product(range(weights.shape[2]), *map(range, map(len, taps))):
                pairs = [along[tap] for along, tap in zip(taps, (z, y, x), strict=True)]
                met = np.ix_(*(outputs for outputs, _ in pairs))
                source = np.ix_(*(sources for _, sources in pairs))
                factors = weights[:, :, channel, z, y, x]
                total[met] += images[..., channel][source][..., None] * factors
            if len(inputs) > 2:
                total += inputs[2].reshape(output.shape[4:])
        return (output.write(total, self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        images, output, weights, channel_input = self.images, self.output, self.weights, 0
        if output.shape[2] == 1:
            # Channels of one group, each with inputs of its own.
            channel_input = FLOAT_BYTES * images.strides[1]
            output = output.permute((0, 2, 1, 3, 4, 5))
            weights = weights.permute((1, 0, 2, 3, 4, 5))
        steps = [byte_steps(window) for window in (images, output, weights)]
        most = prod(int(axis.segments()[:, 1].max(initial=0)) for axis in self.axes)
        block, blocks = blocks_of(self.images.shape[2], most)
        depth, height, width = (
            axis.fields(*along)
            for axis, *along in zip(self.axes, *(step[3:] for step in steps), strict=True)
        )
        source, target, weight = (step[:3] for step in steps)
        arguments = FloatConvolutionArguments(
            input=Address(inputs[0]),
            weights=Address(inputs[1]),
            bias=Address(inputs[2]) if len(inputs) > 2 else NONE,
            output=Address(outputs[0]),
            taps=Scratch(max(block * most, 1) * TAP_BYTES),
            block=block,
            blocks=blocks,
            batch=output.shape[0],
            groups=output.shape[1],
            output_channels=output.shape[2],
            channel_input=channel_input,
            steps=ConvolutionSteps(*source, *target, *weight),
            depth=depth,
            height=height,
            width=width,
        )
        return [KernelCall.of("convolution_f32", arguments, microkernel=DOT)]


@program_op(
    "aten::convolution.out(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
    "int[] dilation, bool transposed, int[] output_padding, int groups, *, Tensor(a!) out)"
)
def read(call: Call) -> None:
    source, weight = (call.tensor(name, dtype=np.float32) for name in ("input", "weight"))
    bias, output = call.optional("bias", dtype=np.float32), call.output("out")
    if not 3 <= source.rank <= 5 or not source.rank == weight.rank == output.rank:
        call.unsupported(f"images of {source.rank} dimensions, weights of {weight.rank}")
    groups, transposed = call.integer("groups", 1), call.boolean("transposed")
    axes = _axes(call, source, weight, output)
    images, results, filters = map(_spatial, (source, output, weight))
    # Weights of a transposed convolution are [inputs, outputs of a group, taps].
    first, second = filters.shape[:2]
    counts = (second * groups, first) if transposed else (first, second * groups)
    if (results.shape[1], images.shape[1]) != counts or counts[0] % groups or counts[1] % groups:
        call.invalid(f"weights are {list(weight.shape)} for {groups} groups of {images.shape[1]}")
    if images.shape[0] != results.shape[0]:
        call.invalid(f"{images.shape[0]} images to {results.shape[0]}")
    filters = _grouped(filters, 0, groups)
    if transposed:
        filters = filters.permute((0, 2, 1, 3, 4, 5))
    grouped, written = _grouped(images, 1, groups), _grouped(results, 1, groups)
    op = FloatConvolution(axes, grouped, filters, written, output.tensor.shape)
    tensors = [source.tensor, weight.tensor]
    if bias is not None:
        if bias.shape != counts[:1]:
            call.invalid(f"bias is {list(bias.shape)}, not [{counts[0]}]")
        tensors.append(bias.tensor)
    call.emit(op, tensors, [output.tensor])


def _spatial(operand: Operand) -> Strided:
    """All of an operand, with three dimensions after the first two."""
    window = Strided.of(operand)
    for _ in range(5 - operand.rank):
        window = window.insert(2)
    return window


def _grouped(window: Strided, dim: int, groups: int) -> Strided:
    """A dimension split in two."""
    count, stride = window.shape[dim] // groups, window.strides[dim]
    return window.resize(dim, count, stride).insert(dim, groups, count * stride)


def _axes(call: Call, source: Operand, weight: Operand, output: Operand) -> tuple[Axis, Axis, Axis]:
    rank, transposed = source.rank - 2, call.boolean("transposed")
    strides = _numbers(call, "stride", rank, 1)
    paddings = _numbers(call, "padding", rank, 0)
    dilations = _numbers(call, "dilation", rank, 1)
    extras = _numbers(call, "output_padding", rank, 0) if transposed else (0,) * rank
    axes = [Axis(1, 1, 1)] * (3 - rank)
    sizes = zip(source.shape[2:], output.shape[2:], weight.shape[2:], strict=True)
    for (size, actual, kernel), stride, padding, dilation, extra in zip(
        sizes, strides, paddings, dilations, extras, strict=True
    ):
        reach = dilation * (kernel - 1)
        if transposed:
            count = (size - 1) * stride - 2 * padding + reach + extra + 1
            axes.append(Axis(size, count, kernel, 1, -padding, -dilation, stride))
        else:
            count = (size + 2 * padding - reach - 1) // stride + 1
            axes.append(Axis(size, count, kernel, stride, padding, dilation))
        if count != actual:
            call.invalid(f"output is {list(output.shape)} for {list(source.shape)}")
    return axes[0], axes[1], axes[2]


def _numbers(call: Call, name: str, rank: int, least: int) -> tuple[int, ...]:
    """One for each spatial dimension, or one for all."""
    numbers = call.integers(name, None, least, LARGEST)
    numbers = numbers * rank if len(numbers) == 1 else numbers
    if len(numbers) != rank:
        call.invalid(f"{name} has {len(numbers)} items")
    return numbers
