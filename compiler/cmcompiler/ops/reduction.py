"""Portable reductions over dimensions: sum, mean, prod, amax, argmax, any, all, and their kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from math import nan, prod
from typing import Annotated, Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Float32, Int32, Place
from cmcompiler.ir.movement.copy import fill_call
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.cast import cast
from cmcompiler.ops.extreme import emit_extreme
from cmcompiler.ops.support.element import FLOAT, INTEGER, check_element, code


class ReductionFunction(IntEnum):
    """`enum function` of kernels/reduction.c."""

    SUM = 0
    PRODUCT = auto()
    MAXIMUM = auto()
    MINIMUM = auto()
    ARGMAX = auto()
    ARGMIN = auto()

    @property
    def is_accumulation(self) -> bool:
        return self <= ReductionFunction.PRODUCT

    @property
    def is_place(self) -> bool:
        return self >= ReductionFunction.ARGMAX


BOOL = np.dtype(np.bool_)
TITLES = ("sum", "prod", "amax", "amin", "argmax", "argmin")


@dataclass(frozen=True)
class ReductionArguments(Arguments):
    """The loops over groups, and those over the members of a group."""

    c_name = "cm_reduction"

    input: Place
    output: Place
    group_levels: Place
    group_depth: Int32
    member_levels: Place
    member_depth: Int32
    member_count: Int32
    member_step: Int32
    function: Annotated[Int32, "enum function"]
    input_type: Annotated[Int32, "enum cm_element"]
    output_type: Int32
    divisor: Float32


@dataclass(frozen=True)
class Reduction(Op):
    """One number for each group of elements, which it meets in the order of torch's dimensions.

    Floats are added and multiplied one after the other, in float32; integers in wrapping int64. Of
    equal extremes the first counts, and NaN is more extreme than any number.

    Attributes:
        dtype, shape: of the output, physical.
        groups: loops over the input's first elements of all groups, and the output.
        members: loop over the input's elements of a group.
        divisor: of the float result; the number of members for a mean.
    """

    label = "reduction"

    function: ReductionFunction
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    groups: Loops
    members: Loops
    divisor: float = 1.0

    @property
    def title(self) -> str:
        return TITLES[self.function] if self.divisor == 1 else "mean"

    @property
    def start(self) -> int:
        """The number that sums and products begin with."""
        return 1 if self.function is ReductionFunction.PRODUCT else 0

    @property
    def empty_result(self) -> float:
        """The result of a group without members."""
        return nan if self.divisor == 0 else self.start

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        if self.members.numel == 0:
            return (np.full(self.shape, self.empty_result, self.dtype),)
        steps = (*self.groups.steps[0], *self.members.steps[0])
        window = Strided((*self.groups.counts, *self.members.counts), steps)
        compute = FLOAT if inputs[0].dtype == FLOAT else INTEGER
        rows = window.read(inputs[0]).reshape(self.groups.numel, -1).astype(compute)
        with np.errstate(all="ignore"):
            result = self._reduce(rows)
            if self.divisor != 1:
                result = result / np.float32(self.divisor)
        return (result.astype(self.dtype).reshape(self.shape),)

    def _reduce(self, rows: Array) -> Array:
        if self.function.is_accumulation:
            first = np.full((len(rows), 1), self.start, rows.dtype)
            whole = np.concatenate([first, rows], axis=1)
            accumulate = np.add if self.function is ReductionFunction.SUM else np.multiply
            last: Array = accumulate.accumulate(whole, axis=1, dtype=rows.dtype)[:, -1]
            return last
        is_maximum = self.function in (ReductionFunction.MAXIMUM, ReductionFunction.ARGMAX)
        places: Array = np.argmax(rows, axis=1) if is_maximum else np.argmin(rows, axis=1)
        chosen: Array = rows[np.arange(len(rows)), places]
        return places if self.function.is_place else chosen

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        if self.members.numel == 0:
            return fill_call(outputs[0], self.empty_result)
        sizes = (inputs[0].dtype.itemsize, outputs[0].dtype.itemsize)
        is_float = inputs[0].dtype == FLOAT
        groups = self.groups.nest(sizes)
        members = self.members.nest((sizes[0], 0), len(self.members.counts) - 1)
        arguments = ReductionArguments(
            input=Address(inputs[0]),
            output=Address(outputs[0]),
            group_levels=groups.levels,
            group_depth=groups.depth,
            member_levels=members.levels,
            member_depth=members.depth,
            member_count=self.members.counts[-1],
            member_step=self.members.inner[0],
            function=int(self.function),
            input_type=code(inputs[0]),
            output_type=code(outputs[0]),
            divisor=self.divisor,
        )
        return [KernelCall.of("reduction_f32" if is_float else "reduction_integer", arguments)]


def emit_reduction(
    call: Call,
    function: ReductionFunction,
    source: Operand,
    dims: Sequence[int],
    output: Operand,
    *,
    divisor: float = 1.0,
) -> None:
    """Emits a reduction of logical dimensions; those of the output may be kept as 1 or left out."""
    check_element(call, output.dtype)
    is_extreme = not (function.is_accumulation or function.is_place)
    is_maximum = function is ReductionFunction.MAXIMUM
    if is_extreme and emit_extreme(call, is_maximum, source, dims, output):
        return
    if source.dtype == FLOAT and output.dtype != (INTEGER if function.is_place else FLOAT):
        call.unsupported(f"{TITLES[function]} of float32 to {output.dtype.name}")
    kept = [dim for dim in range(source.rank) if dim not in dims]
    if members_of(source, dims) == 0 and not function.is_accumulation:
        call.unsupported(f"{TITLES[function]} of nothing")
    writes = Strided.of(output)
    if output.rank == source.rank:
        writes = writes.permute(kept)
    window = Strided.of(source)
    reads = window.permute(kept)
    if reads.shape != writes.shape or writes.numel != output.numel:
        call.invalid(f"{list(source.shape)} to {list(output.shape)} over {list(dims)}")
    members = window.permute(dims)
    op = Reduction(
        function,
        output.dtype,
        output.tensor.shape,
        Loops.over(reads, writes),
        Loops.over(members, Strided.dense(members.shape)),
        divisor,
    )
    call.emit(op, [source.tensor], [output.tensor])


def members_of(source: Operand, dims: Sequence[int]) -> int:
    """Elements that each result of a reduction is made of."""
    return prod(source.shape[dim] for dim in dims)


Dims = Callable[["Call", int], tuple[int, ...]]
"""The dimensions that a call reduces, in order, for an input of some rank."""


def every_dim(call: Call, rank: int) -> tuple[int, ...]:
    return tuple(range(rank))


def _one(call: Call, rank: int) -> tuple[int, ...]:
    return (call.dimension("dim", rank),) if rank else ()


def _one_or_all(call: Call, rank: int) -> tuple[int, ...]:
    return every_dim(call, rank) if call.is_none("dim") else _one(call, rank)


def some_or_every_dim(call: Call, rank: int) -> tuple[int, ...]:
    given = () if call.is_none("dim") or not rank else call.dimensions("dim", rank)
    return tuple(sorted(given)) or every_dim(call, rank)


def _accumulation(
    function: ReductionFunction, dims: Dims, divide: bool = False
) -> Callable[[Call], None]:
    def read(call: Call) -> None:
        source, output = call.tensor("self"), call.output("out")
        if divide and output.dtype != FLOAT:
            call.unsupported(f"a mean of {source.dtype.name} to {output.dtype.name}")
        if FLOAT in (source.dtype, output.dtype):
            source = cast(call, source, output.dtype)
        check_element(call, source.dtype)
        chosen = dims(call, source.rank)
        divisor = float(members_of(source, chosen)) if divide else 1.0
        emit_reduction(call, function, source, chosen, output, divisor=divisor)

    return read


def _extreme(function: ReductionFunction, dims: Dims) -> Callable[[Call], None]:
    def read(call: Call) -> None:
        source, output = call.tensor("self"), call.output("out")
        check_element(call, source.dtype)
        if output.dtype != (np.int64 if function.is_place else source.dtype):
            call.unsupported(f"{source.dtype.name} to {output.dtype.name}")
        emit_reduction(call, function, source, dims(call, source.rank), output)

    return read


def _truth(function: ReductionFunction, dims: Dims) -> Callable[[Call], None]:
    """Reads any and all: an extreme of truth values."""

    def read(call: Call) -> None:
        source, output = cast(call, call.tensor("self"), BOOL), call.output("out")
        if output.dtype != BOOL:
            call.unsupported(f"truth values as {output.dtype.name}")
        emit_reduction(call, function, source, dims(call, source.rank), output)

    return read


def _register(declaration: str, read: Callable[[Call], None]) -> None:
    program_op(f"aten::{declaration}, Tensor(a!) out)")(read)


_DTYPE = "*, ScalarType? dtype=None"
_register(
    f"sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, {_DTYPE}",
    _accumulation(ReductionFunction.SUM, some_or_every_dim),
)
_register(
    f"mean.out(Tensor self, int[1]? dim, bool keepdim=False, {_DTYPE}",
    _accumulation(ReductionFunction.SUM, some_or_every_dim, divide=True),
)
_register(
    f"mean.dtype_out(Tensor self, {_DTYPE}",
    _accumulation(ReductionFunction.SUM, every_dim, divide=True),
)
_register(
    f"prod.int_out(Tensor self, int dim, bool keepdim=False, {_DTYPE}",
    _accumulation(ReductionFunction.PRODUCT, _one),
)
_register(f"prod.out(Tensor self, {_DTYPE}", _accumulation(ReductionFunction.PRODUCT, every_dim))
for _function, _name in ((ReductionFunction.MAXIMUM, "max"), (ReductionFunction.MINIMUM, "min")):
    _register(
        f"a{_name}.out(Tensor self, int[1] dim=[], bool keepdim=False, *",
        _extreme(_function, some_or_every_dim),
    )
    _register(f"{_name}.unary_out(Tensor self, *", _extreme(_function, every_dim))
    _register(
        f"arg{_name}.out(Tensor self, int? dim=None, bool keepdim=False, *",
        _extreme(ReductionFunction(_function + 2), _one_or_all),
    )
for _function, _name in ((ReductionFunction.MAXIMUM, "any"), (ReductionFunction.MINIMUM, "all")):
    _register(f"{_name}.out(Tensor self, int dim, bool keepdim=False, *", _truth(_function, _one))
    _register(
        f"{_name}.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *",
        _truth(_function, some_or_every_dim),
    )
    _register(f"{_name}.all_out(Tensor self, *", _truth(_function, every_dim))


@program_op(
    "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, "
    "Tensor(b!) max_values)",
    "aten::min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, "
    "Tensor(b!) min_indices)",
)
def read_extreme_and_place(call: Call) -> None:
    """Two reductions, of which one may turn out not to be needed."""
    function, name, place = ReductionFunction.MAXIMUM, "max", "max_values"
    if call.operator == "aten::min.dim_min":
        function, name, place = ReductionFunction.MINIMUM, "min", "min_indices"
    source, output, places = call.tensor("self"), call.output(name), call.output(place)
    check_element(call, source.dtype)
    if output.dtype != source.dtype or places.dtype != np.int64:
        call.unsupported(f"{source.dtype.name} to {output.dtype.name}, {places.dtype.name}")
    dims = _one(call, source.rank)
    emit_reduction(call, function, source, dims, output)
    emit_reduction(call, ReductionFunction(function + 2), source, dims, places)
