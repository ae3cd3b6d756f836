"""Channels of matrix products and depthwise convolutions: what is constant, and what is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.channels import Bounds, ChannelRule, Channels, Mask, Numbers, Tie, TiedRule
from cmcompiler.ir.op import Op
from cmcompiler.ops.support.requantize import Int8Array, Int32Array, Requantize, wrap32

Rebuild = Callable[[Int8Array, Int32Array, Requantize], Op]


@dataclass(frozen=True, eq=False)
class WeightedSums:
    """The multiplications, additions and rescaling of a layer.

    Attributes:
        weights: int8, the output's channels in the first dimension, the input's in the last one;
            of a depthwise layer [channels, taps].
        zero_point: what is subtracted from its inputs.
        is_padded: some of its windows hang over the image.
        rebuild: makes the op of other weights, biases and scales.
    """

    weights: Int8Array
    bias: Int32Array
    requantize: Requantize
    zero_point: int
    is_padded: bool
    rebuild: Rebuild

    def centred(self, inputs: Bounds) -> tuple[Numbers, Numbers]:
        """Bounds of what the weights are multiplied by."""
        low, high = inputs.least - self.zero_point, inputs.most - self.zero_point
        if self.is_padded:
            return np.minimum(low, 0), np.maximum(high, 0)
        return low, high

    def outputs(self, least: npt.NDArray[Any], most: npt.NDArray[Any]) -> Bounds:
        """Bounds of the outputs, from those of the sums before the bias."""
        scale, bias = self.requantize, self.bias.astype(np.int64)
        multipliers, shifts = np.array(scale.multipliers), np.array(scale.shifts)
        sums = (each.astype(np.int64) + bias for each in (least, most))
        return Bounds(*scale.bounds(multipliers, shifts, *sums))

    def held(self, inputs: Bounds) -> Mask:
        """Input channels whose share of each sum is one number, which the bias can hold."""
        is_zero = inputs.least == self.zero_point
        return np.asarray(inputs.constant & (is_zero | (not self.is_padded)))

    def remade(self, weights: Int8Array, bias: npt.NDArray[np.int64], output: Channels) -> Op:
        """The op of the output's kept channels, with constants that no weight takes part in.

        Args:
            weights: of the kept input channels.
        """
        constant, values = output.bounds.constant, output.bounds.least
        bias = np.where(constant, self.requantize.constant_sums(values), bias)
        kept = output.kept
        weights = np.where(constant.reshape(-1, *[1] * (weights.ndim - 1)), np.int8(0), weights)
        scale = self.requantize.with_constants(constant).select(kept)
        return self.rebuild(np.ascontiguousarray(weights[kept]), wrap32(bias)[kept], scale)


@dataclass(frozen=True, eq=False)
class ProductRule(ChannelRule[Op]):
    """A layer whose outputs each read all input channels."""

    sums: WeightedSums

    def bounds(self, inputs: Sequence[Bounds]) -> Bounds:
        low, high = (each.astype(np.float64) for each in self.sums.centred(inputs[0]))
        # Exact in float64: far below 2^53.
        above = np.maximum(self._taps, 0).sum(axis=1, dtype=np.float64)
        below = np.minimum(self._taps, 0).sum(axis=1, dtype=np.float64)
        return self.sums.outputs(above @ low + below @ high, above @ high + below @ low)

    def needed(self, inputs: Sequence[Channels], output: Channels) -> tuple[Sequence[Mask], Mask]:
        (source,) = inputs
        is_read = (self._taps[output.computed] != 0).any(axis=(0, 1))
        return [source.kept | (is_read & ~self.sums.held(source.bounds))], output.kept

    def pruned(self, inputs: Sequence[Channels], output: Channels) -> Op:
        (source,), own = inputs, self.sums
        held = own.held(source.bounds)
        values = source.bounds.least[held] - own.zero_point
        sums = self._taps.sum(axis=1, dtype=np.int64)[:, held] @ values
        weights = np.where(held, np.int8(0), own.weights)[..., source.kept]
        return own.remade(weights, own.bias + sums, output)

    @property
    def _taps(self) -> Int8Array:
        """[output channels, taps, input channels]"""
        weights = self.sums.weights
        return weights.reshape(len(weights), -1, weights.shape[-1])


@dataclass(frozen=True, eq=False)
class DepthwiseRule(TiedRule[Op]):
    """A layer whose outputs each read the input channel of the same index.

    Attributes:
        on_constants: the outputs for images of one number a channel, [pixels, channels], of some
            channels.
    """

    sums: WeightedSums
    on_constants: Callable[[Numbers, Mask], Int8Array]

    @property
    def ties(self) -> Sequence[Tie]:
        return [Tie.same(0, len(self.sums.weights))]

    def bounds(self, inputs: Sequence[Bounds]) -> Bounds:
        (source,), own = inputs, self.sums
        low, high = own.centred(source)
        above = np.maximum(own.weights, 0).sum(axis=1, dtype=np.int64)
        below = np.minimum(own.weights, 0).sum(axis=1, dtype=np.int64)
        result = own.outputs(above * low + below * high, above * high + below * low)
        # One number inside, and another where windows hang over: the clamp may make them one.
        unsure = source.constant & ~result.constant
        if not unsure.any():
            return result
        seen = self.on_constants(source.least, unsure).astype(np.int64)
        least, most = result.least.copy(), result.most.copy()
        least[unsure], most[unsure] = seen.min(axis=0), seen.max(axis=0)
        return Bounds(least, most)

    def pruned(self, inputs: Sequence[Channels], output: Channels) -> Op:
        return self.sums.remade(self.sums.weights, self.sums.bias.astype(np.int64), output)
