"""Quantised fully connected layer: cortex_m::quantized_linear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Annotated, ClassVar

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.channels import ChannelRule
from cmcompiler.ir.layout import INLINE, Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, Scratch, Tensors
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments, Work, filled, plain
from cmcompiler.isa import Isa
from cmcompiler.ops.support import long_rows, packing
from cmcompiler.ops.support.arguments import OutputValues
from cmcompiler.ops.support.convolution import check_depth, check_output, read_bias, read_requantize
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.packing16 import Bias, Filters16
from cmcompiler.ops.support.product_channels import ProductRule, WeightedSums
from cmcompiler.ops.support.requantize import (
    FARTHEST_ZERO_POINT,
    Int8Array,
    Int32Array,
    Requantize,
    wrap32,
)
from cmcompiler.ops.support.requantize16 import RequantizedOp


@dataclass(frozen=True)
class LinearArguments(Arguments):
    """Rows of features that are multiplied as convolutions multiply their patches."""

    c_name = "cm_linear"
    family: ClassVar[str] = "conv2d"
    """The name of the kernels whose work costs the same."""

    input: Place
    output: Place
    weights: Place
    workspace: Place
    rows: Int32
    depth: Int32
    columns: Int32
    values: Annotated[OutputValues, INLINE]

    @property
    def depth_of_products(self) -> int:
        return self.depth

    def division(self, rows: int, units: int = 1) -> Work:
        return Work(portions=1, columns=self.columns)

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        work = super().whole(macs, outputs, calls, lanes)
        operands = self.rows * filled(self.depth, lanes)
        return work._replace(operands=operands, columns=calls * self.columns)


@dataclass(frozen=True)
class LinearArguments16(LinearArguments):
    """Rows of int16 features; depth and columns are bytes."""

    family = "linear_s16"

    def division(self, rows: int, units: int = 1) -> Work:
        return Work(portions=1, columns=self.columns // 2)

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        work = super().whole(macs, outputs, calls, lanes)
        operands = self.rows * filled(self.depth // 2, lanes)
        return work._replace(operands=operands, columns=calls * self.columns // 2)


@dataclass(frozen=True)
class VectorArguments(LinearArguments):
    """A single row of features."""

    family = "linear_vector"

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        return plain(macs, outputs, calls, lanes)


@dataclass(frozen=True, eq=False)
class Linear(RequantizedOp):
    """Rows of features times constant int8 weights; features and outputs are int8 or int16.

    Attributes:
        weights: int8 [outputs, features].
        bias: [outputs], to be added to the sum of weight * raw input: the input's zero point is
            folded in.
        rows: product of all dimensions of the input but the last.
        wide: weights are of int16 on cores with the DSP extension.
        by_rows: a single row is multiplied as several are.
    """

    label = "linear"
    weights: Int8Array
    bias: Bias
    requantize: Requantize
    rows: int
    wide: bool = False
    by_rows: bool = False

    @property
    def as_several_rows(self) -> Linear:
        has_choice = self.rows == 1 and not self.is_int16 and not self._filters.holds_nibbles
        return replace(self, by_rows=True) if has_choice else self

    def _is_vector(self, isa: Isa) -> bool:
        """Whether the kernel is that of a single row."""
        is_alone = self.rows == 1 and not self.by_rows
        columns, depth = self.weights.shape
        return is_alone and not long_rows.suits_several_rows(columns, depth, isa)

    def product_of_rows(self, isa: Isa) -> str | None:
        if self.is_int16 or self._is_vector(isa) or self._filters.holds_nibbles:
            return None
        return packing.product(self._filters, isa)

    @property
    def widened(self) -> Linear:
        return replace(self, wide=True)

    @property
    def macs(self) -> int:
        return self.rows * self.weights.size

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        return ProductRule(
            WeightedSums(self.weights, self.bias, self.requantize, 0, False, self._of_columns)
        )

    def _of_columns(self, weights: Int8Array, bias: Int32Array, requantize: Requantize) -> Linear:
        return replace(self, weights=weights, bias=bias, requantize=requantize)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        features = inputs[0].reshape(self.rows, -1).astype(np.float64)
        # Exact: sums of products of int8 numbers are far below 2^53.
        sums = (features @ self.weights.T.astype(np.float64)).astype(np.int64) + self.bias
        return (self.requantize(sums).reshape(*inputs[0].shape[:-1], -1),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        columns, depth = self.weights.shape
        if self.is_int16:
            return [self._short_call(inputs[0], outputs[0], isa)]
        filters = self._filters
        form: type[LinearArguments] = LinearArguments
        kernel, (suffix, microkernel) = "linear", packing.gemm(filters, isa, self.wide, depth)
        pack: Callable[[Filters, Isa, bool], bytes] = packing.gemm_weights
        workspace = packing.gemm_workspace(filters, isa, self.rows)
        if self._is_vector(isa):
            form = VectorArguments
            kernel, (suffix, microkernel) = "linear_vector", packing.gemv(filters, isa, self.wide)
            pack, workspace = packing.gemv_weights, packing.gemv_workspace(depth, isa)
            if filters.holds_nibbles:
                workspace = packing.narrow_workspace(filters, isa)
            elif long_rows.takes_portions(columns, depth, isa) and not packing.is_wide(
                isa, self.wide
            ):
                kernel, microkernel = "linear_vector_long", long_rows.LONG_GEMV
                workspace = long_rows.workspace(columns)
        family = kernel if filters.is_narrow else form.family
        arguments = form(
            Address(inputs[0]),
            Address(outputs[0]),
            weights=Packed(pack(filters, isa, self.wide)),
            workspace=Scratch(workspace),
            rows=self.rows,
            depth=depth,
            columns=columns,
            values=OutputValues(**dict(filters.product_arguments(isa))),
        )
        return [
            KernelCall(
                kernel + suffix,
                arguments.words(),
                microkernel=microkernel,
                form=form,
                family=family + packing.family_suffix(filters, isa, self.wide),
            )
        ]

    def _short_call(self, features: Tensor, output: Tensor, isa: Isa) -> KernelCall:
        """The kernel call for int16 features. Depth and columns of its arguments are bytes."""
        filters = Filters16.of(self.weights, self.bias, self.requantize).narrowed
        columns, depth = self.weights.shape
        arguments = LinearArguments16(
            Address(features),
            Address(output),
            weights=Packed(filters.packed(isa)),
            workspace=Scratch(filters.workspace(isa, self.rows)),
            rows=self.rows,
            depth=depth * features.dtype.itemsize,
            columns=columns * output.dtype.itemsize,
            values=OutputValues(0, 0, 0, 0),
        )
        return KernelCall.of(
            "linear" + filters.suffix,
            arguments,
            microkernel=filters.microkernel,
            family=arguments.family + filters.family,
        )

    @property
    def _filters(self) -> Filters:
        filters = Filters.of(self.weights, self.bias, self.requantize)
        return filters if self.wide else filters.narrowed


@program_op(
    "cortex_m::quantized_linear.out(Tensor input, Tensor weights, Tensor? bias, "
    "Tensor? kernel_sum, int input_offset, int filter_offset, int output_offset, "
    "int[] requantize_multipliers, int[] requantize_shifts, int activation_max, "
    "int activation_min, *, Tensor(a!) out) -> Tensor(a!)"
)
def read(call: Call) -> None:
    weights = _centred(call, call.constant("weights", dtype=np.int8, rank=2))
    scales = call.integers("requantize_multipliers"), call.integers("requantize_shifts")
    _emit(call, weights, _bias(call, weights), *scales)


@program_op(
    "cmbuild::channel_linear_s8.out(Tensor input, Tensor weights, Tensor? bias, "
    "int input_offset, int output_offset, Tensor requantize_multipliers, "
    "Tensor requantize_shifts, int activation_max, int activation_min, *, Tensor(a!) out) "
    "-> Tensor(a!)"
)
def read_by_channel(call: Call) -> None:
    """With a scale for each output channel."""
    weights = call.constant("weights", dtype=np.int8, rank=2)
    multipliers, shifts = (
        call.constant(f"requantize_{name}", dtype=np.int32).ravel().tolist()
        for name in ("multipliers", "shifts")
    )
    _emit(call, weights, _folded_bias(call, weights), multipliers, shifts)


def _emit(
    call: Call,
    weights: Int8Array,
    bias: Int32Array,
    multipliers: Sequence[int],
    shifts: Sequence[int],
) -> None:
    """Appends the layer.

    Args:
        bias: for raw inputs.
    """
    operand, result = call.tensor("input", dtype=np.int8), call.output("out")
    features = call.arrange(operand, range(operand.rank))
    output = call.arranged_output(result, range(result.rank))
    columns, depth = weights.shape
    if features.shape[-1:] != (depth,):
        call.invalid(f"weights have shape {list(weights.shape)} for {features.shape}")
    check_depth(call, depth)
    check_output(call, output, (*features.shape[:-1], columns))
    requantize = read_requantize(call, multipliers, shifts, columns)
    op = Linear(weights, bias, requantize, prod(features.shape[:-1]))
    call.emit(op, [features], [output])


def _centred(call: Call, weights: Int8Array) -> Int8Array:
    """Weights less their zero point, where that still fits int8."""
    centred = weights.astype(np.int64) + call.integer("filter_offset", -127, 128)
    if centred.size and not -128 <= centred.min() <= centred.max() <= 127:
        call.unsupported("weights less their zero point do not fit int8")
    return centred.astype(np.int8)


def _bias(call: Call, weights: Int8Array) -> Int32Array:
    """The bias of sums over raw inputs: the program's kernel sum, or made as that is."""
    kernel_sum = call.optional_constant("kernel_sum", dtype=np.int32)
    if kernel_sum is None:
        return _folded_bias(call, weights)
    if kernel_sum.size != len(weights):
        call.invalid(f"kernel_sum has shape {list(kernel_sum.shape)}")
    return kernel_sum.reshape(len(weights))


def _folded_bias(call: Call, weights: Int8Array) -> Int32Array:
    """The program's bias, for raw inputs."""
    offset = call.integer("input_offset", -FARTHEST_ZERO_POINT, FARTHEST_ZERO_POINT)
    sums = weights.astype(np.int64).sum(axis=1)
    return wrap32(read_bias(call, len(weights)).astype(np.int64) + offset * sums)
