"""Logarithms of softmax, and of sums of exponentials, of quantised numbers: cmbuild's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import NEAR_ROUNDING, Address, Array, KernelCall, Packed, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.add import ADD_AFFINE
from cmcompiler.ops.softmax import arrange_rows
from cmcompiler.ops.support.parameters import (
    INT8,
    INT32_MAX,
    read_same_type,
    read_zero_point,
)
from cmcompiler.ops.support.requantize import Int32Array, Range, RangedOp
from cmcompiler.ops.support.requantize16 import INT16

EXPONENTIAL_BITS = 24
"""Fractional bits of the exponentials."""

LOGARITHM_BITS = 16
"""Fractional bits of a sum's logarithm to base 2."""

LONGEST = 1 << 20
LARGEST_MULTIPLIER = 1 << 22
LARGEST_LOG_MULTIPLIER = 1 << 24
MOST_FRACTION_BITS = 20


@dataclass(frozen=True)
class LogSoftmaxArguments(Arguments):
    """Rows of int8 or int16 elements and the table of their exponentials."""

    c_name = "cm_log_softmax"

    input: Place
    exponentials: Place
    output: Place
    rows: Int32
    length: Int32
    multiplier: Int32
    log_multiplier: Int32
    shift: Int32
    zero_point: Int32
    is_sum: Int32
    centre: Int32


@dataclass(frozen=True, eq=False)
class LogSoftmax(RangedOp):
    """x - log(sum of exp(x)) along the last dimension, or only the logarithm, of rows.

    With the row's largest element M, the sum S of the exponentials of M - x, L = log2(S · 2^-24):

        ((x - M) · multiplier - L · log_multiplier) · 2^-shift + zero_point
        ((M - centre) · multiplier + L · log_multiplier) · 2^-shift + zero_point

    each rounded, halves up; docs/exactness.md has the steps.

    Attributes:
        length: elements of a row.
        exponentials: by distance from the largest, int32 [256]; of int16 elements by the distance's
            upper byte, then by its lower one, int32 [512].
        centre: the zero point of the input for the logarithm alone; None for log-softmax.
        range: of the type of elements and results.
    """

    label = "log_softmax"

    length: int
    exponentials: Int32Array
    multiplier: int
    log_multiplier: int
    shift: int
    zero_point: int
    centre: int | None
    shape: tuple[int, ...]
    range: Range = INT8

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        """With the last bit of the logarithm, which is rounded down."""
        return NEAR_ROUNDING + self.log_multiplier * 2.0 ** -(self.shift + LOGARITHM_BITS)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        rows = inputs[0].reshape(-1, self.length).astype(np.int64)
        largest = rows.max(axis=1, keepdims=True)
        sums = self._powers(largest - rows).sum(axis=1, keepdims=True)
        part = (_logarithms(sums) * self.log_multiplier) >> LOGARITHM_BITS
        if self.centre is None:
            steps = (rows - largest) * self.multiplier - part
        else:
            steps = (largest - self.centre) * self.multiplier + part
        rounded = (steps + (1 << self.shift >> 1)) >> self.shift
        return (self.range.clamp(rounded + self.zero_point).reshape(self.shape),)

    def _powers(self, distances: Array) -> Array:
        table = self.exponentials.astype(np.int64)
        if self.element == np.int8:
            powers: Array = table[distances]
        else:
            products = table[distances >> 8] * table[256 + (distances & 255)]
            powers = products + (1 << EXPONENTIAL_BITS >> 1) >> EXPONENTIAL_BITS
        return powers

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = LogSoftmaxArguments(
            input=Address(inputs[0]),
            exponentials=Packed(self.exponentials.astype("<i4").tobytes()),
            output=Address(outputs[0]),
            rows=inputs[0].numel // self.length,
            length=self.length,
            multiplier=self.multiplier,
            log_multiplier=self.log_multiplier,
            shift=self.shift,
            zero_point=self.zero_point,
            is_sum=int(self.centre is not None),
            centre=self.centre or 0,
        )
        microkernel = ADD_AFFINE if self.element == np.int8 else None
        name = f"log_softmax_s{8 * self.element.itemsize}"
        return [KernelCall.of(name, arguments, microkernel=microkernel)]


