"""Quantised numbers to floats: cortex_m::dequantize_per_tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Float32, Int32, Place, Settled
from cmcompiler.ir.op import Address, Array, KernelCall, Op, RowCall, Tensors
from cmcompiler.ir.rows import element_rows
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.quantize import DTYPES
from cmcompiler.ops.support.parameters import read_scale

DEQUANTIZE = Microkernel("dequantize_s8", mve=True)


@dataclass(frozen=True)
class DequantizeInt8Arguments(Arguments):
    """From int8 to floats."""

    c_name = "cm_dequantize_s8"

    input: Place
    output: Place
    count: Settled
    zero_point: Int32
    scale: Float32


@dataclass(frozen=True)
class DequantizeArguments(DequantizeInt8Arguments):
    """From other types to floats."""

    c_name = "cm_dequantize"

    size: Annotated[Int32, "bytes of an element: 1 if unsigned, 2 if signed"]


@dataclass(frozen=True)
class Dequantize(Op):
    """float32(x - zero_point) · float32(scale) of int8, uint8 or int16 x."""

    label = "dequantize"
    error_steps = fine_error_steps = 0.0
    element = np.dtype(np.float32)

    scale: float
    zero_point: int

    @property
    def turned(self) -> Dequantize:
        return self

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        steps = (inputs[0].astype(np.int32) - self.zero_point).astype(np.float32)
        return (steps * np.float32(self.scale),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        ends, count = (Address(inputs[0]), Address(outputs[0])), outputs[0].numel
        by = self.zero_point, self.scale
        if inputs[0].dtype == np.int8:
            arguments = DequantizeInt8Arguments(*ends, count, *by)
            return [KernelCall.of("dequantize_s8", arguments, microkernel=DEQUANTIZE)]
        size = inputs[0].dtype.itemsize
        return [KernelCall.of("dequantize", DequantizeArguments(*ends, count, *by, size))]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return element_rows(call, inputs[0], outputs[0])


@program_op(
    "cortex_m::dequantize_per_tensor.out(Tensor input, float scale, int zero_point, "
    "int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out)"
)
def read(call: Call) -> None:
    output = call.output("out")
    source = call.tensor("input")
    if source.dtype not in DTYPES or output.dtype != np.float32:
        call.unsupported(f"{source.dtype.name} to {output.dtype.name} is not a dequantisation")
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    limits = np.iinfo(source.dtype)
    op = Dequantize(
        float(read_scale(call, "scale")), call.integer("zero_point", limits.min, limits.max)
    )
    call.emit(op, [call.arrange(source, output.dim_order)], [output.tensor])
