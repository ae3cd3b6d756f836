"""The base of all convolutions: parameters, checks, the way from sums to int8."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.op import Array
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.support.arguments import ConvolutionValues
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.packing16 import Bias, Filters16, Int64Array
from cmcompiler.ops.support.product_channels import WeightedSums
from cmcompiler.ops.support.requantize import (
    FARTHEST_ZERO_POINT,
    Int8Array,
    Int32Array,
    Requantize,
)
from cmcompiler.ops.support.requantize16 import RequantizedOp
from cmcompiler.ops.support.window import Pair, Window

DEEPEST = (1 << 31) // (128 * 128) - 1
"""Most products of two int8 numbers whose sum always fits 32 bits."""

LARGEST = (1 << 15) - 1
"""Limit of a stride, dilation or padding."""


@dataclass(frozen=True, eq=False)
class Convolution(RequantizedOp):
    """A convolution of NHWC images with int8 weights.

    Images are int8 with int32 biases, or int16 with int64 biases or int32 ones, as the output is.

    Attributes:
        weights: of a layout that the subclass defines.
        bias: [C_out], in units of the accumulators.
        input_zero_point: of the images, and what lies outside of them.
        output_shape: [N, H, W, C_out].
        known: filters of this convolution, and of others made from it with `replace`.
    """

    weights: Int8Array
    bias: Bias
    window: Window
    input_zero_point: int
    requantize: Requantize
    output_shape: tuple[int, ...]
    known: dict[tuple[int, ...], tuple[Convolution, Filters]] = field(
        default_factory=dict, repr=False, kw_only=True
    )

    @property
    def title(self) -> str:
        return f"{self.label} {self.window.kernel[0]}×{self.window.kernel[1]}"

    @abstractmethod
    def accumulate(self, images: Array) -> Array:
        """Sums of weight * (input - zero point), of the output's shape; exact, of any dtype."""

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        sums = self.accumulate(inputs[0]).astype(np.int64)
        sums += self.bias
        return (self.requantize(sums),)

    def known_filters(self, made: Callable[[], Filters], *own: int) -> Filters:
        """Its filters: the same object for all with these weights, of tiles and strips, too.

        Args:
            made: of its weights, in the order of its sums.
            own: what else these depend on.
        """
        named = self.weights, self.bias, self.requantize
        key = (*map(id, named), self.input_zero_point, *self.window.kernel, *own)
        if key not in self.known:
            # What the key names lives as long.
            self.known[key] = self, made()
        return self.known[key][1]

    def filters(self, weights: Int8Array) -> Filters:
        """Weights of shape [C_out, depth], with the input's zero point in the bias."""
        return Filters.fold(weights, self.bias, self.input_zero_point, self.requantize)

    def filters16(self, weights: Int8Array) -> Filters16:
        """Weights of shape [C_out, depth] for int16 images."""
        return Filters16.of(weights, self.bias, self.requantize)

    def weighted_sums(self, images: Tensor, weights: Int8Array) -> WeightedSums:
        """The convolution as sums of weighted inputs, for the analysis of its channels.

        Args:
            weights: in the layout of `WeightedSums`.
        """
        return WeightedSums(
            weights,
            self.bias,
            self.requantize,
            self.input_zero_point,
            self.window.hangs_over(images.shape[1:3], self.output_shape[1:3]),
            self.of_channels,
        )

    def of_channels(
        self, weights: Int8Array, bias: Int32Array, requantize: Requantize
    ) -> Convolution:
        """The convolution with other output channels.

        Args:
            weights: in the layout of `WeightedSums`.
        """
        shape = (*self.output_shape[:3], len(bias))
        return replace(self, weights=weights, bias=bias, requantize=requantize, output_shape=shape)

    def values(self, output: Sequence[tuple[str, int]]) -> ConvolutionValues:
        """The fields of a kernel's argument struct that say what its numbers stand for.

        Args:
            output: the fields of a `struct cm_output`.
        """
        return ConvolutionValues.of(dict(output), self.input_zero_point)


