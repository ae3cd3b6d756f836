"""Quantised numbers brought to mean 0 and variance 1: layer, group, instance and RMS norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place, UInt32
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.parameters import INT8, read_zero_point
from cmcompiler.ops.support.requantize import Int32Array, doubling_high_multiply
from cmcompiler.ops.support.square_root import inverse_square_roots

NORM = Microkernel("norm_s8", dsp=True, mve=True)

LONGEST = (1 << 17) - 1
"""Elements of a group whose squares still have a sum of 32 bits."""

LARGEST_EPSILON = 1 << 61
EPSILON_BITS = 8
"""Fractional bits of epsilon: in a group of few elements its part of one counts."""

LARGEST_BIAS = 1 << 29
MOST_FRACTION_BITS = 20


def fraction_bits(count: int) -> int:
    """Fraction bits of a group's normalised elements: at most the root of their number."""
    return 29 - (count.bit_length() + 1) // 2


@dataclass(frozen=True)
class NormArguments(Arguments):
    """Groups of int8 channels, each with its parameters."""

    c_name = "cm_norm_s8"

    input: Place
    output: Place
    multipliers: Place
    biases: Place
    images: Int32
    groups: Int32
    pixels: Int32
    channels: Int32
    epsilon_low: UInt32
    epsilon_high: UInt32
    is_centred: Int32
    centre: Int32
    shift: Int32
    zero_point: Int32


@dataclass(frozen=True, eq=False)
class Norm(Op):
    """(x - mean) / √(variance + epsilon) · multiplier + bias of each group of int8 elements.

    With n elements in a group, their sum S and sum of squares Q:

        d = n · x - S    V = n · Q - S² + epsilon
        output = (d / √V · multiplier + bias) · 2^-shift + zero point

    docs/exactness.md has the formats. In a group with a given centre, S is n times the centre, and
    Q counts from there.

    Attributes:
        multipliers, biases: by channel of all groups.
        groups: next to each other in a pixel.
        pixels: of a group, one after the other in memory, each with the channels of all groups.
        epsilon: to be added to n² times the variance of the integers, of 8 fractional bits.
        shift: fractional bits of the rescaled result.
        centre: the zero point of the input, for norms that do not subtract the mean.
    """

    label = "norm"
    element = np.dtype(np.int8)
    in_place = frozenset({0})

    multipliers: Int32Array
    biases: Int32Array
    groups: int
    pixels: int
    epsilon: int
    shift: int
    zero_point: int
    centre: int | None = None

    @property
    def channels(self) -> int:
        """Number of channels of one group."""
        return len(self.multipliers) // self.groups

    @property
    def count(self) -> int:
        """Elements of a group."""
        return self.pixels * self.channels

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        n = self.count
        x = inputs[0].reshape(-1, self.pixels, self.groups, self.channels).astype(np.int64)
        total = x.sum(axis=(1, 3), keepdims=True)
        squares = (x * x).sum(axis=(1, 3), keepdims=True)
        offset, spread = total, n * squares - total * total
        if self.centre is not None:
            offset = np.full_like(total, n * self.centre)
            spread = n * (squares - 2 * self.centre * total + n * self.centre**2)
        mantissa, exponent = inverse_square_roots((spread << EPSILON_BITS) + self.epsilon)
        # Where this is below 1, so is the variance, and all differences are 0.
        exponent = np.maximum(exponent - EPSILON_BITS // 2, 0)
        # As far left as d certainly fits: |d| is below 2^8 · n, and at most √(n · V).
        root_bits = 29 - fraction_bits(n)
        left = 30 - np.minimum(root_bits + exponent + 1, 8 + n.bit_length())
        inverse = mantissa >> (left + exponent - fraction_bits(n))
        normalized = doubling_high_multiply((n * x - offset) << left, inverse)
        channels = (self.groups, self.channels)
        scaled = doubling_high_multiply(normalized, self.multipliers.reshape(channels))
        biased = scaled.astype(np.int64) + self.biases.reshape(channels)
        rounded = (biased + (1 << self.shift >> 1)) >> self.shift
        return (INT8.clamp(rounded + self.zero_point).reshape(inputs[0].shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = NormArguments(
            input=Address(inputs[0]),
            output=Address(outputs[0]),
            multipliers=Packed(self.multipliers.astype("<i4").tobytes()),
            biases=Packed(self.biases.astype("<i4").tobytes()),
            images=outputs[0].numel // (self.count * self.groups),
            groups=self.groups,
            pixels=self.pixels,
            channels=self.channels,
            epsilon_low=self.epsilon & 0xFFFFFFFF,
            epsilon_high=self.epsilon >> 32,
            is_centred=int(self.centre is not None),
            centre=self.centre or 0,
            shift=self.shift,
            zero_point=self.zero_point,
        )
        return [KernelCall.of("norm_s8", arguments, microkernel=NORM)]


PARAMETERS = "Tensor multipliers, Tensor biases, int epsilon, int shift, int zero_point"


@program_op(
    "cmbuild::quantized_layer_norm.out(Tensor input, int[] dims, int? centre, "
    f"{PARAMETERS}, *, Tensor(a!) out)"
)
def read_layer_norm(call: Call) -> None:
    """Groups are the elements along some dimensions; parameters by element, or one for all."""
    source, output = call.tensor("input", dtype=np.int8), call.output("out")
    dims = call.dimensions("dims", source.rank)
    order = [*(dim for dim in output.dim_order if dim not in dims), *dims]
    count = prod(source.shape[dim] for dim in dims)
    centre = None if call.is_none("centre") else read_zero_point(call, "centre")
    _emit(call, _read(call, count, 1, 1, centre), order)


@program_op(
    f"cmbuild::quantized_group_norm.out(Tensor input, int groups, {PARAMETERS}, *, Tensor(a!) out)"
)
def read_group_norm(call: Call) -> None:
    """Groups are those of consecutive channels, the second dimension; parameters by channel."""
    source = call.tensor("input", dtype=np.int8)
    if source.rank < 2:
        call.invalid(f"groups of {list(source.shape)}")
    channels, groups = source.shape[1], call.integer("groups", 1)
    if channels % groups:
        call.invalid(f"{groups} groups of {channels} channels")
    op = _read(call, channels, groups, prod(source.shape[2:]), None)
    _emit(call, op, [0, *range(2, source.rank), 1])


def _read(call: Call, channels: int, groups: int, pixels: int, centre: int | None) -> Norm:
    count = pixels * channels // groups
    if not 1 <= count <= LONGEST:
        call.unsupported(f"norm of {count:,} elements, not 1 to {LONGEST:,}")
    multipliers, biases = (
        call.constant(name, dtype=np.int32, rank=1) for name in ("multipliers", "biases")
    )
    if len(multipliers) != len(biases) or len(biases) not in (1, channels):
        call.invalid(f"{len(multipliers)} multipliers and {len(biases)} biases for {channels}")
    if np.any(np.abs(biases.astype(np.int64)) > LARGEST_BIAS) or np.any(multipliers == -(1 << 31)):
        call.unsupported("a multiplier or bias is out of range")
    return Norm(
        np.broadcast_to(multipliers, channels),
        np.broadcast_to(biases, channels),
        groups,
        pixels,
        call.integer("epsilon", 1, LARGEST_EPSILON),
        call.integer("shift", 0, MOST_FRACTION_BITS),
        read_zero_point(call, "zero_point"),
        centre,
    )


def _emit(call: Call, op: Norm, order: Sequence[int]) -> None:
    source, output = call.tensor("input"), call.output("out")
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    call.emit(op, [call.arrange(source, order)], [call.arranged_output(output, order)])
