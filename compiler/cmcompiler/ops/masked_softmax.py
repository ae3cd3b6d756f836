"""Softmax of the elements that a mask keeps: cmbuild::quantized_masked_softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, Scratch, Tensors, Words
from cmcompiler.isa import Isa
from cmcompiler.ops.softmax import SOFTMAX, Softmax, arrange_rows, read_softmax
from cmcompiler.ops.support.parameters import INT8


@dataclass(frozen=True)
class MaskedSoftmax(Op):
    """The softmax of each row without the elements that the mask leaves out, which become -128.

    Inputs of the op: int8 rows, and a mask of bools.

    Attributes:
        softmax: of what is kept.
        mask: window on the mask, in the shape of the rows.
    """

    label = "softmax"
    element = np.dtype(np.int8)
    in_place = frozenset({0})

    softmax: Softmax
    mask: Strided

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        kept = self.mask.read(inputs[1]).astype(np.bool_).reshape(-1, self.mask.shape[-1])
        rows = inputs[0].reshape(kept.shape)
        output = np.full(rows.shape, INT8.minimum, np.int8)
        for row, own, result in zip(rows, kept, output, strict=True):
            if own.any():
                result[own] = self.softmax.reference(row[own])[0]
        return (output.reshape(inputs[0].shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        last = len(self.mask.shape) - 1
        rows = Strided.dense(self.mask.shape).select(last, 0)
        loops = Loops.over(rows, self.mask.select(last, 0))
        length = self.mask.shape[-1]
        arguments: Words = [
            ("input", Address(inputs[0])),
            ("mask", Address(inputs[1])),
            ("exponentials", Packed(self.softmax.exponentials().astype("<i4").tobytes())),
            ("output", Address(outputs[0])),
            ("kept", Scratch(length)),
            *loops.levels((1, 1), len(loops.counts)),
            ("length", length),
            ("mask_step", self.mask.strides[-1]),
        ]
        return [KernelCall("masked_softmax", arguments, microkernel=SOFTMAX)]


@program_op(
    "cmbuild::quantized_masked_softmax.out(Tensor input, Tensor mask, int dim, "
    "int input_multiplier, int input_shift, int diff_min, *, Tensor(a!) out)"
)
def read(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.int8), call.output("out")
    mask = call.tensor("mask", dtype=np.bool_)
    if source.shape != output.shape or output.dtype != np.int8 or not source.rank:
        call.invalid(f"{list(source.shape)} to {output.dtype.name}{list(output.shape)}")
    dim = call.dimension("dim", source.rank)
    try:
        window = Strided.of(mask).broadcast(source.shape)
    except ValueError as error:
        call.invalid(f"the mask: {error}")
    order = [*(axis for axis in output.dim_order if axis != dim), dim]
    rows, result = arrange_rows(call, source, output)
    op = MaskedSoftmax(read_softmax(call), window.permute(order))
    call.emit(op, [rows, mask.tensor], [result])
