"""Views: the same bytes under another shape, or a contiguous part of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from cmcompiler.ir.channels import Bounds, ChannelRule, Channels, Tie, TiedRule, channel_count
from cmcompiler.ir.op import Array, KernelCall, Op, Tensors
from cmcompiler.isa import Isa


@dataclass(frozen=True)
class View(Op):
    """The input's memory as an array of another physical shape.

    Attributes:
        shape: physical shape of the output, with as many elements as the input's.
    """

    label = "view"
    error_steps = fine_error_steps = 0.0
    view_of = 0

    shape: tuple[int, ...]

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        """Where a channel of the output holds elements of one channel of the input."""
        source, result = channel_count(inputs[0]), channel_count(outputs[0])
        return None if result % source else ViewRule(self.shape, source, result)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (inputs[0].reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        return ()


@dataclass(frozen=True, eq=False)
class ViewRule(TiedRule[Op]):
    """Channels under another shape, perhaps of several pixels side by side.

    Attributes:
        shape: of the output.
        source, result: channels of the input and of the output, a multiple.
    """

    shape: tuple[int, ...]
    source: int
    result: int

    @property
    def ties(self) -> Sequence[Tie]:
        every = np.arange(self.result)
        return [Tie(0, every % self.source, every)]

    def bounds(self, inputs: Sequence[Bounds]) -> Bounds:
        (tie,) = self.ties
        return inputs[0].select(tie.read)

    def pruned(self, inputs: Sequence[Channels], output: Channels) -> Op:
        return View((*self.shape[:-1], int(output.kept.sum())))


@dataclass(frozen=True)
class Part(Op):
    """A contiguous part of the input's memory as an array.

    Attributes:
        shape: physical shape of the output.
        offset: bytes from the input's first element; a multiple of ALIGN.
    """

    label = "part"
    error_steps = fine_error_steps = 0.0
    view_of = 0

    shape: tuple[int, ...]
    offset: int

    @property
    def view_offset(self) -> int:
        return self.offset

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        first = self.offset // inputs[0].itemsize
        elements = inputs[0].reshape(-1)[first : first + prod(self.shape)]
        return (elements.reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        return ()
