"""Multiples of floats: workshop::scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.decode.registry import program_op
from cmcompiler.ir.op import Address, Array, KernelCall, Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa

from ._arrays import scaled


@dataclass(frozen=True)
class Scale(Op):
    """x · factor in float32."""

    label: ClassVar[str] = "scale"

    factor: float

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (scaled(inputs[0], self.factor),)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        fields = [
            ("input", Address(inputs[0])),
            ("output", Address(outputs[0])),
            ("count", outputs[0].numel),
            ("factor", self.factor),
        ]
        return [KernelCall("scale_f32", fields)]


@program_op("workshop::scale.out(Tensor x, float factor, *, Tensor(a!) out)")
def read(call: Call) -> None:
    output = call.output("out")
    x = call.arrange(call.tensor("x", dtype=np.float32), output.dim_order)
    call.emit(Scale(call.number("factor")), [x], [output.tensor])
