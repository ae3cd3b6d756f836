"""Rows of an output that go outside, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.ir.op import (
    DRAIN,
    Address,
    Array,
    KernelCall,
    Op,
    RingRows,
    RowCall,
    Tensors,
    Words,
)
from cmcompiler.ir.rows import SAME, row_bytes
from cmcompiler.isa import Isa


@dataclass(frozen=True)
class Drain(Op):
    """An output that leaves row by row; memory never holds it.

    Attributes:
        port: which output of the graph.
    """

    label = DRAIN

    port: int

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (inputs[0],)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        """The fields of struct cm_feed in cmrt/program.h after its first."""
        arguments: Words = [
            ("output", self.port),
            ("rows", Address(inputs[0])),
            ("row_bytes", row_bytes(inputs[0])),
            ("ring", RingRows(inputs[0])),
        ]
        return [KernelCall(DRAIN, arguments, rows=(0, inputs[0].shape[1]))]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return [RowCall(call, {inputs[0]: SAME})]
