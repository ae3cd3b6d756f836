"""Rows of an input that come from outside, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.ir.op import FEED, Address, Array, KernelCall, Op, RingRows, RowCall, Tensors, Words
from cmcompiler.ir.rows import row_bytes
from cmcompiler.isa import Isa


@dataclass(frozen=True)
class Feed(Op):
    """The image that an input holds, row by row; memory never holds the input itself.

    Attributes:
        port: which input of the graph.
        shape: physical shape of the image.
    """

    label = FEED

    port: int
    shape: tuple[int, ...]

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (inputs[0].reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        """The fields of struct cm_feed in cmrt/program.h after its first."""
        arguments: Words = [
            ("input", self.port),
            ("rows", Address(outputs[0])),
            ("row_bytes", row_bytes(outputs[0])),
            ("ring", RingRows(outputs[0])),
        ]
        return [KernelCall(FEED, arguments, rows=(0, outputs[0].shape[1]))]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return [RowCall(call, {})]
