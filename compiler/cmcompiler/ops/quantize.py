"""Floats to quantised numbers: cortex_m::quantize_per_tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Float32, Int32, Place, Settled
from cmcompiler.ir.op import Address, Array, KernelCall, Op, RowCall, Tensors
from cmcompiler.ir.rows import element_rows
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.parameters import read_scale

DTYPES = tuple(np.dtype(name) for name in ("int8", "uint8", "int16"))
"""Quantised types that kernels know."""

QUANTIZE = Microkernel("quantize_s8", mve=True)


@dataclass(frozen=True)
class QuantizeInt8Arguments(Arguments):
    """From floats to int8."""

    c_name = "cm_quantize_s8"

    input: Place
    output: Place
    count: Settled
    inverse_scale: Float32
    zero_point: Int32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True)
class QuantizeArguments(QuantizeInt8Arguments):
    """From floats to other types."""

    c_name = "cm_quantize"

    size: Annotated[Int32, "bytes of an element: 1 or 2"]


@dataclass(frozen=True)
class QuantizeDividedArguments(Arguments):
    """From floats to other types, by a scale that they are divided by."""

    c_name = "cm_quantize_divided"

    input: Place
    output: Place
    count: Settled
    zero_point: Int32
    minimum: Int32
    maximum: Int32
    scale: Float32
    size: Annotated[Int32, "bytes of an element: 1 or 2"]


@dataclass(frozen=True)
class Quantize(Op):
    """clamp(rint(float32(x · float32(1 / scale))) + zero_point), halves to even.

    The product is rounded before it is rounded to an integer, and the sum saturates. NaN gives the
    zero point.

    Attributes:
        dtype: of the output: int8, uint8 or int16.
        minimum, maximum: bounds of the output.
        is_divided: x is divided by the scale instead, and halves are rounded away from zero.
    """

    label = "quantize"
    error_steps = fine_error_steps = 0.0
    in_place = frozenset({0})

    dtype: np.dtype[Any]
    scale: float
    zero_point: int
    minimum: int
    maximum: int
    is_divided: bool = False

    @property
    def turned(self) -> Quantize:
        return self

    @property
    def inverse_scale(self) -> np.float32:
        return np.float32(1) / np.float32(self.scale)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        with np.errstate(over="ignore", invalid="ignore"):
            if self.is_divided:
                quotients = (inputs[0] / np.float32(self.scale)).astype(np.float64)
                steps = np.trunc(quotients + np.copysign(0.5, quotients))
            else:
                steps = np.rint(inputs[0] * self.inverse_scale)
        steps = np.where(np.isnan(steps), 0, np.clip(steps, -(2.0**24), 2.0**24)).astype(np.int32)
        return (np.clip(steps + self.zero_point, self.minimum, self.maximum).astype(self.dtype),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        ends, count = (Address(inputs[0]), Address(outputs[0])), outputs[0].numel
        to, size = (self.zero_point, self.minimum, self.maximum), self.dtype.itemsize
        if self.is_divided:
            scale = float(np.float32(self.scale))
            divided = QuantizeDividedArguments(*ends, count, *to, scale, size)
            return [KernelCall.of("quantize_divided", divided)]
        inverse = float(self.inverse_scale)
        if self.dtype == np.int8:
            arguments = QuantizeInt8Arguments(*ends, count, inverse, *to)
            return [KernelCall.of("quantize_s8", arguments, microkernel=QUANTIZE)]
        return [KernelCall.of("quantize", QuantizeArguments(*ends, count, inverse, *to, size))]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return element_rows(call, inputs[0], outputs[0])


@program_op(
    "cortex_m::quantize_per_tensor.out(Tensor input, float scale, int zero_point, int quant_min, "
    "int quant_max, ScalarType dtype, *, Tensor(a!) out)"
)
def read(call: Call) -> None:
    output = call.output("out")
    source = call.tensor("input", dtype=np.float32)
    if output.dtype not in DTYPES:
        call.unsupported(f"output is {output.dtype.name}")
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    limits = np.iinfo(output.dtype)
    minimum = call.integer("quant_min", limits.min, limits.max)
    op = Quantize(
        output.dtype,
        float(read_scale(call, "scale")),
        call.integer("zero_point", limits.min, limits.max),
        minimum,
        call.integer("quant_max", minimum, limits.max),
    )
    call.emit(op, [call.arrange(source, output.dim_order)], [output.tensor])
