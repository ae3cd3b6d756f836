"""Channels of ops that compute each number from those of the same channel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.channels import LEAST, Bounds, ChannelRule, Channels, Numbers, Tie, TiedRule
from cmcompiler.ir.op import Array, Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.support.affine import EVERY

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class MonotoneRule(TiedRule[Op]):
    """An op whose outputs rise with what they are made of, channel by channel.

    Attributes:
        count: channels of input and output.
        function: the outputs where all that they are made of is one number.
        rebuild: the op of so many channels.
    """

    count: int
    function: Callable[[Numbers], Array]
    rebuild: Callable[[int], Op]

    @property
    def ties(self) -> Sequence[Tie]:
        return [Tie.same(0, self.count)]

    def bounds(self, inputs: Sequence[Bounds]) -> Bounds:
        least, most = (
            self.function(each).astype(np.int64) for each in (inputs[0].least, inputs[0].most)
        )
        return Bounds(least, most)

    def pruned(self, inputs: Sequence[Channels], output: Channels) -> Op:
        return self.rebuild(int(output.kept.sum()))


@dataclass(frozen=True, eq=False)
class FunctionRule(TiedRule[Op]):
    """A function of each int8 number, whatever the channel.

    Attributes:
        count: channels of input and output.
    """

    op: Op
    count: int

    @property
    def ties(self) -> Sequence[Tie]:
        return [Tie.same(0, self.count)]

    def bounds(self, inputs: Sequence[Bounds]) -> Bounds:
        (results,) = self.op.reference(EVERY)
        (source,), size = inputs, len(EVERY)
        # [first, last]: the extremes of the results from one number to another.
        rows = np.broadcast_to(results.astype(np.int64), (size, size))
        is_after = np.triu(np.ones((size, size), dtype=np.bool_))
        least = np.minimum.accumulate(np.where(is_after, rows, results.max()), axis=1)
        most = np.maximum.accumulate(np.where(is_after, rows, results.min()), axis=1)
        between = source.least - LEAST, source.most - LEAST
        return Bounds(least[between], most[between])

    def pruned(self, inputs: Sequence[Channels], output: Channels) -> Op:
        return self.op


def function_rule(op: Op, source: Tensor, output: Tensor) -> ChannelRule[Op] | None:
    """The rule of a function of each number; None unless the tensors have one shape."""
    return FunctionRule(op, (1, *output.shape)[-1]) if source.shape == output.shape else None


@dataclass(frozen=True, eq=False)
class PairRule(TiedRule[Op]):
    """A function of two numbers of the same channel.

    Attributes:
        rebuild: the op on operands and output of other shapes.
        shapes: of the operands.
        shape: of the output.
    """

    rebuild: Callable[[Sequence[Shape], Shape], Op]
    shapes: Sequence[Shape]
    shape: Shape

    @property
    def ties(self) -> Sequence[Tie]:
        return [Tie.same(source, self.shape[-1]) for source in range(len(self.shapes))]

    def bounds(self, inputs: Sequence[Bounds]) -> Bounds:
        """The bounds of results at the corners, if nothing in between can be beyond them."""
        first, second = inputs
        if not self._is_monotone:
            return Bounds.every(self.shape[-1])
        ends = [
            self._table[lhs + 128, rhs + 128].astype(np.int64)
            for lhs in (first.least, first.most)
            for rhs in (second.least, second.most)
        ]
        return Bounds(np.min(ends, axis=0), np.max(ends, axis=0))

    def pruned(self, inputs: Sequence[Channels], output: Channels) -> Op:
        count = int(output.kept.sum())
        shapes = [(*shape[:-1], count) for shape in self.shapes]
        return self.rebuild(shapes, (*self.shape[:-1], count))

    @cached_property
    def _table(self) -> npt.NDArray[np.int8]:
        """The results for all pairs of numbers, in the order of EVERY."""
        size = len(EVERY)
        op = self.rebuild([(size, 1), (1, size)], (size, size))
        (table,) = op.reference(EVERY[:, None], EVERY[None])
        return np.asarray(table)

    @property
    def _is_monotone(self) -> bool:
        """Whether each row and column of the table rises or falls all along."""
        for axis in (0, 1):
            steps = np.diff(self._table.astype(np.int16), axis=axis)
            if not ((steps >= 0).all(axis=axis) | (steps <= 0).all(axis=axis)).all():
                return False
        return True
