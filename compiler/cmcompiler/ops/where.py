"""One of two tensors, element by element: where, masked_fill, tril, triu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place
from cmcompiler.ir.movement.loops import LoopNest
from cmcompiler.ir.op import Address, Array, KernelCall, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.cast import cast
from cmcompiler.ops.support.element import converted
from cmcompiler.ops.support.elementwise import Elementwise, align

CHOOSE_BYTES = Microkernel("choose_bytes", dsp=True, mve=True)

LARGEST = (1 << 31) - 1


@dataclass(frozen=True)
class WhereArguments(Arguments):
    """Elements of two operands, and the condition that chooses between them."""

    c_name = "cm_where"

    condition: Place
    lhs: Place
    rhs: Place
    output: Place
    loops: Annotated[LoopNest, INLINE]
    size: Annotated[Int32, "of an element: 1, 2, 4 or 8 bytes"]
    condition_step: Annotated[Int32, "of the innermost loop, in bytes"]
    lhs_step: Int32
    rhs_step: Int32


@dataclass(frozen=True)
class Where(Elementwise):
    """The second input where the first, of bools, is true, else the third."""

    label = "where"
    error_steps = fine_error_steps = 0.0

    @property
    def in_place(self) -> frozenset[int]:
        return super().in_place - {0}

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        condition, lhs, rhs = self.broadcast(inputs)
        return (np.where(condition, lhs, rhs).reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        size = outputs[0].dtype.itemsize
        arguments = WhereArguments(
            condition=Address(inputs[0]),
            lhs=Address(inputs[1]),
            rhs=Address(inputs[2]),
            output=Address(outputs[0]),
            loops=self.loops.fields(*inputs, *outputs),
            size=size,
            condition_step=self.loops.inner[0],
            lhs_step=self.loops.inner[1] * size,
            rhs_step=self.loops.inner[2] * size,
        )
        if size == 1:
            return [KernelCall.of("where_bytes", arguments, microkernel=CHOOSE_BYTES)]
        return [KernelCall.of("where", arguments)]


@program_op("aten::where.self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out)")
def read_where(call: Call) -> None:
    condition = call.tensor("condition")
    choose(call, condition, call.tensor("self"), call.tensor("other"))


@program_op(
    "aten::masked_fill.Scalar_out(Tensor self, Tensor mask, Scalar value, *, Tensor(a!) out)"
)
def read_masked_fill(call: Call) -> None:
    source = call.tensor("self")
    value = call.literal(converted(np.array(call.scalar("value")), source.dtype))
    choose(call, call.tensor("mask"), value, source)


@program_op(
    "aten::tril.out(Tensor self, int diagonal=0, *, Tensor(a!) out)",
    "aten::triu.out(Tensor self, int diagonal=0, *, Tensor(a!) out)",
)
def read_triangle(call: Call) -> None:
    part = np.tril if call.operator == "aten::tril.out" else np.triu
    source = call.tensor("self")
    if source.rank < 2:
        call.invalid(f"self has {source.rank} dimensions")
    diagonal = call.integer("diagonal", -LARGEST, LARGEST)
    kept = call.literal(part(np.ones(source.shape[-2:], np.bool_), diagonal))
    choose(call, kept, source, call.literal(np.zeros((), source.dtype)))


def choose(call: Call, condition: Operand, lhs: Operand, rhs: Operand) -> None:
    """Emits what `out` becomes: lhs where the condition is true, else rhs."""
    output = call.output("out")
    if condition.dtype not in (np.bool_, np.uint8):
        call.unsupported(f"a condition of {condition.dtype.name}")
    sides = [cast(call, side, output.dtype) for side in (lhs, rhs)]
    loops, tensors = align(call, [condition, *sides], output)
    call.emit(Where(loops, output.tensor.shape), tensors, [output.tensor])
