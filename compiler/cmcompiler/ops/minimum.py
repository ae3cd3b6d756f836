"""Elementwise minimum and maximum: cortex_m::minimum, cortex_m::maximum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.op import Array, KernelCall, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.support.elementwise import Pair, PairArguments, align_pair

MINIMUM = Microkernel("minimum_s8", dsp=True, mve=True)
MAXIMUM = Microkernel("maximum_s8", dsp=True, mve=True)
MINIMUM16 = Microkernel("minimum_s16")
MAXIMUM16 = Microkernel("maximum_s16")


@dataclass(frozen=True)
class MinimumArguments(PairArguments):
    """The smaller of two elements."""

    c_name = "cm_minimum"


@dataclass(frozen=True)
class MaximumArguments(PairArguments):
    """The larger of two elements."""

    c_name = "cm_maximum"


@dataclass(frozen=True)
class Minimum(Pair):
    """The smaller of two int8 or int16 elements."""

    label = "minimum"
    error_steps = fine_error_steps = 0.0
    microkernel = MINIMUM
    short_microkernel = MINIMUM16
    form: ClassVar[type[PairArguments]] = MinimumArguments
    choose: ClassVar[np.ufunc] = np.minimum
    portable: ClassVar[BinaryFunction] = BinaryFunction.MINIMUM

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (self.choose(*self.broadcast(inputs)).reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        is_short = outputs[0].dtype == np.int16
        microkernel = self.short_microkernel if is_short else self.microkernel
        return self.call(self.form, (*inputs, *outputs), microkernel)


@dataclass(frozen=True)
class Maximum(Minimum):
    """The larger of two int8 or int16 elements."""

    label = "maximum"
    error_steps = fine_error_steps = 0.0
    microkernel = MAXIMUM
    short_microkernel = MAXIMUM16
    form = MaximumArguments
    choose = np.maximum
    portable = BinaryFunction.MAXIMUM


@program_op(
    "cortex_m::minimum.out(Tensor self, Tensor other, *, Tensor(a!) out)",
    "cortex_m::maximum.out(Tensor self, Tensor other, *, Tensor(a!) out)",
)
def read(call: Call) -> None:
    """ExecuTorch puts these operators in place of aten's whatever the type."""
    op = Minimum if call.operator == "cortex_m::minimum.out" else Maximum
    emit_extreme(call, op, call.tensor("self"), call.tensor("other"), call.output("out"))


def emit_extreme(
    call: Call, op: type[Minimum], lhs: Operand, rhs: Operand, output: Operand
) -> None:
    """Emits the smaller or larger elements of two tensors of any types.

    Args:
        output: of their shape, or one that they are both repeated to.
    """
    sizes = zip_longest(reversed(lhs.shape), reversed(rhs.shape), fillvalue=1)
    is_pair = tuple(map(max, sizes))[::-1] == output.shape
    if not is_pair or any(operand.dtype != np.int8 for operand in (lhs, rhs, output)):
        emit_binary(call, op.portable, lhs, rhs, output)
        return
    loops, tensors, _ = align_pair(call, (lhs, rhs), output)
    call.emit(op(loops, output.tensor.shape), tensors, [output.tensor])
