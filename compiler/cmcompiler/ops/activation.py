"""Any function of one byte, by table: cortex_m::quantized_activation, portable int8 functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.channels import ChannelRule
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import (
    ONE_ROUNDING,
    Address,
    Array,
    KernelCall,
    Op,
    Packed,
    RowCall,
    Tensors,
)
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.rows import element_rows
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.support.element_channels import function_rule

INT8 = np.dtype(np.int8)

LOOKUP = Microkernel("lookup_s8", mve=True)


@dataclass(frozen=True)
class ActivationArguments(Arguments):
    """Elements and the table of their results."""

    c_name = "cm_activation_s8"

    input: Place
    table: Place
    output: Place
    count: Int32


@dataclass(frozen=True)
class Activation(Op):
    """table[x + 128] of x, read as int8 whatever type of one byte it has.

    Attributes:
        table: 256 bytes.
        dtype: of the output, one byte too.
        name: for people.
    """

    label = "activation"
    in_place = frozenset({0})
    error_steps = ONE_ROUNDING

    table: bytes
    dtype: np.dtype[Any] = INT8
    name: str = label

    @property
    def title(self) -> str:
        return self.name

    @property
    def turned(self) -> Activation:
        return self

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        return function_rule(self, inputs[0], outputs[0])

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        table = np.frombuffer(self.table, self.dtype)
        return (table[inputs[0].view(np.int8).astype(np.intp) + 128],)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        # Half a turn lets the kernel index with the element's bits as they are, unsigned.
        turned = self.table[128:] + self.table[:128]
        arguments = ActivationArguments(
            input=Address(inputs[0]),
            table=Packed(turned),
            output=Address(outputs[0]),
            count=outputs[0].numel,
        )
        return [KernelCall.of("activation_s8", arguments, microkernel=LOOKUP)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return element_rows(call, inputs[0], outputs[0])


@program_op("cortex_m::quantized_activation.out(Tensor input, Tensor lut, *, Tensor(a!) out)")
def read(call: Call) -> None:
    output = call.output("out", dtype=np.int8)
    source = call.tensor("input", dtype=np.int8)
    table = call.constant("lut", dtype=np.int8)
    if table.size != 256:
        call.invalid(f"a table of {table.size}")
    _emit(call, source, output, Activation(table.tobytes()))


def tabulate(
    call: Call, name: str, source: Operand, output: Operand, function: Callable[[Array], Array]
) -> None:
    """Emits a function of elements of one byte; it takes and gives arrays of the tensors' types."""
    every = EVERY.view(np.uint8) != 0 if source.dtype == np.bool_ else EVERY.view(source.dtype)
    table = function(every).astype(output.dtype)
    _emit(call, source, output, Activation(table.tobytes(), output.dtype, name))


def _emit(call: Call, source: Operand, output: Operand, op: Activation) -> None:
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    call.emit(op, [call.arrange(source, output.dim_order)], [output.tensor])
