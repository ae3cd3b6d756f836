"""Convolutions of vertical strips of an image, and the image that their results are parts of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cmcompiler.ir.op import Array, KernelCall, Op, RowCall, Tensors, Word
from cmcompiler.isa import Isa
from cmcompiler.ops.support.convolution import Convolution


@dataclass(frozen=True, eq=False)
class Strip(Op):
    """A convolution whose result is some columns of an image in memory.

    Attributes:
        part: the convolution of the strip.
        row_bytes: of the image.
        batch_bytes: of the image.
    """

    label = "strip"

    part: Convolution
    row_bytes: int
    batch_bytes: int

    @property
    def title(self) -> str:
        return self.part.title

    @property
    def macs(self) -> int:
        return self.part.macs

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return self.part.reference(*inputs)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        return [self._placed(call) for call in self.part.kernel_calls(inputs, outputs, isa)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        return [
            replace(
                each,
                call=self._placed(each.call),
                alone=None if each.alone is None else self._placed(each.alone),
            )
            for each in self.part.row_calls(inputs, outputs, isa)
        ]

    def _placed(self, call: KernelCall) -> KernelCall:
        """The call with rows that lie as far from each other as those of the image."""
        own: dict[str, Word] = {
            "output.row_stride": self.row_bytes,
            "output.batch_stride": self.batch_bytes,
            "joined": 0,
        }
        words = [(name, own.get(name, word)) for name, word in call.arguments]
        return replace(call, arguments=words)


@dataclass(frozen=True)
class JoinedStrips(Op):
    """The image of which each input is some columns; they are computed in its memory.

    Attributes:
        columns: of each input, the first one.
    """

    label = "strips"

    columns: tuple[int, ...]

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (np.concatenate(inputs, axis=2),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        return ()
