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
        columns: of each row of the input that it takes; None for all.
        width: columns of the input's rows, if it takes some.
    """

    label = FEED

    port: int
    shape: tuple[int, ...]
    columns: range | None = None
    width: int = 0

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        if self.columns is None:
            return (inputs[0].reshape(self.shape),)
        count, height, _, channels = self.shape
        image = inputs[0].reshape(count, height, self.width, channels)
        return (image[:, :, self.columns.start : self.columns.stop],)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        """The fields of struct cm_feed in cmrt/program.h after its first."""
        words: Words = [
            ("input", self.port),
            ("rows", Address(outputs[0])),
            ("row_bytes", row_bytes(outputs[0])),
            ("ring", RingRows(outputs[0])),
        ]
        if self.columns is not None:
            pixel = row_bytes(outputs[0]) // len(self.columns)
            words += [("stride", self.width * pixel), ("first", self.columns.start * pixel)]
        return [KernelCall(FEED, words, rows=(0, outputs[0].shape[1]))]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return [RowCall(call, {})]
