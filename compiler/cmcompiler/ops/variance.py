"""Variances over dimensions, with or without the means: aten::var, aten::var_mean."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.reduction import (
    ReductionFunction,
    emit_reduction,
    members_of,
    some_or_every_dim,
)
from cmcompiler.ops.support.element import FLOAT


@program_op(
    "aten::var.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False, Tensor(a!) out)"
)
def read_var(call: Call) -> None:
    _emit(call, _correction(call), "out")


@program_op(
    "aten::var.out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, "
    "Tensor(a!) out)"
)
def read_unbiased(call: Call) -> None:
    _emit(call, 1.0 if call.boolean("unbiased") else 0.0, "out")


@program_op(
    "aten::var_mean.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False, Tensor(a!) out0, Tensor(b!) out1)"
)
def read_var_mean(call: Call) -> None:
    _emit(call, _correction(call), "out0")
    source = call.tensor("self", dtype=np.float32)
    dims = some_or_every_dim(call, source.rank)
    count = float(members_of(source, dims))
    emit_reduction(call, ReductionFunction.SUM, source, dims, call.output("out1"), divisor=count)


def _correction(call: Call) -> float:
    return 1.0 if call.is_none("correction") else call.number("correction")


def _emit(call: Call, correction: float, name: str) -> None:
    """The sum of the squared distances from the mean, over their number less the correction."""
    source, output = call.tensor("self", dtype=np.float32), call.output(name)
    dims = some_or_every_dim(call, source.rank)
    count = float(members_of(source, dims))
    shape = [1 if dim in dims else size for dim, size in enumerate(source.shape)]
    mean = call.intermediate(FLOAT, shape, source.dim_order)
    distance, square = (call.intermediate(FLOAT, source.shape, source.dim_order) for _ in range(2))
    emit_reduction(call, ReductionFunction.SUM, source, dims, mean, divisor=count)
    emit_binary(call, BinaryFunction.SUB, source, mean, distance)
    emit_binary(call, BinaryFunction.MUL, distance, distance, square)
    rest = max(0.0, count - correction)
    emit_reduction(call, ReductionFunction.SUM, square, dims, output, divisor=rest)