def _logarithms(sums: Array) -> Array:
    """Base 2, rounded down, of sums of at least 1: one bit for each squaring."""
    exponents = np.array([int(x).bit_length() - 1 for x in sums.flat]).reshape(sums.shape)
    mantissas = np.where(
        exponents >= 31,
        sums >> np.maximum(exponents - 31, 0),
        sums << np.maximum(31 - exponents, 0),
    ).astype(np.uint64)
    result = exponents - EXPONENTIAL_BITS
    for _ in range(LOGARITHM_BITS):
        squares = mantissas * mantissas
        bits = squares >> np.uint64(63)
        mantissas = squares >> (np.uint64(31) + bits)
        result = 2 * result + bits.astype(np.int64)
    return result


PARAMETERS = "Tensor exponentials, int multiplier, int log_multiplier, int shift"


@program_op(
    f"cmbuild::quantized_log_softmax.out(Tensor input, int dim, {PARAMETERS}, int zero_point, *, "
    "Tensor(a!) out)"
)
def read_log_softmax(call: Call) -> None:
    source, output, numbers = read_same_type(call)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    rows, result = arrange_rows(call, source, output)
    op = _read(call, (1, *rows.shape)[-1], None, result.shape, numbers)
    call.emit(op, [rows], [result])


@program_op(
    "cmbuild::quantized_logsumexp.out(Tensor input, int[] dims, bool keepdim, int centre, "
    f"{PARAMETERS}, int zero_point, *, Tensor(a!) out)"
)
def read_logsumexp(call: Call) -> None:
    source, output, numbers = read_same_type(call)
    dims = call.dimensions("dims", source.rank)
    kept = [dim for dim in range(source.rank) if dim not in dims]
    names = range(source.rank) if call.boolean("keepdim") else kept
    if output.shape != tuple(1 if dim in dims else source.shape[dim] for dim in names):
        call.invalid(f"{list(source.shape)} to {list(output.shape)} over {list(dims)}")
    length = prod(source.shape[dim] for dim in dims)
    rows = call.arrange(source, [*kept, *dims])
    result = call.arranged_output(output, range(output.rank))
    op = _read(call, length, read_zero_point(call, "centre"), result.shape, numbers)
    call.emit(op, [rows], [result])


def _read(
    call: Call, length: int, centre: int | None, shape: tuple[int, ...], numbers: Range
) -> LogSoftmax:
    exponentials = call.constant("exponentials", dtype=np.int32, rank=1)
    if not 1 <= length <= LONGEST:
        call.unsupported(f"rows of {length:,} elements, not 1 to {LONGEST:,}")
    most = 1 << EXPONENTIAL_BITS
    is_short = numbers is INT16
    tables = exponentials.reshape(-1, 256) if len(exponentials) % 256 == 0 else exponentials[None]
    if tables.shape != (1 + is_short, 256) or (tables[:, 0] != most).any():
        call.invalid(f"exponentials are not {1 + is_short}×256 numbers that begin with 2^24")
    if exponentials.min() < 0 or exponentials.max() > most:
        call.invalid("exponentials are out of range")
    return LogSoftmax(
        length,
        exponentials,
        call.integer("multiplier", 0, INT32_MAX if is_short else LARGEST_MULTIPLIER),
        call.integer("log_multiplier", 0, INT32_MAX if is_short else LARGEST_LOG_MULTIPLIER),
        call.integer("shift", 0, MOST_FRACTION_BITS),
        read_zero_point(call, "zero_point"),
        centre,
        shape,
        numbers,
    )
