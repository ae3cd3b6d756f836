"""Convolution in groups of few channels, which Helium computes without patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.ir.op import KernelCall, Tensors
from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseArguments, scheme_call
from cmcompiler.ops.support.depthwise_shared import of_groups


@dataclass(frozen=True)
class GroupedArguments(DepthwiseArguments):
    """Rows of outputs: kernels/depthwise_conv2d.c. Channels of a group are in the weights."""

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        pixels = self.output.pixels
        return Work(macs=macs, filled=macs, outputs=outputs, calls=calls, pixels=pixels)


@dataclass(frozen=True, eq=False)
class GroupedConv2d(Conv2d):
    """Convolution of NHWC images in several groups."""

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        call = self._call_of_groups(inputs, outputs, isa)
        return [call] if call else super().kernel_calls(inputs, outputs, isa)

    def _call_of_groups(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> KernelCall | None:
        """A call that keeps once what windows of a row share; None if that is no gain."""
        if isa is not Isa.MVE or self.is_int16 or self._reads_pixels(inputs[0]):
            return None
        weights = self.weights.swapaxes(1, 2)
        filters = self.filters(weights.reshape(len(weights), -1))
        size = len(weights) // self.groups
        parts = [filters.select(slice(g * size, (g + 1) * size)) for g in range(self.groups)]
        scheme = of_groups(parts, self.window, inputs[0].shape, self.output_shape)
        if scheme is None:
            return None
        values = self.values(filters.product_arguments(isa))
        return scheme_call(
            scheme, inputs, outputs, self.window, values=values, form=GroupedArguments
        )
