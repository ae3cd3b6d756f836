"""Quantised images resized by bilinear interpolation: cmbuild::quantized_upsample_bilinear2d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Place
from cmcompiler.ir.op import Array, KernelCall, Op, Packed, RowCall, Scratch, Tensors
from cmcompiler.ir.rows import turned_shape
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.arguments import ImageRows
from cmcompiler.ops.support.parameters import read_same_type
from cmcompiler.ops.support.requantize16 import SHORT_ROUNDING
from cmcompiler.ops.upsample import Blend, read_blends

BILINEAR_ROW = Microkernel("bilinear_row_s8", mve=True)

FRACTION = 7
"""Fractional bits of blended rows, in 16 bits."""

WEIGHT = 15
"""Fractional bits of weights."""

LARGEST_WEIGHT = (1 << WEIGHT) - 1

EXACT_WEIGHT = 10
"""Fractional bits of weights in TensorFlow Lite, where only the result is rounded."""

FINE_WEIGHT = 16
"""Fractional bits of weights of int16 elements: their sum is an int16 in the upper half."""


@dataclass(frozen=True)
class ExactBilinearArguments(Arguments):
    """Images and the weights of their rows and columns."""

    c_name = "cm_upsample_bilinear_exact"

    input: ImageRows
    output: ImageRows
    rows: Annotated[Place, "a struct cm_blend for each output row"]
    columns: Annotated[Place, "a struct cm_blend for each output column"]


@dataclass(frozen=True)
class BilinearArguments(ExactBilinearArguments):
    """Arguments of the kernel that blends rows before it blends columns."""

    c_name = "cm_upsample_bilinear_s8"

    row: Annotated[Place, "an input row of int16"]


@dataclass(frozen=True)
class QuantizedBilinear(Op):
    """NHWC images blended down columns, then along rows; scale and zero point stay.

    Arithmetic: docs/exactness.md.

    Attributes:
        output_shape: [N, H, W, C].
        exact_bits: fractional bits of weights where only the result is rounded, halves away from
            zero: EXACT_WEIGHT or FINE_WEIGHT; 0 for results that are rounded twice.
        is_short: elements are int16; only if the result is exact.
    """

    label = "upsample_bilinear"

    rows: Blend
    columns: Blend
    output_shape: tuple[int, ...]
    exact_bits: int = 0
    is_short: bool = False

    @property
    def element(self) -> np.dtype[Any]:  # type: ignore[override]
        return np.dtype(np.int16 if self.is_short else np.int8)

    @property
    def fine_error_steps(self) -> float:  # type: ignore[override]
        return SHORT_ROUNDING

    @property
    def turned(self) -> QuantizedBilinear:
        shape = turned_shape(self.output_shape)
        return replace(self, rows=self.columns, columns=self.rows, output_shape=shape)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        if self.exact_bits:
            exact = self._exactly(inputs[0].astype(np.int64), self.rows, 1)
            exact = self._exactly(exact, self.columns, 2)
            half = np.where(exact > 0, 1, -1) << (2 * self.exact_bits - 1)
            # Towards zero, as C divides.
            magnitudes = np.abs(exact + half) >> (2 * self.exact_bits)
            return ((np.sign(exact) * magnitudes).astype(self.element),)
        images = inputs[0].astype(np.int32) << FRACTION
        down = _blended(images, self.rows, 1)
        along = _blended(down, self.columns, 2)
        return ((along + (1 << (FRACTION - 1)) >> FRACTION).astype(np.int8),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        _, _, width, channels = inputs[0].shape
        images = ImageRows.of(inputs[0]), ImageRows.of(outputs[0])
        tables = self._table(self.rows, 1), self._table(self.columns, channels)
        rows = (0, self.output_shape[1])
        if self.exact_bits:
            exact = ExactBilinearArguments(*images, *tables)
            fine = "_fine" * (self.exact_bits == FINE_WEIGHT)
            kernel = f"upsample_bilinear_exact{fine}_s{8 * self.element.itemsize}"
            return [KernelCall.of(kernel, exact, rows)]
        arguments = BilinearArguments(*images, *tables, Scratch(2 * width * channels + 16))
        return [KernelCall.of("upsample_bilinear_s8", arguments, rows, microkernel=BILINEAR_ROW)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        (call,) = self.kernel_calls(inputs, outputs, isa)
        return [RowCall(call, {inputs[0]: self.rows.reach(inputs[0].shape[1])})]

    def _table(self, blend: Blend, step: int) -> Packed:
        """As `struct cm_blend`, for inputs this many elements apart."""
        numbers = np.zeros((len(blend.low), 3), "<i4")
        numbers[:, 0] = np.multiply(blend.low, step)
        numbers[:, 1] = np.multiply(blend.high, step)
        numbers[:, 2] = (
            _exact_weights(blend, self.exact_bits) if self.exact_bits else _weights(blend)
        )
        return Packed(numbers.tobytes(), 4)

    def _exactly(self, images: npt.NDArray[np.int64], blend: Blend, axis: int) -> Array:
        """Blended, and 2^exact_bits times as large."""
        low, high = images.take(blend.low, axis), images.take(blend.high, axis)
        weights = _exact_weights(blend, self.exact_bits).reshape(-1, *[1] * (3 - axis))
        return low * ((1 << self.exact_bits) - weights) + high * weights


def _weights(blend: Blend) -> npt.NDArray[np.int32]:
    scaled = np.rint(np.array(blend.weights) * (1 << WEIGHT))
    weights: npt.NDArray[np.int32] = np.minimum(scaled, LARGEST_WEIGHT).astype(np.int32)
    return weights


def _exact_weights(blend: Blend, bits: int) -> npt.NDArray[np.int32]:
    scaled: npt.NDArray[np.int32] = np.rint(np.array(blend.weights) * (1 << bits)).astype(np.int32)
    return scaled


def _blended(images: npt.NDArray[np.int32], blend: Blend, axis: int) -> npt.NDArray[np.int32]:
    low, high = images.take(blend.low, axis), images.take(blend.high, axis)
    weights = _weights(blend).reshape(-1, *[1] * (3 - axis))
    sums: npt.NDArray[np.int32] = low + ((high - low) * weights + (1 << (WEIGHT - 1)) >> WEIGHT)
    return sums


@program_op(
    "cmbuild::quantized_upsample_bilinear2d.out(Tensor input, int[] output_size, "
    "bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)"
)
def read(call: Call) -> None:
    source, result, _ = read_same_type(call, rank=4)
    if call.integers("output_size") != result.shape[2:]:
        call.invalid(f"output is {list(result.shape)}")
    blends = read_blends(call, source, result)
    images, output = call.nhwc("input"), call.nhwc_output("out")
    is_short = source.dtype == np.int16
    op = QuantizedBilinear(*blends, output.shape, FINE_WEIGHT if is_short else 0, is_short)
    call.emit(op, [images], [output])
