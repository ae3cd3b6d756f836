"""Softmax of the int16 elements that a mask keeps: cmbuild::short_masked_softmax_s16."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place
from cmcompiler.ir.movement.loops import Nest, Strided
from cmcompiler.ir.op import Address, KernelCall, Scratch, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.masked_softmax import MaskedRows
from cmcompiler.ops.short_softmax import (
    LONG_REACH,
    LONGEST,
    ShortSoftmax,
    ShortSoftmaxArguments,
)
from cmcompiler.ops.softmax import arrange_rows
from cmcompiler.ops.support.empty_rows import EmptyRows
from cmcompiler.ops.support.parameters import INT32_MAX
from cmcompiler.ops.support.requantize import LONGEST_SHIFT
from cmcompiler.ops.support.requantize16 import INT16


@dataclass(frozen=True)
class ShortMaskedSoftmaxArguments(Arguments):
    """Int16 rows, and a mask of the elements that count."""

    c_name = "cm_short_masked_softmax"

    softmax: ShortSoftmaxArguments
    mask: Place
    kept: Annotated[Place, "scratch for a row"]
    rows: Annotated[Nest, INLINE]
    mask_step: Int32
    is_empty_unmasked: Int32
    of_empty: Int32


@dataclass(frozen=True)
class ShortMaskedSoftmax(MaskedRows):
    """MaskedRows of int16: excluded elements become 0."""

    element = np.dtype(np.int16)
    excluded = 0

    softmax: ShortSoftmax

    @property
    def error_steps(self) -> float:  # type: ignore[override]
        return self.softmax.error_steps

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return self.error_steps

    @property
    def equal(self) -> int:
        return min(round((1 << 15) / self.mask.shape[-1]), INT16.maximum)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = ShortMaskedSoftmaxArguments(
            softmax=self.softmax.arguments(inputs[0], outputs[0]),
            mask=Address(inputs[1]),
            kept=Scratch(2 * self.mask.shape[-1]),
            rows=self.loops.nest((1, 1)),
            mask_step=self.mask.strides[-1],
            is_empty_unmasked=int(self.empty_rows is EmptyRows.UNMASKED),
            of_empty=self.of_empty,
        )
        return [KernelCall.of("short_masked_softmax", arguments)]


@program_op(
    "cmbuild::short_masked_softmax_s16.out(Tensor x, Tensor mask, int dim, int multiplier, "
    "int shift, int empty_rows, *, Tensor(a!) out) -> Tensor(a!)"
)
def read(call: Call) -> None:
    source, output = call.tensor("x", dtype=np.int16), call.output("out", dtype=np.int16)
    if source.shape != output.shape or not source.rank:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    dim = call.dimension("dim", source.rank)
    rows, result = arrange_rows(call, source, output)
    if not 1 <= rows.shape[-1] <= LONGEST:
        call.unsupported(f"rows of {rows.shape[-1]:,} elements, not up to {LONGEST:,}")
    mask = call.tensor("mask", dtype=np.bool_)
    try:
        window = Strided.of(mask).broadcast(source.shape)
    except ValueError as error:
        call.invalid(f"the mask: {error}")
    softmax = ShortSoftmax(
        call.integer("multiplier", 0, INT32_MAX),
        call.integer("shift", -LONGEST_SHIFT, LONGEST_SHIFT),
        rows.shape[-1],
        LONG_REACH,
    )
    order = [*(axis for axis in output.dim_order if axis != dim), dim]
    empty_rows = EmptyRows(call.integer("empty_rows", 0, max(EmptyRows)))
    op = ShortMaskedSoftmax(softmax, window.permute(order), empty_rows)
    call.emit(op, [rows, mask.tensor], [result])
