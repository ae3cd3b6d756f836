"""Floats brought to mean 0 and variance 1: layer, group and batch norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import prod
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Float32, Int32, Place
from cmcompiler.ir.op import Address, KernelCall, Op, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.matmul import NONE
from cmcompiler.ops.support.element import FLOAT
from cmcompiler.ops.support.functions import Floats
from cmcompiler.ops.unary import emit_unary

MOMENTS = Microkernel("moments_f32", mve=True)
NORMALIZE = Microkernel("normalize_f32", mve=True)


class NormalizationResult(IntEnum):
    """`enum result` of kernels/normalization.c."""

    NORMALIZED = 0
    MEAN = 1
    INVERSE_DEVIATION = 2


@dataclass(frozen=True)
class NormalizationArguments(Arguments):
    """Groups of floats; their parameters repeat after a cycle."""

    c_name = "cm_normalization_f32"

    input: Place
    weight: Place
    bias: Place
    output: Place
    groups: Int32
    cycle: Int32
    channels: Int32
    run: Int32
    eps: Float32
    result: Annotated[Int32, "enum result"]


@dataclass(frozen=True)
class Normalization(Op):
    """(x - mean) · (1 / √(variance + eps)) · weight + bias of the elements of each group.

    Sums go from the first element of a group to the last: first those of the elements, for the
    mean, then those of their squared distances from it.

    Attributes:
        shape: of the output.
        channels: of a group, each with its own weight and bias.
        run: elements of a channel, next to each other.
        cycle: groups after which weights start again.
        has_weight, has_bias: the node's further inputs, in this order.
        result: the numbers themselves, or one for each group.
    """

    label = "norm"
    element = np.dtype(np.float32)

    shape: tuple[int, ...]
    channels: int
    run: int
    cycle: int
    eps: float
    has_weight: bool = False
    has_bias: bool = False
    result: NormalizationResult = NormalizationResult.NORMALIZED

    @property
    def in_place(self) -> frozenset[int]:
        return frozenset({0}) if self.result is NormalizationResult.NORMALIZED else frozenset()

    def reference(self, *inputs: Floats) -> tuple[Floats, ...]:
        groups = inputs[0].reshape(-1, self.cycle, self.channels, self.run)
        rows = groups.reshape(-1, self.channels * self.run)
        parameters = list(inputs[1:])
        with np.errstate(all="ignore"):
            mean = _mean(rows)
            distance = rows - mean
            deviation = np.sqrt(_mean(distance * distance) + np.float32(self.eps))
            inverse = np.float32(1) / deviation
            result = (distance * inverse).reshape(groups.shape)
            if self.has_weight:
                result = result * parameters.pop(0).reshape(self.cycle, self.channels, 1)
            if self.has_bias:
                result = result + parameters.pop(0).reshape(self.cycle, self.channels, 1)
        chosen = (result, mean, inverse)[self.result]
        return (chosen.reshape(self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        parameters = list(inputs[1:])
        arguments = NormalizationArguments(
            input=Address(inputs[0]),
            weight=Address(parameters.pop(0)) if self.has_weight else NONE,
            bias=Address(parameters.pop(0)) if self.has_bias else NONE,
            output=Address(outputs[0]),
            groups=inputs[0].numel // (self.channels * self.run),
            cycle=self.cycle,
            channels=self.channels,
            run=self.run,
            eps=self.eps,
            result=int(self.result),
        )
        microkernel = NORMALIZE if self.result is NormalizationResult.NORMALIZED else MOMENTS
        return [KernelCall.of("normalization_f32", arguments, microkernel=microkernel)]


def _mean(rows: Floats) -> Floats:
    """One number for each row. A sum starts at 0, which makes +0 of nothing but -0."""
    count = np.float32(rows.shape[1])
    mean: Floats = (np.add.accumulate(rows, axis=1)[:, -1:] + np.float32(0)) / count
    return mean


@program_op(
    "aten::native_layer_norm.out(Tensor input, int[] normalized_shape, Tensor? weight, "
    "Tensor? bias, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2)"
)
def read_layer_norm(call: Call) -> None:
    source = call.tensor("input", dtype=np.float32)
    shape = call.integers("normalized_shape", None, 1)
    if not shape or source.shape[-len(shape) :] != shape:
        call.invalid(f"normalized_shape {list(shape)} of {list(source.shape)}")
    op = Normalization((), prod(shape), run=1, cycle=1, eps=call.number("eps"))
    _emit(call, source, op, range(source.rank))


@program_op(
    "aten::native_group_norm.out(Tensor input, Tensor? weight, Tensor? bias, int N, int C, "
    "int HxW, int group, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2)"
)
def read_group_norm(call: Call) -> None:
    source = call.tensor("input", dtype=np.float32)
    groups = call.integer("group", 1)
    sizes = tuple(call.integer(name, 1) for name in ("N", "C", "HxW"))
    if source.rank < 2 or sizes != (*source.shape[:2], prod(source.shape[2:])) or sizes[1] % groups:
        call.invalid(f"{groups} groups of {list(source.shape)}")
    op = Normalization((), sizes[1] // groups, sizes[2], groups, call.number("eps"))
    _emit(call, source, op, range(source.rank))


def _emit(
    call: Call,
    source: Operand,
    op: Normalization,
    order: Sequence[int],
    results: Sequence[str] = ("out0", "out1", "out2"),
) -> None:
    """Emits the numbers, and the two statistics of the groups, which are seldom needed.

    Args:
        op: without its shape, parameters and result.
        order: of the source's dimensions in memory, so that groups lie together.
    """
    inputs = [call.arrange(source, order)]
    given = {name: call.optional(name, dtype=np.float32) for name in ("weight", "bias")}
    for name, operand in given.items():
        if operand is not None:
            if operand.numel != op.cycle * op.channels:
                call.invalid(f"{name} is {list(operand.shape)}")
            inputs.append(call.arrange(operand, range(operand.rank)))
    for result, name in zip(NormalizationResult, results, strict=True):
        output, is_whole = call.output(name), result is NormalizationResult.NORMALIZED
        if is_whole and output.rank != source.rank:
            call.invalid(f"{name} is {list(output.shape)}")
        tensor = call.arranged_output(output, order if is_whole else range(output.rank))
        count = source.numel if is_whole else source.numel // (op.channels * op.run)
        if output.dtype != np.float32 or output.numel != count:
            call.invalid(f"{name} is {output.dtype.name}{list(output.shape)}")
        emitted = replace(
            op,
            shape=tensor.shape,
            has_weight=is_whole and given["weight"] is not None,
            has_bias=is_whole and given["bias"] is not None,
            result=result,
        )
        call.emit(emitted, inputs if is_whole else inputs[:1], [tensor])


@program_op(
    "aten::_native_batch_norm_legit.no_stats_out(Tensor input, Tensor? weight, Tensor? bias, "
    "bool training, float momentum, float eps, *, Tensor(a!) out, Tensor(b!) save_mean, "
    "Tensor(c!) save_invstd)"
)
def read_instance_norm(call: Call) -> None:
    """Each channel over the whole batch; instance norm comes as a batch of one."""
    source = call.tensor("input", dtype=np.float32)
    if source.rank < 2 or source.numel == 0:
        call.unsupported(f"an input of shape {list(source.shape)}")
    order = (1, 0, *range(2, source.rank))
    channels = source.shape[1]
    run = prod(source.shape) // channels
    op = Normalization((), 1, run, channels, call.number("eps"))
    _emit(call, source, op, order, ("out", "save_mean", "save_invstd"))


@program_op(
    "aten::_native_batch_norm_legit_no_training.out(Tensor input, Tensor? weight, Tensor? bias, "
    "Tensor running_mean, Tensor running_var, float momentum, float eps, *, Tensor(a!) out0, "
    "Tensor(b!) out1, Tensor(c!) out2)"
)
def read_batch_norm(call: Call) -> None:
    """(x - mean) · (1 / √(variance + eps)) · weight + bias, with numbers for each channel."""
    source, output = call.tensor("input", dtype=np.float32), call.output("out0")
    if source.rank < 2 or source.shape != output.shape or output.dtype != np.float32:
        call.invalid(f"{list(source.shape)} to {output.dtype.name}{list(output.shape)}")

    def of_channels(name: str) -> Operand | None:
        operand = call.optional(name, dtype=np.float32)
        if operand is None:
            return None
        if operand.shape != source.shape[1:2]:
            call.invalid(f"{name} is {list(operand.shape)}")
        return call.reshape(operand, (*operand.shape, *(1 for _ in source.shape[2:])))

    mean, variance = of_channels("running_mean"), of_channels("running_var")
    if mean is None or variance is None:
        call.invalid("no mean or no variance")
    shifted = call.intermediate(FLOAT, variance.shape, range(variance.rank))
    inverse = call.intermediate(FLOAT, variance.shape, range(variance.rank))
    emit_binary(call, BinaryFunction.ADD, variance, call.number("eps"), shifted)
    emit_unary(call, "rsqrt", shifted, inverse)
    steps = [(BinaryFunction.SUB, mean), (BinaryFunction.MUL, inverse)]
    steps += [(BinaryFunction.MUL, x) for x in (of_channels("weight"),) if x is not None]
    steps += [(BinaryFunction.ADD, x) for x in (of_channels("bias"),) if x is not None]
    result = source
    for number, (function, operand) in enumerate(steps, start=1):
        is_last = number == len(steps)
        target = output if is_last else call.intermediate(FLOAT, output.shape, output.dim_order)
        emit_binary(call, function, result, operand, target)
        result = target
