"""Elements as another type: _to_dim_order_copy, _to_copy, copy, copy_."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.element import DOUBLE, check_element, code, converted
from cmcompiler.ops.support.movement import broadcast, move


@dataclass(frozen=True)
class CastArguments(Arguments):
    """Elements of one type and of another."""

    c_name = "cm_cast"

    input: Place
    output: Place
    count: Int32
    source: Annotated[Int32, "enum cm_element"]
    to: Int32


@dataclass(frozen=True)
class Cast(Op):
    """Elements converted to `dtype`, see `converted`."""

    label = "cast"
    error_steps = fine_error_steps = 0.0
    in_place = frozenset({0})

    dtype: np.dtype[Any]

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (converted(inputs[0], self.dtype),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        is_double = DOUBLE in (inputs[0].dtype, outputs[0].dtype)
        arguments = CastArguments(
            input=Address(inputs[0]),
            output=Address(outputs[0]),
            count=outputs[0].numel,
            source=code(inputs[0]),
            to=code(outputs[0]),
        )
        return [KernelCall.of("cast_double" if is_double else "cast", arguments)]


def cast(call: Call, source: Operand, dtype: np.dtype[Any]) -> Operand:
    """The operand with elements of another type; itself if it has it."""
    if source.dtype == dtype:
        return source
    check_castable(call, source.dtype)
    check_castable(call, dtype)
    if source.data is not None:
        return call.literal(converted(source.data, dtype))
    tensor = call.temporary(dtype, source.tensor.shape)
    call.emit(Cast(dtype), [source.tensor], [tensor])
    return replace(source, tensor=tensor)


def emit_and_cast(
    call: Call, op: Op, dtype: np.dtype[Any], inputs: Sequence[Tensor], output: Operand
) -> None:
    """Emits an op that gives elements of `dtype`, and their conversion if the output has others."""
    if dtype == output.dtype:
        call.emit(op, inputs, [output.tensor])
        return
    result = call.temporary(dtype, output.tensor.shape)
    call.emit(op, inputs, [result])
    call.emit(Cast(output.dtype), [result], [output.tensor])


def check_castable(call: Call, dtype: np.dtype[Any]) -> None:
    """Raises Unsupported for a type that no kernel converts."""
    if dtype != DOUBLE:
        check_element(call, dtype)


@program_op(
    "dim_order_ops::_to_dim_order_copy.out(Tensor self, *, bool non_blocking=False, "
    "int[]? dim_order=None, Tensor(a!) out)",
    "aten::_to_copy.out(Tensor self, *, bool non_blocking=False, "
    "MemoryFormat? memory_format=None, Tensor(a!) out)",
)
def read_to(call: Call) -> None:
    convert(call, call.tensor("self"))


@program_op(
    "aten::copy.out(Tensor self, Tensor src, bool non_blocking=False, *, Tensor(a!) out)",
    "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False)",
)
def read_copy(call: Call) -> None:
    convert(call, call.tensor("src"))


def convert(call: Call, source: Operand) -> None:
    """Reads a call that gives its source as `out`, which may have another type.

    Elements of the same type are moved as they are, whatever their bits.
    """
    output = call.output("out")
    given = cast(call, source, output.dtype)
    reads = broadcast(call, given, output.shape)
    move(call, "copy", output, [(given, reads, Strided.of(output))])