@dataclass(frozen=True, slots=True)
class Operands:
    """The arguments that all convolutions of the dialect have in common, checked."""

    images: Tensor
    output: Tensor
    weights: Int8Array
    bias: Bias
    window: Window
    input_zero_point: int
    requantize: Requantize

    def check(self, call: Call, depth: int, size: Pair, channels: int) -> None:
        """Refuses sums of too many products, and an output of another shape."""
        check_depth(call, depth)
        check_output(call, self.output, (self.images.shape[0], *size, channels))

    def emit(
        self, call: Call, op: Callable[..., Convolution], weights: Int8Array, *further: object
    ) -> None:
        """Emits a convolution with its weights, and what only it has."""
        shared = (self.bias, self.window, self.input_zero_point, self.requantize)
        call.emit(op(weights, *shared, self.output.shape, *further), [self.images], [self.output])


def read_operands(call: Call) -> Operands:
    """Arguments of a convolution whose weights hold the kernel in their dimensions 1 and 2.

    Raises:
        Unsupported: naming what no kernel can take.
    """
    images, output = call.nhwc("input", dtype=np.int8), call.nhwc_output("out")
    if 0 in images.shape[1:]:
        call.invalid(f"images of shape {images.shape}")
    weights = call.constant("weight", dtype=np.int8, rank=4)
    window = Window(
        (weights.shape[1], weights.shape[2]),
        stride=read_pair(call, "stride", at_least=1),
        padding=read_pair(call, "padding", at_least=0),
        dilation=read_pair(call, "dilation", at_least=1),
    )
    if weights.size == 0 or max(window.reach) > LARGEST:
        call.unsupported(f"weights of shape {list(weights.shape)}")
    channels = output.shape[-1]
    zero_point = -call.integer("input_offset", -FARTHEST_ZERO_POINT, FARTHEST_ZERO_POINT)
    if any(window.padding) and not -128 <= zero_point <= 127:
        call.unsupported(
            f"no int8 value represents zero, for padding: input_offset = {-zero_point}"
        )
    return Operands(
        images,
        output,
        weights,
        read_bias(call, channels),
        window,
        zero_point,
        read_requantize(
            call,
            call.constant("requantize_multipliers", dtype=np.int32).ravel().tolist(),
            call.constant("requantize_shifts", dtype=np.int32).ravel().tolist(),
            channels,
        ),
    )


def read_bias(call: Call, channels: int) -> Int32Array:
    """int32 [channels]; zeros if there is none."""
    bias = call.optional_constant("bias", dtype=np.int32)
    if bias is None:
        return np.zeros(channels, np.int32)
    if bias.size != channels:
        call.invalid(f"bias has shape {list(bias.shape)} for {channels} channels")
    return bias.reshape(channels)


def read_long_bias(call: Call, channels: int) -> Int64Array:
    """int64 [channels] of a layer with int16 activations, whose bias is int64 or int32."""
    bias = call.optional_constant("bias")
    if bias is None:
        return np.zeros(channels, np.int64)
    if bias.dtype not in (np.int32, np.int64):
        call.unsupported(f"bias is {bias.dtype.name}")
    if bias.size != channels:
        call.invalid(f"bias has shape {list(bias.shape)} for {channels} channels")
    return bias.astype(np.int64).reshape(channels)


def read_requantize(
    call: Call, multipliers: Sequence[int], shifts: Sequence[int], channels: int
) -> Requantize:
    """The arguments that turn accumulators into the output."""
    try:
        return Requantize.checked(
            multipliers,
            shifts,
            channels,
            zero_point=call.integer("output_offset"),
            minimum=call.integer("activation_min"),
            maximum=call.integer("activation_max"),
        )
    except ValueError as error:
        call.unsupported(str(error))


def check_depth(call: Call, depth: int) -> None:
    if depth > DEEPEST:
        call.unsupported(f"sums of {depth} products may not fit 32 bits")


def check_output(call: Call, output: Tensor, expected: tuple[int, ...]) -> None:
    if output.shape != expected or output.dtype != np.int8:
        call.invalid(f"out is {output.dtype.name} {output.shape}, not int8 {expected}")


def read_pair(call: Call, name: str, at_least: int) -> Pair:
    height, width = call.integers(name, count=2, low=at_least, high=LARGEST)
    return height, width
