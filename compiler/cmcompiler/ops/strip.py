"""Operators on vertical strips of an image, and the image that their results are parts of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.op import (
    Address,
    Array,
    KernelCall,
    Op,
    RowAddress,
    RowCall,
    RowCount,
    Tensors,
    Word,
)
from cmcompiler.ir.rows import SAME
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.ops.support.elementwise import Pair


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


@dataclass(frozen=True, eq=False)
class StripPair(Op):
    """An operator on two images, of which some columns make those of a strip.

    Attributes:
        part: the operator on these columns.
        columns: of each image, the first one that it takes.
    """

    label = "pair"

    part: Pair
    columns: tuple[int, ...]

    @property
    def title(self) -> str:
        return self.part.title

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.part.exact

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        width = self.part.shape[2]
        parts = zip(inputs, self.columns, strict=True)
        return self.part.reference(*(image[:, :, start : start + width] for image, start in parts))

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        shape = self.part.shape
        parts = [
            replace(Strided.dense(image.shape).slice(2, 0, shape[2]), shape=shape)
            for image in inputs
        ]
        whole, narrow = (
            replace(self.part, loops=Loops.over(*parts, Strided.dense(shape))),
            self._narrow(inputs),
        )
        places = self._places(narrow, inputs, Address)
        return [_placed(call, places) for call in whole.kernel_calls(narrow, outputs, isa)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        narrow, reads = self._narrow(inputs), dict.fromkeys(inputs, SAME)
        places = self._places(narrow, inputs, RowAddress)
        return [
            replace(each, call=_placed(each.call, places), reads=reads)
            for each in self.part.row_calls(narrow, outputs, isa)
        ]

    def _narrow(self, inputs: Tensors) -> Tensors:
        """Stand-ins for the columns that it takes: other columns follow the rows of these."""
        return tuple(replace(image, shape=self.part.shape) for image in inputs)

    def _places(
        self, narrow: Tensors, inputs: Tensors, place: type[Address | RowAddress]
    ) -> dict[Tensor, Address | RowAddress]:
        """Where the columns lie that stand-ins stand for."""
        pixel = self.part.shape[3] * inputs[0].dtype.itemsize
        return {
            part: place(image, start * pixel)
            for part, image, start in zip(narrow, inputs, self.columns, strict=True)
        }


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


def convolution_of(op: Op) -> Convolution | None:
    """The convolution that an operator is, or that makes its strip."""
    op = op.part if isinstance(op, Strip) else op
    return op if isinstance(op, Convolution) else None


def _placed(call: KernelCall, places: Mapping[Tensor, Address | RowAddress]) -> KernelCall:
    """A call for stand-ins with the places of what they stand for, a row at a time."""

    def placed(word: Word) -> Word:
        if isinstance(word, RowAddress | Address):
            return places.get(word.tensor, word)
        return word.each if isinstance(word, RowCount) else word

    return replace(call, arguments=[(name, placed(word)) for name, word in call.arguments])
