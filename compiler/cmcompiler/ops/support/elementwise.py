"""Operands of elementwise ops, brought to one order of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.channels import ChannelRule
from cmcompiler.ir.layout import INLINE, Int32, Place, Struct
from cmcompiler.ir.movement.loops import LoopNest, Loops, Strided
from cmcompiler.ir.op import Address, Array, KernelCall, Op, RowCall, RowCount, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.rows import SAME, image_rows, one_row, turned_shape
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.words import Word
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.element_channels import PairRule
from cmcompiler.ops.support.movement import broadcast
from cmcompiler.ops.support.parameters import Rescale

REPEAT = Microkernel("repeat_bytes", mve=True)
"""The kernel that writes operands of joined loops."""

LONGEST_JOINED = 32
"""Elements of an innermost loop of which several are computed at once. cmrt/joined_pairs.h."""


def align(call: Call, operands: Sequence[Operand], output: Operand) -> tuple[Loops, list[Tensor]]:
    """Loops over broadcast operands and a dense output, whose innermost steps are 0 or 1.

    An operand whose memory runs across the output's is first brought into the output's order.
    """
    target = Strided.of(output)
    windows, tensors = [], []
    for operand in operands:
        wide, tensor = broadcast(call, operand, target.shape), operand.tensor
        if Loops.over(wide, target).inner[0] not in (0, 1):
            missing = output.rank - operand.rank
            order = [dim - missing for dim in output.dim_order if dim >= missing]
            tensor = call.arrange(operand, order)
            wide = Strided.dense(tensor.shape).inverse(order).broadcast(target.shape)
        windows.append(wide)
        tensors.append(tensor)
    return Loops.over(*windows, target), tensors


@dataclass(frozen=True)
class Elementwise(Op):
    """An op on the elements of operands. Shapes: any that broadcast.

    Attributes:
        loops: over the operands and the output.
        shape: of the output, physical.
    """

    loops: Loops
    shape: tuple[int, ...]

    @property
    def in_place(self) -> frozenset[int]:
        """Operands that are read exactly where the output is written."""
        *operands, output = self.loops.steps
        return frozenset(i for i, steps in enumerate(operands) if steps == output)

    @property
    def turned(self) -> Elementwise:
        is_image = len(self.shape) == 4
        return replace(self, shape=turned_shape(self.shape)) if is_image else self

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        """Each operand moves along with the rows, or is the same for all of them."""
        rows = outputs[0].shape[1]
        parts = self.loops.split_rows(rows)
        if parts is None:
            return []
        loops, steps = parts
        row = outputs[0].numel // rows
        moving = {t for t, step in zip((*inputs, *outputs), steps, strict=True) if step == row}
        still = {t for t, step in zip(inputs, steps, strict=False) if step == 0}
        if steps[-1] != row or any(t in moving and t in still for t in inputs):
            return []
        if any(t not in moving and t not in still for t in inputs):
            return []
        if any(image_rows(t) != rows for t in moving):
            return []
        (call,) = replace(self, loops=loops).kernel_calls(inputs, outputs, isa)
        reads = {tensor: SAME for tensor in inputs if tensor in moving}
        is_dense = not still and all(map(loops.dense, range(len(loops.steps))))
        count = {"count": RowCount(row)} if is_dense else {}
        return [RowCall(one_row(call, rows, moving, **count), reads)]

    def broadcast(self, inputs: Sequence[Array]) -> list[Array]:
        """The elements of each operand, for those of the output."""
        return [self.loops.read(i, x) for i, x in enumerate(inputs)]


@dataclass(frozen=True)
class PairOperands(Struct):
    """Two operands, the output, and the loops over them."""

    lhs: Place
    rhs: Place
    output: Place
    loops: Annotated[LoopNest, INLINE]

    @classmethod
    def of(cls, loops: Loops, tensors: Tensors) -> PairOperands:
        """
        Args:
            tensors: both operands and the output.
        """
        lhs, rhs, output = map(Address, tensors)
        return cls(lhs, rhs, output, loops.fields(*tensors))


@dataclass(frozen=True)
class PairArguments(Arguments):
    """The fields that the argument structs of all pairs begin with."""

    c_name = "cm_pair_operands"

    operands: Annotated[PairOperands, INLINE]
    rhs_step: Annotated[Int32, "1, or 0 to repeat one element"]


def scale_words(lhs: Rescale, rhs: Rescale, output: Rescale, *fields: str) -> dict[str, int]:
    """Fields of the scales of a pair, as its argument struct spells them: those of its operands
    begin with `lhs_` and `rhs_`.
    """
    scales = (("lhs_", lhs), ("rhs_", rhs), ("", output))
    return {prefix + field: getattr(scale, field) for prefix, scale in scales for field in fields}


@dataclass(frozen=True)
class Pair(Elementwise):
    """An op on two quantised operands, of which the first moves in the innermost loop."""

    def call(
        self,
        form: type[PairArguments],
        tensors: Tensors,
        microkernel: Microkernel,
        *,
        joins: bool = False,
        **values: Word,
    ) -> Sequence[KernelCall]:
        """The call of the microkernel's own kernel.

        Args:
            tensors: both operands and the output.
            joins: it has a kernel for short innermost loops as well.
            values: the fields of the struct after those of all pairs.
        """
        operands = PairOperands.of(self.loops, tensors).words()
        words = [*operands, ("rhs_step", self.loops.inner[1]), *values.items()]
        arguments = form.of_words(words)
        name = f"{microkernel.name}_joined" if joins and self._is_short else microkernel.name
        return [KernelCall.of(name, arguments, microkernel=microkernel, family=microkernel.name)]

    @property
    def _is_short(self) -> bool:
        """Whether several turns of the innermost loop are best computed at once."""
        count = self.loops.counts[-1]
        if len(self.loops.counts) == 1 or not 1 < count <= LONGEST_JOINED:
            return False
        lhs, rhs, output = (steps[-2:] for steps in self.loops.steps)
        dense, same, each = (count, 1), (0, 1), (1, 0)
        return lhs in (dense, same) and rhs in (dense, same, each) and output == dense

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        """Where both operands lie as the output does; the second one may be repeated."""
        shapes = [tensor.shape for tensor in inputs]
        if shapes[0] != self.shape or not self.shape or shapes[1][-1:] != self.shape[-1:]:
            return None
        try:
            is_plain = self.loops == dense_loops(shapes, self.shape)
        except ValueError:  # the second one lies in another order
            return None
        if not is_plain:
            return None
        return PairRule(self.of_channels, shapes, self.shape)

    def of_channels(self, shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> Pair:
        """The operator on other shapes."""
        return replace(self, loops=dense_loops(shapes, shape), shape=shape)


def dense_loops(shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> Loops:
    """Loops over operands that are repeated as NumPy does, and an output in the same order."""
    windows = (Strided.dense(each).broadcast(shape) for each in shapes)
    return Loops.over(*windows, Strided.dense(shape))


def align_pair(
    call: Call, operands: Sequence[Operand], output: Operand
) -> tuple[Loops, list[Tensor], tuple[int, int]]:
    """As `align`, for the loops of a Pair; and which operand is its first, which its second."""
    loops, tensors = align(call, operands, output)
    shapes = [operand.shape for operand in operands]
    if np.broadcast_shapes(*shapes) != output.shape:
        call.invalid(f"{list(shapes[0])} and {list(shapes[1])} to {list(output.shape)}")
    if loops.inner[0] == 0:
        return loops.swapped(), tensors[::-1], (1, 0)
    return loops, tensors, (0, 1)
