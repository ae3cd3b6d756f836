"""Spatial ops computed a few rows at a time, between ring buffers of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.op import KernelCall, Op, Word
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.support.window import Window

Images = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class InRanges(Op):
    """An op whose rows are computed in ranges, last ones first."""

    op: Op
    cuts: tuple[int, ...]

    label = "in_ranges"

    def reference(self, *inputs: Images) -> tuple[Images, ...]:
        return self.op.reference(*inputs)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        calls = self.op.kernel_calls(inputs, outputs, isa)
        (first, end) = calls[0].rows
        bounds = sorted({first, *self.cuts, end})
        ranges = [pair for pair in pairwise(bounds) if pair[1] <= end]
        return [replace(call, rows=rows) for rows in reversed(ranges) for call in calls]


@dataclass(frozen=True, eq=False)
class InRings(Op):
    """Some rows of an op's output, from a ring of input rows into a ring of output rows.

    The input is the ring's contents, [1, ring, W, C]; the output has the computed rows only.

    Attributes:
        op: takes images of `height` rows.
        rows: output rows [first, last).
    """

    op: Op
    window: Window
    height: int
    output_height: int
    rows: tuple[int, int]

    label = "in_rings"

    @property
    def _needed(self) -> range:
        first, last = (row * self.window.stride[0] - self.window.padding[0] for row in self.rows)
        end = last - self.window.stride[0] + self.window.reach[0]
        return range(max(first, 0), min(end, self.height))

    @property
    def ring(self) -> int:
        """Input rows needed at once."""
        return max(len(self._needed), 1)

    def fill(self, images: Images) -> Images:
        """The input ring for images of [1, height, W, C]."""
        ring = np.full((1, self.ring, *images.shape[2:]), 77, images.dtype)
        for row in self._needed:
            ring[:, row % self.ring] = images[:, row]
        return ring

    def reference(self, *inputs: Images) -> tuple[Images, ...]:
        images = np.zeros((1, self.height, *inputs[0].shape[2:]), inputs[0].dtype)
        for row in self._needed:
            images[:, row] = inputs[0][:, row % self.ring]
        (whole,) = self.op.reference(images)
        count = self.rows[1] - self.rows[0]
        result = np.empty((1, count, *whole.shape[2:]), whole.dtype)
        for row in range(*self.rows):
            result[:, row % count] = whole[:, row]
        return (result,)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        calls = self.op.kernel_calls(inputs, outputs, isa)
        return [self._in_rings(call) for call in calls]

    def _in_rings(self, call: KernelCall) -> KernelCall:
        count = self.rows[1] - self.rows[0]
        changes: Mapping[str, Word] = {
            "input.height": self.height,
            "input.ring": self.ring,
            "output.height": self.output_height,
            "output.ring": count,
        }
        words = [(name, changes.get(name, word)) for name, word in call.arguments]
        return replace(call, arguments=words, rows=self.rows)
