"""Int8 rows divided by their lengths: TensorFlow Lite's L2_NORMALIZATION."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Tensors
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.inverse_root import inverse_root
from cmcompiler.ops.support.parameters import INT8
from cmcompiler.ops.support.requantize import requantize

RESULT_BITS = 7
"""Fractional bits of the result, whose zero point is 0."""

LONGEST = 1 << 15
"""Elements of a row, whose sum of squares fits 32 bits."""


@dataclass(frozen=True)
class L2NormalizationArguments(Arguments):
    """Int8 rows, which are divided by their lengths."""

    c_name = "cm_l2_normalization"

    input: Place
    output: Place
    rows: Int32
    length: Int32
    zero_point: Int32


@dataclass(frozen=True)
class L2Normalization(Op):
    """x' / √Σx'² along the last dimension, in steps of 1/128; x' is x without its zero point.

    Arithmetic: TensorFlow Lite's reference_integer_ops::L2Normalization.
    """

    label = "l2_normalization"
    element = np.dtype(np.int8)
    in_place = frozenset({0})

    length: int
    zero_point: int

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        rows = inputs[0].reshape(-1, self.length).astype(np.int64) - self.zero_point
        output = np.empty(rows.shape, np.int8)
        for row, total in enumerate((rows * rows).sum(axis=1).tolist()):
            multiplier, shift = inverse_root(total)
            output[row] = INT8.clamp(requantize(rows[row], multiplier, shift + RESULT_BITS))
        return (output.reshape(inputs[0].shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = L2NormalizationArguments(
            input=Address(inputs[0]),
            output=Address(outputs[0]),
            rows=outputs[0].numel // self.length,
            length=self.length,
            zero_point=self.zero_point,
        )
        return [KernelCall.of("l2_normalization", arguments)]
