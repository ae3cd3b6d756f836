"""One of two tensors, element by element: where, masked_fill, tril, triu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.op import Array, KernelCall, Tensors, Words
from cmcompiler.ir.operand import Operand
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.cast import cast
from cmcompiler.ops.support.element import converted
from cmcompiler.ops.support.elementwise import Elementwise, align

CHOOSE_BYTES = Microkernel("choose_bytes", dsp=True, mve=True)

LARGEST = (1 << 31) - 1


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
        (condition, lhs, rhs), size = inputs, outputs[0].dtype.itemsize
        arguments: Words = [
            *self.loops.arguments(condition=condition, lhs=lhs, rhs=rhs, output=outputs[0]),
            ("size", size),
            ("condition_step", self.loops.inner[0]),
            ("lhs_step", self.loops.inner[1] * size),
            ("rhs_step", self.loops.inner[2] * size),
        ]
        if size == 1:
            return [KernelCall("where_bytes", arguments, microkernel=CHOOSE_BYTES)]
        return [KernelCall("where", arguments)]


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
