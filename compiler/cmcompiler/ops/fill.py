"""Tensors that no input decides: full, zeros, ones, scalar_tensor, arange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.copy import fill_call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Array, KernelCall, Op, Tensors
from cmcompiler.isa import Isa
from cmcompiler.ops.support.element import Scalar, converted
from cmcompiler.ops.support.movement import move


@dataclass(frozen=True)
class Fill(Op):
    """One value in every element.

    Attributes:
        dtype, shape: of the output, physical.
    """

    label = "fill"

    value: Scalar
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (np.full(self.shape, self.value, self.dtype),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        return fill_call(outputs[0], self.value)


@program_op(
    "aten::full.out(int[] size, Scalar fill_value, *, Tensor(a!) out)",
    "aten::full_like.out(Tensor self, Scalar fill_value, *, MemoryFormat? memory_format=None, "
    "Tensor(a!) out)",
)
def read_full(call: Call) -> None:
    _fill(call, call.scalar("fill_value"))


@program_op("aten::fill.Scalar_out(Tensor self, Scalar value, *, Tensor(a!) out)")
def read_fill(call: Call) -> None:
    _fill(call, call.scalar("value"))


@program_op("aten::scalar_tensor.out(Scalar s, *, Tensor(a!) out)")
def read_scalar(call: Call) -> None:
    _fill(call, call.scalar("s"))


@program_op(
    "aten::zeros.out(int[] size, *, Tensor(a!) out)",
    "aten::empty.out(int[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out)",
    "dim_order_ops::_empty_dim_order.out(int[] size, *, int[]? dim_order=None, Tensor(a!) out)",
    "aten::ones.out(int[] size, *, Tensor(a!) out)",
)
def read_zeros(call: Call) -> None:
    _fill(call, int(call.operator == "aten::ones.out"))


@program_op("aten::fill.Tensor_out(Tensor self, Tensor value, *, Tensor(a!) out)")
def read_fill_tensor(call: Call) -> None:
    value, output = call.tensor("value"), call.output("out")
    if value.numel != 1:
        call.invalid(f"value is {list(value.shape)}")
    reads = Strided((), ()).broadcast(output.shape)
    move(call, "fill", output, [(value, reads, Strided.of(output))])


@program_op("aten::arange.out(Scalar end, *, Tensor(a!) out)")
def read_arange(call: Call) -> None:
    _count(call, 0, 1)


@program_op("aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out)")
def read_arange_from(call: Call) -> None:
    _count(call, call.scalar("start"), call.scalar("step"))


def _fill(call: Call, value: Scalar) -> None:
    output = call.output("out")
    # The value may be of another type than the tensor, but it must be one of its numbers.
    typed = converted(np.array(value), output.dtype)
    op = Fill(typed.item(), output.dtype, output.tensor.shape)
    call.emit(op, [], [output.tensor])


def _count(call: Call, start: Scalar, step: Scalar) -> None:
    """Multiples of the step, as many as the output has, in double precision."""
    output = call.output("out")
    if output.rank != 1:
        call.invalid(f"output is {list(output.shape)}")
    numbers = start + np.arange(prod(output.shape)) * step
    source = call.literal(converted(numbers, output.dtype))
    call.emit(View(output.tensor.shape), [source.tensor], [output.tensor])
