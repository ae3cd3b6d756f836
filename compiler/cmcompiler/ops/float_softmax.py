"""Softmax of floats and its logarithm: aten::_softmax, aten::_log_softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, KernelCall, Op, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.softmax import arrange_rows
from cmcompiler.ops.support.functions import Floats, exp, log

EXP = Microkernel("exp_f32", mve=True)


@dataclass(frozen=True)
class FloatSoftmaxArguments(Arguments):
    """Rows of floats."""

    c_name = "cm_softmax_f32"

    input: Place
    output: Place
    rows: Int32
    length: Int32


@dataclass(frozen=True)
class FloatLogSoftmaxArguments(FloatSoftmaxArguments):
    """Rows of floats, whose results are logarithms."""

    c_name = "cm_log_softmax_f32"


@dataclass(frozen=True)
class FloatSoftmax(Op):
    """exp(x - max) / sum over the last dimension; sums go from the first element to the last.

    Attributes:
        is_log: its logarithm instead, x - max - log(sum).
    """

    label = "softmax"
    element = np.dtype(np.float32)
    in_place = frozenset({0})
    transcendental = True

    is_log: bool = False

    @property
    def title(self) -> str:
        return "log_softmax" if self.is_log else self.label

    def reference(self, *inputs: Floats) -> tuple[Floats, ...]:
        x = np.atleast_1d(inputs[0])
        if x.size == 0:
            return (x,)
        with np.errstate(all="ignore"):
            distance = x - x.max(axis=-1, keepdims=True)
            powers = exp(distance)
            total = np.add.accumulate(powers, axis=-1)[..., -1:]
            results = distance - log(total) if self.is_log else powers / total
        return (results.reshape(inputs[0].shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        length = (1, *outputs[0].shape)[-1]
        form = FloatLogSoftmaxArguments if self.is_log else FloatSoftmaxArguments
        rows = outputs[0].numel // length
        arguments = form(Address(inputs[0]), Address(outputs[0]), rows, length)
        if self.is_log:
            return [KernelCall.of("log_softmax_f32", arguments)]
        return [KernelCall.of("softmax_f32", arguments, microkernel=EXP)]


@program_op(
    "aten::_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out)",
    "aten::_log_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out)",
)
def read(call: Call) -> None:
    source, output = call.tensor("self", dtype=np.float32), call.output("out")
    if source.shape != output.shape or output.dtype != np.float32:
        call.invalid(f"{list(source.shape)} to {output.dtype.name}{list(output.shape)}")
    rows, result = arrange_rows(call, source, output)
    op = FloatSoftmax(is_log=call.operator == "aten::_log_softmax.out")
    call.emit(op, [rows], [result])
