"""Softmax of the elements that a mask keeps: cmbuild::quantized_masked_softmax."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place
from cmcompiler.ir.movement.loops import Loops, Nest, Strided
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, Scratch, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.softmax import MOST_FINER_BITS, SOFTMAX, Softmax, arrange_rows, read_softmax
from cmcompiler.ops.support.empty_rows import EmptyRows
from cmcompiler.ops.support.parameters import INT8


@dataclass(frozen=True)
class MaskedSoftmaxArguments(Arguments):
    """Int8 rows, and a mask of the elements that count."""

    c_name = "cm_masked_softmax"

    input: Place
    mask: Place
    exponentials: Place
    output: Place
    kept: Annotated[Place, "scratch for a row"]
    rows: Annotated[Nest, INLINE]
    length: Int32
    mask_step: Int32
    finer_bits: Int32
    is_empty_unmasked: Int32
    of_empty: Int32


@dataclass(frozen=True)
class MaskedRows(Op):
    """The softmax of each row without the elements that the mask leaves out.

    Inputs of the op: rows, and a mask of bools.

    Attributes:
        excluded: what stands for a probability of 0.
        softmax: of what is kept.
        mask: window on the mask, in the shape of the rows.
        empty_rows: what becomes of rows without any.
    """

    label = "softmax"
    excluded: ClassVar[int]

    softmax: Op
    mask: Strided
    empty_rows: EmptyRows

    @property
    @abstractmethod
    def equal(self) -> int:
        """The elements of a row that has the same of each."""

    @property
    def of_empty(self) -> int:
        """The elements of a row without any, unless they are unmasked."""
        return self.equal if self.empty_rows is EmptyRows.EQUAL else self.excluded

    @property
    def loops(self) -> Loops:
        """Over the rows of the input and those of the mask."""
        last = len(self.mask.shape) - 1
        rows = Strided.dense(self.mask.shape).select(last, 0)
        return Loops.over(rows, self.mask.select(last, 0))

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        kept = self.mask.read(inputs[1]).astype(np.bool_).reshape(-1, self.mask.shape[-1])
        rows = inputs[0].reshape(kept.shape)
        output = np.full(rows.shape, self.excluded, self.element)
        for row, own, result in zip(rows, kept, output, strict=True):
            if own.any():
                result[own] = self.softmax.reference(row[own])[0]
            elif self.empty_rows is EmptyRows.UNMASKED:
                result[:] = self.softmax.reference(row)[0]
            else:
                result[:] = self.of_empty
        return (output.reshape(inputs[0].shape),)


@dataclass(frozen=True)
class MaskedSoftmax(MaskedRows):
    """MaskedRows of int8: excluded elements become -128."""

    element = np.dtype(np.int8)
    in_place = frozenset({0})
    excluded = INT8.minimum

    softmax: Softmax

    @property
    def equal(self) -> int:
        twice = (2 << 8 + self.softmax.finer_bits) // self.mask.shape[-1]
        return min((twice + 1) // 2 + INT8.minimum, INT8.maximum)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        length = self.mask.shape[-1]
        arguments = MaskedSoftmaxArguments(
            input=Address(inputs[0]),
            mask=Address(inputs[1]),
            exponentials=Packed(self.softmax.exponentials().astype("<i4").tobytes()),
            output=Address(outputs[0]),
            kept=Scratch(length),
            rows=self.loops.nest((1, 1)),
            length=length,
            mask_step=self.mask.strides[-1],
            finer_bits=self.softmax.finer_bits,
            is_empty_unmasked=int(self.empty_rows is EmptyRows.UNMASKED),
            of_empty=self.of_empty,
        )
        return [KernelCall.of("masked_softmax", arguments, microkernel=SOFTMAX)]


@program_op(
    "cmbuild::quantized_masked_softmax.out(Tensor input, Tensor? mask, int dim, "
    "int input_multiplier, int input_shift, int diff_min, int finer_bits, int empty_rows, *, "
    "Tensor(a!) out)"
)
def read(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.int8), call.output("out")
    if source.shape != output.shape or output.dtype != np.int8 or not source.rank:
        call.invalid(f"{list(source.shape)} to {output.dtype.name}{list(output.shape)}")
    dim = call.dimension("dim", source.rank)
    rows, result = arrange_rows(call, source, output)
    softmax = read_softmax(call, call.integer("finer_bits", 0, MOST_FINER_BITS))
    mask = call.optional("mask", dtype=np.bool_)
    if mask is None:
        call.emit(softmax, [rows], [result])
        return
    try:
        window = Strided.of(mask).broadcast(source.shape)
    except ValueError as error:
        call.invalid(f"the mask: {error}")
    order = [*(axis for axis in output.dim_order if axis != dim), dim]
    empty_rows = EmptyRows(call.integer("empty_rows", 0, max(EmptyRows)))
    op = MaskedSoftmax(softmax, window.permute(order), empty_rows)
    call.emit(op, [rows, mask.tensor], [result])
