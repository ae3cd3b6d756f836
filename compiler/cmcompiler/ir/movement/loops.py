"""Strided windows on tensors, and the loop nests that walk several of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

import numpy as np

from cmcompiler.errors import Unsupported
from cmcompiler.ir.layout import Int32, Place, Settled, Struct
from cmcompiler.ir.op import Array, Packed
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor

DEEPEST = 8
"""CM_NEST_LEVELS of cmrt/nest.h: levels around the innermost one."""

OPERANDS = 4
"""CM_NEST_OPERANDS of cmrt/nest.h."""


@dataclass(frozen=True)
class Nest(Struct):
    """Loops around an inner one, as cmrt/nest.h walks them."""

    levels: Place
    depth: Int32


@dataclass(frozen=True)
class LoopNest(Nest):
    """Loops around an inner one of so many turns."""

    count: Settled


@dataclass(frozen=True, slots=True)
class Strided:
    """Elements of a dense tensor in some order, like a NumPy view.

    Attributes:
        shape: of the window.
        strides: elements from one index of a dimension to the next; 0 repeats, negative walks back.
        offset: elements from the tensor's first to the window's first.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def of(cls, operand: Operand) -> Strided:
        """All of an operand, in its logical shape."""
        return cls(tuple(operand.shape), tuple(operand.strides))

    @classmethod
    def dense(cls, shape: Sequence[int]) -> Strided:
        """All of a tensor of this physical shape."""
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        return cls(tuple(shape), tuple(strides))

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and highest element touched by a window, which must not be empty."""
        spans = [(n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True)]
        return (
            self.offset + sum(span for span in spans if span < 0),
            self.offset + sum(span for span in spans if span > 0),
        )

    def permute(self, order: Sequence[int]) -> Strided:
        """Dimension i of the result is dimension order[i]."""
        shape = tuple(self.shape[dim] for dim in order)
        return replace(self, shape=shape, strides=tuple(self.strides[dim] for dim in order))

    def inverse(self, order: Sequence[int]) -> Strided:
        """The inverse of `permute(order)`."""
        return self.permute(sorted(range(len(order)), key=list(order).__getitem__))

    def slice(self, dim: int, start: int, count: int, step: int = 1) -> Strided:
        """`count` indices of a dimension from `start`, every `step`-th; step may be negative."""
        return replace(
            self.resize(dim, count, self.strides[dim] * step),
            offset=self.offset + start * self.strides[dim],
        )

    def select(self, dim: int, index: int) -> Strided:
        """Fixes one index of a dimension and removes the dimension."""
        shape, strides = list(self.shape), list(self.strides)
        offset = self.offset + index * strides[dim]
        del shape[dim], strides[dim]
        return Strided(tuple(shape), tuple(strides), offset)

    def flip(self, dim: int) -> Strided:
        """Reverses a dimension."""
        return self.slice(dim, self.shape[dim] - 1, self.shape[dim], -1)

    def insert(self, dim: int, count: int = 1, stride: int = 0) -> Strided:
        """Inserts a dimension; by default one that repeats."""
        return replace(
            self,
            shape=(*self.shape[:dim], count, *self.shape[dim:]),
            strides=(*self.strides[:dim], stride, *self.strides[dim:]),
        )

    def split(self, dim: int, inner: int) -> Strided:
        """Splits a dimension in two: groups of `inner` indices, and the index in the group."""
        count, stride = self.shape[dim] // inner, self.strides[dim]
        return self.resize(dim, inner, stride).insert(dim, count, inner * stride)

    def resize(self, dim: int, count: int, stride: int) -> Strided:
        """Changes the length and stride of a dimension."""
        return replace(
            self,
            shape=(*self.shape[:dim], count, *self.shape[dim + 1 :]),
            strides=(*self.strides[:dim], stride, *self.strides[dim + 1 :]),
        )

    def broadcast(self, shape: Sequence[int]) -> Strided:
        """Repeats it to `shape` by NumPy's rules.

        Raises:
            ValueError: the shapes do not broadcast.
        """
        missing = len(shape) - len(self.shape)
        own = (1,) * missing + self.shape
        if missing < 0 or any(a not in (1, b) for a, b in zip(own, shape, strict=True)):
            raise ValueError(f"{self.shape} does not broadcast to {tuple(shape)}")
        strides = (0,) * missing + self.strides
        kept = (0 if n == 1 else stride for n, stride in zip(own, strides, strict=True))
        return Strided(tuple(shape), tuple(kept), self.offset)

    def read(self, array: Array) -> Array:
        """The window on a dense array, as a read-only view."""
        flat = np.ascontiguousarray(array).reshape(-1)[self.offset :]
        strides = tuple(stride * array.itemsize for stride in self.strides)
        return np.lib.stride_tricks.as_strided(flat, self.shape, strides, writeable=False)

    def write(self, elements: Array, shape: Sequence[int]) -> Array:
        """The dense array of a physical shape that the window, which covers it, shows as these."""
        flat = np.empty(elements.size, elements.dtype)
        flat[self.read(np.arange(flat.size))] = elements
        return flat.reshape(shape)


@dataclass(frozen=True, slots=True)
class Loops:
    """The fewest nested loops that walk windows of one shape together, the last one in its order.

    Attributes:
        counts: iterations of each loop, outermost first; at least one loop.
        steps: per operand, its step in elements in each loop.
    """

    counts: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]

    @classmethod
    def over(cls, *operands: Strided) -> Loops:
        """Loops over windows of equal shape; the last one decides the order of the loops.

        Raises:
            Unsupported: more loops are left than a kernel can nest.
        """
        strides = [operand.strides for operand in operands]
        rows = list(zip(operands[-1].shape, zip(*strides, strict=True), strict=True))
        rows = sorted((row for row in rows if row[0] != 1), key=lambda row: -abs(row[1][-1]))
        merged = rows[-1:] or [(1, (1,) * len(operands))]
        for count, steps in reversed(rows[:-1]):
            inner_count, inner_steps = merged[-1]
            if all(a == b * inner_count for a, b in zip(steps, inner_steps, strict=True)):
                merged[-1] = (count * inner_count, inner_steps)
            else:
                merged.append((count, steps))
        if len(merged) > DEEPEST + 1:
            raise Unsupported(f"data movement over {len(merged)} nested loops")
        merged.reverse()
        counts = tuple(count for count, _ in merged)
        return cls(counts, tuple(zip(*(steps for _, steps in merged), strict=True)))

    @property
    def numel(self) -> int:
        return prod(self.counts)

    @property
    def inner(self) -> tuple[int, ...]:
        """Per operand, the step of the innermost loop."""
        return tuple(steps[-1] for steps in self.steps)

    def swapped(self) -> Loops:
        """These loops with the first two operands exchanged."""
        return Loops(self.counts, (self.steps[1], self.steps[0], *self.steps[2:]))

    def dense(self, operand: int) -> bool:
        """Whether an operand is walked in memory order, each element once."""
        steps, counts = self.steps[operand], self.counts
        return (steps[-1] == 1 or self.numel == 1) and all(
            outer == inner * count
            for (outer, inner), count in zip(pairwise(steps), counts[1:], strict=True)
        )

    def split_rows(self, rows: int) -> tuple[Loops, tuple[int, ...]] | None:
        """The loops over one of so many equal parts, and each operand's step from part to part.

        None if the outermost loop cannot be divided so.
        """
        inner, rest = divmod(self.counts[0], rows)
        if rest:
            return None
        steps = tuple(steps[0] * inner for steps in self.steps)
        if inner > 1 or len(self.counts) == 1:
            return Loops((inner, *self.counts[1:]), self.steps), steps
        return Loops(self.counts[1:], tuple(steps[1:] for steps in self.steps)), steps

    def read(self, operand: int, array: Array) -> Array:
        """The elements of a dense array that the loops read, as a view of shape `counts`."""
        return Strided(self.counts, self.steps[operand]).read(array)

    def longest_inside(self, kept: int = 0) -> Loops:
        """These loops with the longest one innermost, around `kept` that stay where they are."""
        every = range(len(self.counts))
        outer = len(every) - kept
        order = [*sorted(every[:outer], key=self.counts.__getitem__), *every[outer:]]
        counts = tuple(self.counts[i] for i in order)
        return Loops(counts, tuple(tuple(steps[i] for i in order) for steps in self.steps))

    def fields(self, *tensors: Tensor) -> LoopNest:
        """The innermost loop over the elements of so many operands, and those around it."""
        around = self.nest([x.dtype.itemsize for x in tensors], len(self.counts) - 1)
        return LoopNest(around.levels, around.depth, self.counts[-1])

    def nest(self, sizes: Sequence[int], depth: int | None = None) -> Nest:
        """The `depth` outermost loops; all of them if it is not given.

        Args:
            sizes: bytes per element of each operand.
        """
        depth = len(self.counts) if depth is None else depth
        table = np.zeros((depth, 1 + OPERANDS), "<i4")
        table[:, 0] = self.counts[:depth]
        for operand, (steps, size) in enumerate(zip(self.steps, sizes, strict=True)):
            table[:, 1 + operand] = np.multiply(steps[:depth], size)
        return Nest(Packed(table.tobytes(), 4) if depth else 0, depth)
