"""Portable functions of one number that every element type has: clamp, relu, abs, round, not, …"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Array
from cmcompiler.ops.activation import tabulate
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.minimum import Maximum, Minimum, emit_extreme
from cmcompiler.ops.support.element import FLOAT, Scalar, converted
from cmcompiler.ops.support.movement import move
from cmcompiler.ops.unary import emit_unary


@program_op("aten::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out)")
def read_clamp(call: Call) -> None:
    low = None if call.is_none("min") else call.scalar("min")
    high = None if call.is_none("max") else call.scalar("max")
    _clamp(call, low, high)


@program_op(
    "aten::hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out)"
)
def read_hardtanh(call: Call) -> None:
    _clamp(call, call.scalar("min_val"), call.scalar("max_val"))


@program_op("aten::relu.out(Tensor self, *, Tensor(a!) out)")
def read_relu(call: Call) -> None:
    _clamp(call, 0, None)


def _clamp(call: Call, low: Scalar | None, high: Scalar | None) -> None:
    """The upper bound wins where they cross."""
    source, output = call.tensor("self"), call.output("out")
    if FLOAT in (source.dtype, output.dtype):
        bounds = (-inf if low is None else float(low), inf if high is None else float(high))
        # The kernel looks at the lower bound first.
        emit_unary(call, "clamp", source, output, (min(bounds), bounds[1]))
        return
    limits = np.iinfo(np.int64)
    lowest, highest = limits.min if low is None else low, limits.max if high is None else high
    if output.dtype.itemsize == source.dtype.itemsize == 1:

        def of_bytes(x: Array) -> Array:
            bounded = np.minimum(np.maximum(x.astype(np.int64), lowest), highest)
            return converted(bounded, output.dtype)

        tabulate(call, "clamp", source, output, of_bytes)
        return
    raised = call.intermediate(output.dtype, source.shape, source.dim_order)
    emit_binary(call, BinaryFunction.MAXIMUM, source, lowest, raised)
    emit_binary(call, BinaryFunction.MINIMUM, raised, highest, output)


@program_op(
    "aten::clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out)"
)
def read_clamp_tensors(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    low, high = call.optional("min"), call.optional("max")
    if low is not None and high is not None:
        raised = call.intermediate(output.dtype, output.shape, output.dim_order)
        emit_extreme(call, Maximum, source, low, raised)
        emit_extreme(call, Minimum, raised, high, output)
    elif low is not None:
        emit_extreme(call, Maximum, source, low, output)
    elif high is not None:
        emit_extreme(call, Minimum, source, high, output)
    else:
        call.invalid("neither min nor max given")


@program_op("aten::leaky_relu.out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out)")
def read_leaky_relu(call: Call) -> None:
    slope = call.number("negative_slope")
    emit_unary(call, "leaky_relu", call.tensor("self"), call.output("out"), (slope, 0.0))


@program_op(
    "aten::elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, "
    "Tensor(a!) out)"
)
def read_elu(call: Call) -> None:
    if call.number("input_scale") != 1:
        call.unsupported(f"input_scale {call.number('input_scale')}")
    positive = call.number("scale")
    factors = (call.number("alpha") * positive, positive)
    emit_unary(call, "elu", call.tensor("self"), call.output("out"), factors)


@program_op('aten::gelu.out(Tensor self, *, str approximate="none", Tensor(a!) out)')
def read_gelu(call: Call) -> None:
    name = {"none": "gelu", "tanh": "gelu_tanh"}.get(call.string("approximate"))
    if name is None:
        call.invalid(f"approximate {call.string('approximate')}")
    emit_unary(call, name, call.tensor("self"), call.output("out"))


@program_op("aten::neg.out(Tensor self, *, Tensor(a!) out)")
def read_neg(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    if source.dtype == FLOAT:
        emit_unary(call, "neg", source, output)
    else:
        emit_binary(call, BinaryFunction.SUB, 0, source, output)


@program_op("aten::abs.out(Tensor self, *, Tensor(a!) out)")
def read_abs(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    if source.dtype == FLOAT:
        emit_unary(call, "abs", source, output)
        return
    if source.dtype.kind in "ub":
        # The negative of an unsigned number wraps, and may be larger.
        move(call, "abs", output, [(source, Strided.of(source), Strided.of(output))])
        return
    negative = call.intermediate(source.dtype, source.shape, source.dim_order)
    emit_binary(call, BinaryFunction.SUB, 0, source, negative)
    emit_binary(call, BinaryFunction.MAXIMUM, source, negative, output)


@program_op("aten::sign.out(Tensor self, *, Tensor(a!) out)")
def read_sign(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    if source.dtype == FLOAT:
        emit_unary(call, "sign", source, output)
        return
    raised = call.intermediate(source.dtype, source.shape, source.dim_order)
    emit_binary(call, BinaryFunction.MAXIMUM, source, -1, raised)
    emit_binary(call, BinaryFunction.MINIMUM, raised, 1, output)


def _rounding(name: str) -> Callable[[Call], None]:
    def read(call: Call) -> None:
        source, output = call.tensor("self"), call.output("out")
        if source.dtype == FLOAT:
            emit_unary(call, name, source, output)
        else:
            move(call, name, output, [(source, Strided.of(source), Strided.of(output))])

    return read


for _name in ("floor", "ceil", "trunc", "round"):
    program_op(f"aten::{_name}.out(Tensor self, *, Tensor(a!) out)")(_rounding(_name))


@program_op("aten::bitwise_not.out(Tensor self, *, Tensor(a!) out)")
def read_bitwise_not(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    if source.dtype == np.bool_:
        emit_binary(call, BinaryFunction.EQ, source, 0, output)
    else:
        emit_binary(call, BinaryFunction.XOR, source, -1, output)


@program_op("aten::logical_not.out(Tensor self, *, Tensor(a!) out)")
def read_logical_not(call: Call) -> None:
    emit_binary(call, BinaryFunction.EQ, call.tensor("self"), 0, call.output("out"))


@program_op("aten::isnan.out(Tensor self, *, Tensor(a!) out)")
def read_isnan(call: Call) -> None:
    source = call.tensor("self")
    emit_binary(call, BinaryFunction.NE, source, source, call.output("out"))


@program_op("aten::isinf.out(Tensor self, *, Tensor(a!) out)")
def read_isinf(call: Call) -> None:
    source = call.tensor("self")
    magnitude = call.intermediate(FLOAT, source.shape, source.dim_order)
    emit_unary(call, "abs", source, magnitude)
    emit_binary(call, BinaryFunction.EQ, magnitude, inf, call.output("out"))


@program_op("aten::glu.out(Tensor self, int dim=-1, *, Tensor(a!) out)")
def read_glu(call: Call) -> None:
    """The first half of a dimension, times the sigmoid of the second."""
    source, output = call.tensor("self", dtype=np.float32), call.output("out")
    dim = call.dimension("dim", source.rank)
    half, rest = divmod(source.shape[dim], 2)
    if rest:
        call.invalid(f"{source.shape[dim]} cannot be halved")
    sides = []
    for start in (0, half):
        side = call.intermediate(FLOAT, output.shape, output.dim_order)
        reads = Strided.of(source).slice(dim, start, half)
        move(call, "slice", side, [(source, reads, Strided.of(side))])
        sides.append(side)
    gate = call.intermediate(FLOAT, output.shape, output.dim_order)
    emit_unary(call, "sigmoid", sides[1], gate)
    emit_binary(call, BinaryFunction.MUL, sides[0], gate, output)


@program_op("aten::logit.out(Tensor self, float? eps=None, *, Tensor(a!) out)")
def read_logit(call: Call) -> None:
    """log(x / (1 - x)), of x kept `eps` away from 0 and 1."""
    source, output = call.tensor("self"), call.output("out")
    x, odds = (call.intermediate(FLOAT, output.shape, output.dim_order) for _ in range(2))
    rest = call.intermediate(FLOAT, output.shape, output.dim_order)
    margin = -inf if call.is_none("eps") else call.number("eps")
    emit_unary(call, "clamp", source, x, (margin, 1 - margin))
    emit_binary(call, BinaryFunction.SUB, 1.0, x, rest)
    emit_binary(call, BinaryFunction.DIV, x, rest, odds)
    emit_unary(call, "log", odds, output)
