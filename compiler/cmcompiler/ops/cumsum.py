"""Running sums and products along a dimension: aten::cumsum, cumprod."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Array, KernelCall, Op, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.cast import cast
from cmcompiler.ops.support.element import FLOAT, INTEGER, code
from cmcompiler.ops.support.running import RunningRows


@dataclass(frozen=True)
class CumsumArguments(Arguments):
    """Running sums or products along rows."""

    c_name = "cm_cumsum"

    running: Annotated[RunningRows, INLINE]
    type: Annotated[Int32, "of the input, enum cm_element"]
    product: Annotated[Int32, "instead of the sum"]


@dataclass(frozen=True)
class Cumsum(Op):
    """Sums or products of float32, or of integers in int64, from the first element up to each.

    Attributes:
        source, output: windows on all of the tensors, the dimension of the sums last.
        is_product: of the elements instead of their sum.
        shape: of the output, physical.
    """

    label = "cumsum"

    source: Strided
    output: Strided
    is_product: bool
    shape: tuple[int, ...]

    @property
    def title(self) -> str:
        return "cumprod" if self.is_product else "cumsum"

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        dtype = FLOAT if inputs[0].dtype == FLOAT else INTEGER
        join = np.multiply if self.is_product else np.add
        with np.errstate(all="ignore"):
            sums = join.accumulate(self.source.read(inputs[0]), axis=-1, dtype=dtype)
        return (self.output.write(sums, self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        rows = RunningRows.of(inputs[0], self.source, outputs[0], self.output)
        arguments = CumsumArguments(rows, code(inputs[0]), int(self.is_product))
        return [KernelCall.of("cumsum", arguments)]


@program_op(
    "aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out)",
    "aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out)",
)
def read(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    if FLOAT in (source.dtype, output.dtype):
        source = cast(call, source, output.dtype)
    if output.dtype not in (FLOAT, INTEGER) or source.shape != output.shape:
        call.unsupported(f"{source.dtype.name}{list(source.shape)} to {output.dtype.name}")
    dim = call.dimension("dim", max(source.rank, 1))
    reads, writes = map(Strided.of, (source, output))
    if source.shape:
        order = [*(axis for axis in range(source.rank) if axis != dim), dim]
        reads, writes = reads.permute(order), writes.permute(order)
    else:
        reads, writes = reads.insert(0), writes.insert(0)
    is_product = call.operator == "aten::cumprod.out"
    op = Cumsum(reads, writes, is_product, output.tensor.shape)
    call.emit(op, [source.tensor], [output.tensor])
