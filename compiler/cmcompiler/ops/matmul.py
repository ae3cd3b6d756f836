"""Products of float matrices: aten::mm, bmm, addmm and linear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Float32, Int32, Place, Struct
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Address, KernelCall, Op, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.dot import DOT, FLOAT_BYTES, blocks_of, byte_steps, tap_table
from cmcompiler.ops.support.functions import Floats
from cmcompiler.ops.support.movement import broadcast

NONE = 0xFFFFFFFF
"""CM_REF_NONE of cmrt/program.h."""

LEAST_LANES = 4
"""Columns; of fewer, the rows run along the lanes instead."""


@dataclass(frozen=True)
class MatmulSide(Struct):
    """Vectors that are multiplied with others. Steps in bytes."""

    c_name = "cm_side"

    data: Place
    batch: Int32
    step: Int32
    block: Int32

    @classmethod
    def of(cls, tensor: Tensor, window: Strided, block: int) -> MatmulSide:
        """The last dimension of a window [batch, vectors, depth], in blocks."""
        batch, step, depth = byte_steps(window)
        return cls(Address(tensor, FLOAT_BYTES * window.offset), batch, step, depth * block)


@dataclass(frozen=True)
class MatmulSteps(Struct):
    """Steps from result to result, and from addend to addend."""

    output_batch: Int32
    output_row: Int32
    output_lane: Int32
    addend_batch: Int32
    addend_row: Int32
    addend_lane: Int32


@dataclass(frozen=True)
class MatmulArguments(Arguments):
    """Two batches of float vectors, of which each is multiplied with all of the other side."""

    c_name = "cm_matmul_f32"

    taps: Place
    output: Place
    addend: Place
    tap_count: Int32
    blocks: Int32
    batch: Int32
    rows: MatmulSide
    lanes: MatmulSide
    row_count: Int32
    lane_count: Int32
    steps: Annotated[MatmulSteps, INLINE]
    alpha: Float32
    beta: Float32


@dataclass(frozen=True)
class Matmul(Op):
    """alpha · lhs × rhs + beta · addend of float32 matrices.

    A sum starts at 0 and goes from the first product to the last, each rounded on its way.

    Attributes:
        lhs, rhs: windows [batch, rows, depth] and [batch, depth, columns].
        addend: window [batch, rows, columns] on a third input, or None.
        shape: of the output, which lies as [batch, rows, columns].
    """

    label = "matmul"
    element = np.dtype(np.float32)

    lhs: Strided
    rhs: Strided
    addend: Strided | None
    shape: tuple[int, ...]
    alpha: float = 1.0
    beta: float = 1.0

    @property
    def depth(self) -> int:
        return self.lhs.shape[2]

    @property
    def macs(self) -> int:
        return prod(self.shape) * self.depth

    def reference(self, *inputs: Floats) -> tuple[Floats, ...]:
        lhs, rhs = self.lhs.read(inputs[0]), self.rhs.read(inputs[1])
        total = np.zeros((*lhs.shape[:2], rhs.shape[2]), np.float32)
        with np.errstate(all="ignore"):
            for k in range(self.depth):
                total += lhs[:, :, k, None] * rhs[:, k, None, :]
            total *= np.float32(self.alpha)
            if self.addend is not None:
                total += self.addend.read(inputs[2]) * np.float32(self.beta)
        return (total.reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        addend = self.addend or Strided((0, 0, 0), (0, 0, 0))
        sides = [(inputs[0], self.lhs), (inputs[1], self.rhs.permute((0, 2, 1)))]
        windows = [Strided.dense((*self.lhs.shape[:2], self.rhs.shape[2])), addend]
        if self.rhs.shape[2] < LEAST_LANES and self.lhs.shape[1] > self.rhs.shape[2]:
            sides.reverse()
            windows = [window.permute((0, 2, 1)) for window in windows]
        block, blocks = blocks_of(self.depth)
        steps = np.arange(block)
        rows, lanes = (MatmulSide.of(tensor, side, block) for tensor, side in sides)
        row_count, lane_count = (side.shape[1] for _, side in sides)
        arguments = MatmulArguments(
            taps=tap_table(*(FLOAT_BYTES * steps * side.strides[2] for _, side in sides)),
            output=Address(outputs[0]),
            addend=NONE if self.addend is None else Address(inputs[2]),
            tap_count=block,
            blocks=blocks,
            batch=self.lhs.shape[0],
            rows=rows,
            lanes=lanes,
            row_count=row_count,
            lane_count=lane_count,
            steps=MatmulSteps(*byte_steps(windows[0]), *byte_steps(windows[1])),
            alpha=self.alpha,
            beta=self.beta,
        )
        return [KernelCall.of("matmul_f32", arguments, microkernel=DOT)]


Side = tuple[Strided, Tensor]
"""Matrices as a window on a tensor."""


@program_op(
    "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out)",
    "aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out)",
)
def read_product(call: Call) -> None:
    _emit(call, _matrices(call, "self"), _matrices(call, "mat2"))


@program_op(
    "aten::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, "
    "Tensor(a!) out)"
)
def read_addmm(call: Call) -> None:
    factors = (call.number("alpha"), call.number("beta"))
    addend = call.tensor("self", dtype=np.float32) if factors[1] != 0 else None
    _emit(call, _matrices(call, "mat1"), _matrices(call, "mat2"), addend, factors)


@program_op("aten::linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out)")
def read_linear(call: Call) -> None:
    """A row for each index of the leading dimensions, times the transposed weight."""
    source = call.tensor("input", dtype=np.float32)
    weight = call.tensor("weight", dtype=np.float32, rank=2)
    if source.shape[-1:] != weight.shape[1:]:
        call.invalid(f"{list(source.shape)} by {list(weight.shape)}")
    rows = Strided.dense((1, prod(source.shape[:-1]), source.shape[-1]))
    columns = Strided.of(weight).permute((1, 0)).insert(0)
    features = call.arrange(source, range(source.rank))
    bias = call.optional("bias", dtype=np.float32)
    _emit(call, (rows, features), (columns, weight.tensor), bias)


def _matrices(call: Call, name: str) -> Side:
    """A tensor of two or three dimensions as a batch of matrices."""
    operand = call.tensor(name, dtype=np.float32)
    if operand.rank not in (2, 3):
        call.invalid(f"{name} has {operand.rank} dimensions")
    window = Strided.of(operand)
    return (window if operand.rank == 3 else window.insert(0)), operand.tensor


def _emit(
    call: Call,
    lhs: Side,
    rhs: Side,
    addend: Operand | None = None,
    factors: tuple[float, float] = (1.0, 1.0),
) -> None:
    output = call.output("out")
    first, second = lhs[0], rhs[0]
    if first.shape[0] != second.shape[0] or first.shape[2:] != second.shape[1:2]:
        call.invalid(f"{list(first.shape)} by {list(second.shape)}")
    shape = (*first.shape[:2], *second.shape[2:])
    if prod(shape) != output.numel or output.dtype != np.float32:
        call.invalid(f"output is {output.dtype.name}{list(output.shape)}, not {list(shape)}")
    tensors, added = [lhs[1], rhs[1]], None
    if addend is not None:
        tensors.append(addend.tensor)
        added = broadcast(call, addend, shape)
    result = call.arranged_output(output, range(output.rank))
    call.emit(Matmul(first, second, added, result.shape, *factors), tensors, [result])
