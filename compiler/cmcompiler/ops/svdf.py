"""A step of a filter over the features of the last runs: cmbuild::quantized_svdf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import NEAR_ROUNDING, Address, Array, KernelCall, Op, Packed, Scratch, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support import packing
from cmcompiler.ops.support.gates import GateProduct, Int16Array, Narrowing, PackedProduct
from cmcompiler.ops.support.recurrence import read_narrowing, read_product
from cmcompiler.ops.support.requantize import Int8Array, Int32Array, wrap32
from cmcompiler.ops.support.requantize16 import SHORT_ROUNDING
from cmcompiler.ops.support.short_gates import ShortGateProduct

FILTER = Microkernel("filter_s16", dsp=True, mve=True)

_FEATURE_STEPS = 1.1
"""Largest error of an int16 feature of an int8 input."""


@dataclass(frozen=True)
class SvdfArguments(Arguments):
    """A row of features, and the filter over those of the last runs."""

    c_name = "cm_svdf"

    input: Place
    state: Place
    final: Place
    output: Place
    features: Place
    workspace: Place
    product: PackedProduct
    time_weights: Place
    bias: Place
    outputs: Int32
    rank: Int32
    time: Int32
    rectify: Int32
    time_first: Int32
    narrowing: Narrowing


@dataclass(frozen=True, eq=False)
class Svdf(Op):
    """Appends int16 features of the input to those kept, and adds up all with int16 weights.

    As CMSIS-NN's arm_svdf_state_s16_s8, with a scale for each row of feature weights; as its
    arm_svdf_s8 with int8 features and weights. Its outputs are the new state and [1, outputs] of
    the input's type, int8 or int16.

    Attributes:
        product: the features of an input row.
        time_weights: int16, or int8 with the time last, in the order of the state, which has
            their type.
        bias: int32 [outputs]; each output has the same number of features, one after the other.
        rectify: ReLU, before the zero point is added.
        time_first: the state is [1, time, features], else [1, features, time].
    """

    label = "svdf"

    product: GateProduct
    time_weights: Int16Array | Int8Array
    bias: Int32Array
    narrowing: Narrowing
    rectify: bool
    time_first: bool

    def __post_init__(self) -> None:
        assert not (self.is_narrow and self.time_first)

    @property
    def is_narrow(self) -> bool:
        """Whether features and weights over time are int8."""
        return self.time_weights.dtype == np.int8

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        """An int16 output has the errors of its newest features and its own rounding."""
        if not self.is_int16:
            return _FEATURE_STEPS
        newest = self.time_weights[-1] if self.time_first else self.time_weights[:, -1]
        added = np.abs(newest.astype(np.int64)).reshape(len(self.bias), -1).sum(1)
        scale = self.narrowing.multiplier * 2.0 ** (self.narrowing.shift - 31)
        return max(SHORT_ROUNDING, NEAR_ROUNDING + SHORT_ROUNDING * float(added.max()) * scale)

    @property
    def is_int16(self) -> bool:
        """Inputs and outputs are int16."""
        return isinstance(self.product, ShortGateProduct)

    @property
    def _stored(self) -> np.dtype[np.signedinteger[Any]]:
        """The type of a weight over time in memory."""
        return np.dtype("i1" if self.is_narrow else "<i2")

    @property
    def features(self) -> int:
        return len(self.product.weights)

    @property
    def time(self) -> int:
        return self.time_weights.size // self.features

    @property
    def macs(self) -> int:
        return self.product.weights.size + self.time_weights.size

    @property
    def in_place(self) -> frozenset[int]:
        return frozenset({1})

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        rows, state = inputs
        limits = np.iinfo(self.time_weights.dtype)
        wide = self.product.add(np.zeros((1, self.features), np.int16), rows)
        features = np.clip(wide, limits.min, limits.max).astype(limits.dtype)
        axis = 1 if self.time_first else 2
        kept = np.delete(state, 0, axis)
        final = np.concatenate([kept, np.expand_dims(features, axis)], axis)
        products = final.astype(np.int64) * self.time_weights.reshape(final.shape)
        sums = products.sum(axis).reshape(len(self.bias), -1).sum(1) + self.bias
        wrapped = wrap32(sums)
        if self.rectify:
            wrapped = np.maximum(wrapped, 0)
        return final, self.narrowing(wrapped)[np.newaxis]

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        if isinstance(self.product, ShortGateProduct):
            filters = self.product.filters
            product = PackedProduct(Packed(filters.packed(isa)), 2 * self.product.depth, 0)
            workspace, suffix = filters.workspace(isa, rows=1), filters.suffix
        else:
            product, suffix = self.product.packed(isa), ""
            workspace = packing.gemv_workspace(self.product.depth, isa)
        arguments = SvdfArguments(
            input=Address(inputs[0]),
            state=Address(inputs[1]),
            final=Address(outputs[0]),
            output=Address(outputs[1]),
            features=Scratch(2 * self.features),
            workspace=Scratch(workspace),
            product=product,
            time_weights=Packed(np.asarray(self.time_weights, self._stored).tobytes()),
            bias=Packed(self.bias.astype("<i4").tobytes()),
            outputs=len(self.bias),
            rank=self.features // len(self.bias),
            time=self.time,
            rectify=int(self.rectify),
            time_first=int(self.time_first),
            narrowing=self.narrowing,
        )
        if self.is_narrow:
            return [KernelCall.of("svdf_s8", arguments, family="svdf")]
        return [KernelCall.of(f"svdf{suffix}", arguments, microkernel=FILTER)]


@program_op(
    "cmbuild::quantized_svdf.out(Tensor input, Tensor state, Tensor feature_weights, "
    "Tensor feature_bias, Tensor feature_rescale, Tensor time_weights, Tensor bias, "
    "int multiplier, int shift, int zero_point, bool rectify, bool time_first, *, "
    "Tensor(a!) out, Tensor(b!) final)"
)
def read(call: Call) -> None:
    is_short = call.tensor("input").dtype == np.int16
    dtype = np.int16 if is_short else np.int8
    x = call.tensor("input", dtype=dtype, rank=2)
    state = call.tensor("state", dtype=np.int16, rank=3)
    output = call.output("out", dtype=dtype)
    final = call.output("final", dtype=np.int16)
    product = read_product(call, "feature", x.shape[1], is_short=is_short)
    weights = call.constant("time_weights", dtype=np.int16, rank=2)
    bias = call.constant("bias", dtype=np.int32, rank=1)
    time_first, features = call.boolean("time_first"), len(product.weights)
    ordered = np.ascontiguousarray(weights.T if time_first else weights)
    if 0 in weights.shape or len(bias) == 0 or features % len(bias) or len(weights) != features:
        call.invalid(f"{len(bias)} outputs of {list(weights.shape)} weights, {features} features")
    if not state.shape == final.shape == (1, *ordered.shape):
        call.invalid(f"state has shape {list(state.shape)} for {list(ordered.shape)} weights")
    if x.shape[0] != 1 or output.shape != (1, len(bias)):
        call.invalid(f"{list(x.shape)} to {list(output.shape)}")
    narrowing = read_narrowing(call, is_short=is_short)
    op = Svdf(product, ordered, bias, narrowing, call.boolean("rectify"), time_first)
    results = [call.arranged_output(final, range(3)), call.arranged_output(output, range(2))]
    call.emit(op, [call.arrange(x, range(2)), call.arrange(state, range(3))], results)
