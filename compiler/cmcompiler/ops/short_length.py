"""Lengths of pairs of int16 numbers: cmbuild::short_length_s16."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place, Settled
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.parameters import INT32_MAX
from cmcompiler.ops.support.square_root import scaled_roots

FACTOR_BITS = 30
"""Fractional bits of what squares are multiplied by: two of them are below 2^62."""

FARTHEST_SHIFT = 100
_MOST = (1 << 15) - 1


@dataclass(frozen=True)
class ShortLengthArguments(Arguments):
    """Two int16 tensors of one shape."""

    c_name = "cm_short_length"

    x: Place
    y: Place
    output: Place
    count: Settled
    x_factor: Annotated[Int32, "of its square"]
    y_factor: Int32
    multiplier: Int32
    shift: Int32


@dataclass(frozen=True)
class ShortLength(Op):
    """√(x² · x_factor + y² · y_factor) · multiplier · 2^(shift - 31), rounded, up to 32,767.

    The root is as that of `quantized_deviation`: docs/exactness.md.
    """

    label = "length"
    element = np.dtype(np.int16)
    in_place = frozenset({0, 1})

    x_factor: int
    y_factor: int
    multiplier: int
    shift: int

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        x, y = (each.astype(np.int64) for each in inputs)
        squares = x * x * self.x_factor + y * y * self.y_factor
        steps = scaled_roots(squares, self.multiplier, self.shift)
        return (np.minimum(steps, _MOST).astype(np.int16),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = ShortLengthArguments(
            Address(inputs[0]),
            Address(inputs[1]),
            Address(outputs[0]),
            count=outputs[0].numel,
            x_factor=self.x_factor,
            y_factor=self.y_factor,
            multiplier=self.multiplier,
            shift=self.shift,
        )
        return [KernelCall.of("short_length", arguments)]


@program_op(
    "cmbuild::short_length_s16.out(Tensor x, Tensor y, int x_factor, int y_factor, "
    "int multiplier, int shift, *, Tensor(a!) out) -> Tensor(a!)"
)
def read(call: Call) -> None:
    output = call.output("out", dtype=np.int16)
    operands = [call.tensor(name, dtype=np.int16) for name in ("x", "y")]
    if any(each.shape != output.shape for each in operands):
        call.invalid(f"{[list(each.shape) for each in operands]} to {list(output.shape)}")
    op = ShortLength(
        call.integer("x_factor", 0, 1 << FACTOR_BITS),
        call.integer("y_factor", 0, 1 << FACTOR_BITS),
        call.integer("multiplier", 0, INT32_MAX),
        call.integer("shift", -FARTHEST_SHIFT, FARTHEST_SHIFT),
    )
    arranged = [call.arrange(each, output.dim_order) for each in operands]
    call.emit(op, arranged, [output.tensor])
